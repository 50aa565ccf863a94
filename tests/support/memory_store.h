// A store in memory for tests. Objects are replaced whole, as by renaming.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/object/object_replacement.h"
#include "store/object/object_store.h"

namespace unshard {

// Thread-safe. Directories are there where an object is below them. Its versions may outlive it.
class MemoryStore final : public ObjectStore {
 public:
  // By default as a local store; with `keeps_replaced_versions` unset as a remote one, with `lists`
  // unset as one that knows objects only by their keys.
  explicit MemoryStore(const Capabilities& capabilities = {}) : capabilities_(capabilities) {}

  void Put(const std::string& key, std::string_view text);
  void Remove(const std::string& key);
  // Objects have the time 0 otherwise.
  void SetModified(const std::string& key, const timespec& modified);
  // Puts `bytes` in place of the object, or removes it (nothing), where its generation is
  // `expected` (nothing: it is missing). `attempt` is remembered for the object, whatever replaces
  // it.
  Committed ReplaceIf(const std::string& key, const std::optional<Generation>& expected,
                      std::optional<Bytes> bytes, const std::string& attempt = {});
  [[nodiscard]] std::vector<std::string> Attempts(const std::string& key) const;

  // From now on reads of versions, but not those that open them, end only with ReleaseReads.
  void HoldReads();
  // Ends, on this thread, the reads that were held, and holds no more of them.
  void ReleaseReads();
  // The reads that are held now.
  [[nodiscard]] std::size_t held_reads() const;

  Capabilities capabilities() const override { return capabilities_; }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  // Of a store that does not keep replaced versions.
  std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) override;
  std::string Identity() const override { return "memory"; }
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override;
  std::string Describe(std::string_view key) const override { return "memory:" + std::string(key); }

 private:
  struct Object {
    Bytes bytes;
    ObjectInfo info;
  };
  struct Content {
    std::mutex mutex;
    // All guarded by mutex.
    std::map<std::string, Object> objects;
    std::set<std::pair<std::string, std::string>> attempts;
    std::uint64_t last_generation = 0;
    bool holds = false;
    std::vector<std::function<void()>> held;
  };
  class Version;
  [[nodiscard]] bool IsDirectory(const std::string& key) const;
  const ObjectInfo& PutLocked(const std::string& key, Bytes bytes);

  const Capabilities capabilities_;
  const std::shared_ptr<Content> content_ = std::make_shared<Content>();
};

}  // namespace unshard
