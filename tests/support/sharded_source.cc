#include "tests/support/sharded_source.h"
#include "codec/precomputed/access.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

std::string List(const std::vector<std::uint64_t>& numbers) {
  std::string text = "[";
  for (const std::uint64_t number : numbers) {
    if (text.size() > 1) text += ",";
    text += std::to_string(number);
  }
  return text + "]";
}

}  // namespace

std::uint64_t ShardedSource::cell_count() const {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : grid_shape) count *= extent;
  return count;
}

GridCell ShardedSource::CellAt(std::uint64_t index) const {
  GridCell cell(grid_shape.size());
  CellOfLinearIndex(grid_shape, index, cell);
  return cell;
}

ShardSlot ShardedSource::SlotOf(std::uint64_t index) const {
  return locator->Locate(CellAt(index));
}

std::map<std::uint64_t, std::string> ShardedSource::EncodeShards(
    const std::map<std::uint64_t, std::string>& chunks) const {
  std::map<std::uint64_t, std::vector<ShardChunk>> shards;
  for (const auto& [index, text] : chunks) {
    const ShardSlot slot = SlotOf(index);
    shards[slot.shard].push_back({slot.slot, ByteVector(text.begin(), text.end())});
  }
  std::map<std::uint64_t, std::string> encoded;
  for (auto& [shard, of_shard] : shards) encoded[shard] = AsText(encode(std::move(of_shard)));
  return encoded;
}

std::map<std::string, std::string> ShardedSource::Encode(
    const std::map<std::uint64_t, std::string>& chunks) const {
  std::map<std::string, std::string> files;
  for (auto& [shard, bytes] : EncodeShards(chunks)) files[keys->Key(shard)] = std::move(bytes);
  return files;
}

std::string ShardingText(const ShardingSpec& spec) {
  const auto encoding = [](ShardEncoding one) {
    return one == ShardEncoding::kGzip ? "gzip" : "raw";
  };
  const bool identity = spec.hash == ChunkIdHash::kIdentity;
  return R"({"@type":"neuroglancer_uint64_sharded_v1","preshift_bits":)" +
         std::to_string(spec.preshift_bits) + R"(,"hash":")" +
         (identity ? "identity" : "murmurhash3_x86_128") + R"(","minishard_bits":)" +
         std::to_string(spec.minishard_bits) + R"(,"shard_bits":)" +
         std::to_string(spec.shard_bits) + R"(,"minishard_index_encoding":")" +
         encoding(spec.minishard_index_encoding) + R"(","data_encoding":")" +
         encoding(spec.data_encoding) + "\"}";
}

ShardedSource PrecomputedSource(const std::vector<std::uint64_t>& size,
                                const std::vector<std::uint64_t>& chunk, const ShardingSpec& spec,
                                const std::string& encoding) {
  ShardedSource source;
  source.document_name = "info";
  source.document = R"({"@type":"neuroglancer_multiscale_volume","type":"image",)"
                    R"("data_type":"uint8","num_channels":1,"scales":[{"key":"8_8_8","size":)" +
                    List(size) + R"(,"resolution":[8,8,8],"voxel_offset":[0,0,0],"chunk_sizes":[)" +
                    List(chunk) + R"(],"encoding":")" + encoding + R"(","sharding":)" +
                    ShardingText(spec) + "}]}";
  const auto info = ParseNeuroglancerInfo(source.document);
  EXPECT_TRUE(info) << (info ? "" : info.error().message);
  if (!info) return source;
  const ShardedDirectory scale = info->sharded.at(0);
  const auto access = MakeAccess(scale, MortonRule::kStandard);
  EXPECT_TRUE(access) << (access ? "" : access.error().message);
  if (!access) return source;
  source.directory = scale.directory;
  source.grid_shape = scale.grid_shape;
  source.locator = access->locator;
  source.keys = access->keys;
  source.format = access->format;
  source.encode = [spec](std::vector<ShardChunk> chunks) {
    return EncodeNeuroglancerShard(spec, std::move(chunks));
  };
  source.name = [grid = scale.grid](const GridCell& cell) { return ChunkRangeName(grid, cell); };
  source.precomputed = scale;
  return source;
}

ShardedSource ZarrSource(const std::vector<std::uint64_t>& shape,
                         const std::vector<std::uint64_t>& chunk,
                         const std::vector<std::uint64_t>& chunks_per_shard,
                         const ChunkKeyEncoding& keys) {
  ShardedSource source;
  std::vector<std::uint64_t> shard = chunk;
  std::uint64_t slots = 1;
  for (std::size_t d = 0; d < shard.size(); ++d) {
    shard[d] *= chunks_per_shard[d];
    slots *= chunks_per_shard[d];
  }
  source.document_name = "zarr.json";
  source.document =
      R"({"zarr_format":3,"node_type":"array","shape":)" + List(shape) +
      R"(,"data_type":"uint8","fill_value":0,"chunk_grid":{"name":"regular","configuration":)"
      R"({"chunk_shape":)" +
      List(shard) + R"(}},"chunk_key_encoding":{"name":")" +
      (keys.kind == ChunkKeyEncoding::Kind::kDefault ? "default" : "v2") +
      R"(","configuration":{"separator":")" + keys.separator +
      R"("}},"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":)" + List(chunk) +
      R"(,"codecs":[{"name":"bytes"}],"index_codecs":[{"name":"bytes","configuration":)"
      R"({"endian":"little"}},{"name":"crc32c"}],"index_location":"end"}}]})";
  const auto node = ParseZarrMetadata(source.document);
  EXPECT_TRUE(node) << (node ? "" : node.error().message);
  if (!node || !node->sharded) return source;
  source.grid_shape = node->sharded->grid.grid_shape();
  source.locator = node->sharded->locator;
  source.keys = node->sharded->keys;
  source.format = node->sharded->format;
  source.encode = [slots](const std::vector<ShardChunk>& chunks) {
    return EncodeZarrShard(slots, chunks);
  };
  source.name = [keys](const GridCell& cell) { return ZarrChunkKey(keys, cell); };
  source.zarr = node->sharded;
  return source;
}

}  // namespace unshard
