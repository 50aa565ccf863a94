// A store in memory for tests. Objects are replaced whole, as by renaming.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "store/object/object_store.h"

namespace unshard {

// Thread-safe. Directories are there where an object is below them.
class MemoryStore final : public ObjectStore {
 public:
  void Put(const std::string& key, std::string_view text);
  void Remove(const std::string& key);

  Result<std::optional<ObjectInfo>> Stat(std::string_view key) override;
  Result<std::shared_ptr<ObjectVersion>> Open(std::string_view key) override;
  Result<ReadResult> Read(std::string_view key, const ReadOptions& options) override;
  Status List(std::string_view key, const ListVisitor& visitor) override;
  std::string Describe(std::string_view key) const override { return "memory:" + std::string(key); }

 private:
  struct Object {
    Bytes bytes;
    ObjectInfo info;
  };
  [[nodiscard]] bool IsDirectory(const std::string& key) const;

  std::mutex mutex_;
  std::map<std::string, Object> objects_;  // guarded by mutex_
  std::uint64_t last_generation_ = 0;      // guarded by mutex_
};

}  // namespace unshard
