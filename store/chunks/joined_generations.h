// Generations of chunks each of which is made of several stored ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "store/chunks/chunk_store.h"
#include "store/chunks/committed_versions.h"

namespace unshard {

// The versions of the stored chunks that one version of a joined chunk is made of. Immutable.
struct JoinedVersion {
  struct Part {
    ChunkRef chunk;
    // Its generation, unless a version of it is committed.
    ChunkGeneration stored;
    std::uint64_t written = 0;  // WrittenVersion::number; 0: none
    bool removed = false;
    std::weak_ptr<WrittenVersion> version;
  };
  std::uint64_t serial = 0;  // never used again: for cache keys
  std::uint32_t number = 0;  // ChunkGeneration::number
  std::vector<Part> parts;
};
using JoinedVersionPtr = std::shared_ptr<const JoinedVersion>;

// Thread-safe; does no I/O. A generation without references or holders is forgotten, some time
// later.
class JoinedGenerations {
 public:
  // The generation of the chunk at `position` with these parts: always the same one while it is
  // referred to.
  ChunkGeneration Of(std::uint64_t position, std::vector<JoinedVersion::Part> parts,
                     const timespec& modified);
  // Nothing where it is gone.
  std::optional<ChunkGeneration> Find(std::uint32_t number) const;
  // The kernel's references.
  void AddReference(const ChunkGeneration& generation);
  void DropReferences(std::uint32_t number, std::uint64_t references);

 private:
  using Key = std::vector<std::uint64_t>;
  struct Known {
    Key key;
    ChunkGeneration generation;
    std::uint64_t references = 0;
  };
  void Sweep();  // requires the mutex

  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, Known> known_;  // guarded by mutex_; by number
  std::map<Key, std::uint32_t> numbers_;            // guarded by mutex_; of those in known_
  std::uint64_t last_serial_ = 0;                   // guarded by mutex_
  std::size_t sweep_at_ = 1024;                     // guarded by mutex_
};

// Requires: a generation of JoinedGenerations.
inline JoinedVersionPtr JoinedVersionOf(const ChunkGeneration& generation) {
  return std::static_pointer_cast<const JoinedVersion>(generation.lease);
}

}  // namespace unshard
