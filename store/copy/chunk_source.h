// Reads the stored chunks of the array that is copied, and of its copy to compare them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/array/array.h"
#include "store/chunks/sharded_tree.h"
#include "store/copy/limits.h"

namespace unshard {

// One array of a dataset that is open.
struct StoredArray {
  std::string path;  // of its directory, as messages name it
  Array array;
  std::shared_ptr<ShardedTree> tree;  // over its shards or, unsharded, its chunks
  bool sharded = false;
};

// What to do where the index of a shard of the destination is damaged.
inline constexpr std::string_view kRemoveDamagedShard =
    "; remove this shard of the destination, and copy again";

// Thread-safe. Cells are those of GridOf(array). Failures name the chunk's file, or its shard and
// it; kConflict where another process has changed a shard meanwhile, whose version is no longer
// available.
class ChunkSource {
 public:
  enum class Role { kSource, kDestination };
  ChunkSource(StoredArray stored, const CopyLimits& limits, Role role = Role::kSource)
      : stored_(std::move(stored)), limits_(limits), role_(role) {}

  // Where the bytes of a chunk are.
  struct Chunk {
    GridCell cell;
    ShardGenerationPtr generation;
    ByteRange range;  // as its shard stores it
  };
  // One entry a cell; nothing where its chunk is absent.
  Result<std::vector<std::optional<Chunk>>> Find(std::span<const GridCell> cells) const;
  // The stored bytes of each chunk. Neighbours in one shard are read together.
  Result<std::vector<Bytes>> Read(std::span<const Chunk> chunks) const;
  // Undoes the encoding of the shard format (data_encoding).
  Result<Bytes> Plain(const GridCell& cell, Bytes stored) const;
  // Whether Plain gives the same bytes.
  [[nodiscard]] bool stored_is_plain() const {
    return stored_.tree->shards().format().stored_is_plain();
  }

  [[nodiscard]] const StoredArray& stored() const { return stored_; }
  [[nodiscard]] tl::unexpected<Error> In(const GridCell& cell, Error error) const;

 private:
  [[nodiscard]] std::string_view RoleName() const;
  [[nodiscard]] ChunkRef RefOf(const GridCell& cell) const;
  // "image/c/3/2", or "image/c/0/0 (shard), chunk c/3/2".
  [[nodiscard]] std::string FileOf(const GridCell& cell) const;
  // Adds to a failure of a whole shard in which of the two it is, and what to do.
  [[nodiscard]] tl::unexpected<Error> InShard(Error error) const;

  const StoredArray stored_;
  const CopyLimits limits_;
  const Role role_;
};

}  // namespace unshard
