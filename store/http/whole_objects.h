// Objects of servers without range requests, kept whole in memory.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "store/http/http_answer.h"

namespace unshard {

// The least recently used objects go once all together exceed `max_bytes`; open versions keep their
// bytes. Thread-safe.
class WholeObjects {
 public:
  explicit WholeObjects(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // The object as it was put; nothing where it is not kept.
  std::optional<HttpObject> Find(std::string_view key);
  // Keeps an object in place of what was kept under its key, unless it exceeds the budget alone.
  void Put(std::string_view key, HttpObject object);
  void Erase(std::string_view key);

 private:
  struct Entry {
    std::string key;
    HttpObject object;
  };
  using Entries = std::list<Entry>;
  void EraseLocked(std::string_view key);

  const std::uint64_t max_bytes_;
  std::mutex mutex_;
  // All guarded by mutex_.
  Entries entries_;  // the most recently used first
  std::map<std::string, Entries::iterator, std::less<>> by_key_;
  std::uint64_t bytes_ = 0;
};

}  // namespace unshard
