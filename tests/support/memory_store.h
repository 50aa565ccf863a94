// A store in memory. Objects are replaced whole, as by renaming.
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

// Thread-safe. A directory exists where an object is below it. Its versions may outlive the store.
class MemoryStore final : public ObjectStore {
 public:
  // The default capabilities are those of a local store. A remote store has
  // `keeps_replaced_versions` unset; a store that cannot list directories has `lists` unset.
  explicit MemoryStore(const Capabilities& capabilities = {}) : capabilities_(capabilities) {}

  void Put(const std::string& key, std::string_view text);
  void Remove(const std::string& key);
  // Sets the modification time, which is 0 until then.
  void SetModified(const std::string& key, const timespec& modified);
  // Where the object's generation is `expected` (nothing: the object is missing), replaces it by
  // `bytes` (nothing: removes it). Attempts(key) has `attempt` from then on, also after the object
  // is replaced.
  Committed ReplaceIf(const std::string& key, const std::optional<Generation>& expected,
                      std::optional<Bytes> bytes, const std::string& attempt = {});
  [[nodiscard]] std::vector<std::string> Attempts(const std::string& key) const;

  // From now on StartRead of a version does not end before ReleaseReads. Open is not held.
  void HoldReads();
  // Ends, on this thread, the reads that were held, and holds no more of them.
  void ReleaseReads();
  // The same, but these reads never call back.
  void DropReads();
  // The number of reads that are held.
  [[nodiscard]] std::size_t held_reads() const;

  Capabilities capabilities() const override { return capabilities_; }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  // Null where the store keeps replaced versions.
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
