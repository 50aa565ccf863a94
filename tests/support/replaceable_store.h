// Every store that can be written, behind one interface, so that a test runs over all of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/local/file_system.h"
#include "store/local/shard_lock.h"
#include "store/object/object_replacement.h"
#include "tests/support/memory_replacer.h"

namespace unshard {

enum class StoreKind {
  kPosix,
  kSimulated,
  kCloning,         // a simulated disk that shares blocks
  kMemory,          // conditional, without locks
  kMemoryAppended,  // the same, with a copy of the base by the server
  kVersitygw,       // S3
  kRadosgw,         // S3 of Ceph
  kFakeGcs,
};
// Whether the store is behind a server. Make returns null where the server is not installed, and
// the test skips. kRadosgw takes some seconds to start: Make returns null for it unless the
// environment has UNSHARD_RADOSGW=1, as that of the test store.radosgw has.
[[nodiscard]] inline bool IsRemote(StoreKind kind) { return kind >= StoreKind::kVersitygw; }
std::string NameOf(StoreKind kind);

class ReplaceableStore {
 public:
  // Requires: for kPosix, `directory` exists.
  static std::unique_ptr<ReplaceableStore> Make(StoreKind kind, const std::string& directory);
  static std::unique_ptr<ReplaceableStore> Over(std::shared_ptr<FileSystem> files);
  virtual ~ReplaceableStore() = default;

  virtual std::shared_ptr<ObjectReplacer> Replacer(const LockTimeouts& timeouts = {}) = 0;
  // Nothing where the object is missing.
  virtual std::optional<std::string> Text(const std::string& key) = 0;
  virtual std::optional<ObjectInfo> Info(const std::string& key) = 0;
  // Replaces the object whole, as another process does that takes no lock.
  virtual void Put(const std::string& key, std::string_view text) = 0;
  virtual void Remove(const std::string& key) = 0;
  // The names in a directory, sorted.
  virtual std::vector<std::string> Names(const std::string& directory) = 0;

  // The files or the replacer of the store, for tests of one kind; null where it has none.
  [[nodiscard]] virtual std::shared_ptr<FileSystem> files() const { return nullptr; }
  [[nodiscard]] virtual MemoryReplacer* memory() { return nullptr; }
};

}  // namespace unshard
