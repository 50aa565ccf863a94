// Sharded directories of precomputed and Zarr v3, made from chunks by grid cell or id.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codec/precomputed/info.h"
#include "codec/shard/chunk_locator.h"
#include "codec/zarr3/document.h"
#include "tests/support/shard_writer.h"

namespace unshard {

// One sharded directory, from its own metadata document, and how its shards are encoded.
struct ShardedSource {
  std::string document_name;
  std::string document;
  std::string directory;  // of the shards, below the document's
  std::vector<std::uint64_t> grid_shape;
  std::shared_ptr<const ChunkLocator> locator;  // null where chunks go by id
  std::shared_ptr<const ShardKeys> keys;
  std::shared_ptr<const ShardFormat> format;
  std::function<ByteVector(std::vector<ShardChunk>)> encode;
  std::function<std::string(const GridCell&)> name;  // of the chunk file, below `directory`
  std::optional<ShardedDirectory> precomputed;
  std::optional<ZarrShardedArray> zarr;

  [[nodiscard]] std::uint64_t cell_count() const;
  [[nodiscard]] GridCell CellAt(std::uint64_t index) const;
  [[nodiscard]] ShardSlot SlotOf(std::uint64_t index) const;
  [[nodiscard]] std::string NameOf(std::uint64_t index) const { return name(CellAt(index)); }
  // Shards by their store key, made from chunks by the C-order position of their cell.
  [[nodiscard]] std::map<std::string, std::string> Encode(
      const std::map<std::uint64_t, std::string>& chunks) const;
  // The same, each shard by its number.
  [[nodiscard]] std::map<std::uint64_t, std::string> EncodeShards(
      const std::map<std::uint64_t, std::string>& chunks) const;
};

// A volume of one scale "8_8_8", one byte a voxel.
ShardedSource PrecomputedSource(const std::vector<std::uint64_t>& size,
                                const std::vector<std::uint64_t>& chunk, const ShardingSpec& spec,
                                const std::string& encoding = "jpeg");
// An array whose shards have `chunks_per_shard` chunks of `chunk` elements of one byte.
ShardedSource ZarrSource(const std::vector<std::uint64_t>& shape,
                         const std::vector<std::uint64_t>& chunk,
                         const std::vector<std::uint64_t>& chunks_per_shard,
                         const ChunkKeyEncoding& keys = {});

std::string ShardingText(const ShardingSpec& spec);

}  // namespace unshard
