#include "packaging/sample/layout.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "codec/json/json.h"
#include "packaging/sample/labels.h"

namespace unshard {
namespace {

// What a shard of the segmentation covers: 2^6 chunks, a cube of 4 × 4 × 4 where the grid allows.
constexpr unsigned kPreshiftBits = 3;
constexpr unsigned kMinishardBits = 3;

JsonValue Numbers(const std::vector<std::uint64_t>& values) {
  std::vector<JsonValue> items;
  for (const std::uint64_t value : values) items.push_back(JsonValue::Number(value));
  return JsonValue::Array(std::move(items));
}

JsonValue Numbers(const SampleExtent& extent) {
  return Numbers(std::vector<std::uint64_t>{extent[0], extent[1], extent[2]});
}

// Zarr's axis order: z, y, x.
JsonValue Reversed(const SampleExtent& extent) {
  return Numbers(std::vector<std::uint64_t>{extent[2], extent[1], extent[0]});
}

JsonValue Cube(std::uint64_t extent) { return Numbers(SampleExtent{extent, extent, extent}); }

JsonValue Named(std::string name, std::vector<JsonValue::Member> configuration = {}) {
  std::vector<JsonValue::Member> members{{"name", JsonValue::String(std::move(name))}};
  if (!configuration.empty()) {
    members.emplace_back("configuration", JsonValue::Object(std::move(configuration)));
  }
  return JsonValue::Object(std::move(members));
}

JsonValue Scale(const SampleLevel& level) {
  const ShardingSpec& sharding = level.sharding;
  JsonValue spec = JsonValue::Object({
      {"@type", JsonValue::String("neuroglancer_uint64_sharded_v1")},
      {"hash", JsonValue::String("identity")},
      {"preshift_bits", JsonValue::Number(std::uint64_t{sharding.preshift_bits})},
      {"minishard_bits", JsonValue::Number(std::uint64_t{sharding.minishard_bits})},
      {"shard_bits", JsonValue::Number(std::uint64_t{sharding.shard_bits})},
      {"minishard_index_encoding", JsonValue::String("gzip")},
      {"data_encoding", JsonValue::String("gzip")},
  });
  return JsonValue::Object({
      {"key", JsonValue::String(level.scale_key())},
      {"size", Numbers(level.size)},
      {"resolution", Cube(level.voxel_nanometers)},
      {"voxel_offset", Numbers(level.offset)},
      {"chunk_sizes", JsonValue::Array({Cube(kSampleTileExtent)})},
      {"encoding", JsonValue::String("compressed_segmentation")},
      {"compressed_segmentation_block_size", Cube(8)},
      {"sharding", std::move(spec)},
  });
}

JsonValue Info(const std::array<SampleLevel, 2>& levels) {
  return JsonValue::Object({
      {"@type", JsonValue::String("neuroglancer_multiscale_volume")},
      {"type", JsonValue::String("segmentation")},
      {"data_type", JsonValue::String("uint64")},
      {"num_channels", JsonValue::Number(std::uint64_t{1})},
      {"scales", JsonValue::Array({Scale(levels[0]), Scale(levels[1])})},
  });
}

JsonValue ShardingCodec() {
  return Named("sharding_indexed",
               {
                   {"chunk_shape", Cube(kSampleTileExtent)},
                   {"codecs", JsonValue::Array({Named("bytes")})},
                   {"index_codecs",
                    JsonValue::Array({Named("bytes", {{"endian", JsonValue::String("little")}}),
                                      Named("crc32c")})},
                   {"index_location", JsonValue::String("end")},
               });
}

JsonValue ArrayMetadata(const SampleLevel& level) {
  const std::uint64_t shard = kSampleChunksPerShard * kSampleTileExtent;
  return JsonValue::Object({
      {"zarr_format", JsonValue::Number(std::uint64_t{3})},
      {"node_type", JsonValue::String("array")},
      {"shape", Reversed(level.size)},
      {"data_type", JsonValue::String("uint8")},
      {"chunk_grid", Named("regular", {{"chunk_shape", Cube(shard)}})},
      {"chunk_key_encoding", Named("default", {{"separator", JsonValue::String("/")}})},
      {"fill_value", JsonValue::Number(std::uint64_t{0})},
      {"codecs", JsonValue::Array({ShardingCodec()})},
      {"attributes", JsonValue::Object()},
      {"dimension_names",
       JsonValue::Array({JsonValue::String("z"), JsonValue::String("y"), JsonValue::String("x")})},
  });
}

// Where a level stands, in nanometers. The first voxel of level 1 lies half a fine voxel further
// in, because OME-Zarr speaks of the centers of voxels.
JsonValue Dataset(std::size_t number, const SampleLevel& level, const SampleLevel& finest) {
  const std::uint64_t shift = (level.voxel_nanometers - finest.voxel_nanometers) / 2;
  SampleExtent translation{};
  for (std::size_t d = 0; d < 3; ++d) {
    translation[d] = level.offset[d] * level.voxel_nanometers + shift;
  }
  return JsonValue::Object({
      {"path", JsonValue::String(std::to_string(number))},
      {"coordinateTransformations",
       JsonValue::Array({
           JsonValue::Object(
               {{"type", JsonValue::String("scale")}, {"scale", Cube(level.voxel_nanometers)}}),
           JsonValue::Object({{"type", JsonValue::String("translation")},
                              {"translation", Reversed(translation)}}),
       })},
  });
}

JsonValue GroupMetadata(const std::array<SampleLevel, 2>& levels) {
  std::vector<JsonValue> axes;
  for (const char* name : {"z", "y", "x"}) {
    axes.push_back(JsonValue::Object({{"name", JsonValue::String(name)},
                                      {"type", JsonValue::String("space")},
                                      {"unit", JsonValue::String("nanometer")}}));
  }
  JsonValue multiscale = JsonValue::Object({
      {"name", JsonValue::String("image")},
      {"axes", JsonValue::Array(std::move(axes))},
      {"datasets",
       JsonValue::Array({Dataset(0, levels[0], levels[0]), Dataset(1, levels[1], levels[0])})},
  });
  JsonValue ome = JsonValue::Object({{"version", JsonValue::String("0.5")},
                                     {"multiscales", JsonValue::Array({std::move(multiscale)})}});
  return JsonValue::Object({
      {"zarr_format", JsonValue::Number(std::uint64_t{3})},
      {"node_type", JsonValue::String("group")},
      {"attributes", JsonValue::Object({{"ome", std::move(ome)}})},
  });
}

ShardingSpec ShardingOf(const SampleExtent& grid) {
  unsigned bits = 0;
  for (const std::uint64_t extent : grid) bits += static_cast<unsigned>(std::bit_width(extent - 1));
  ShardingSpec spec;
  spec.preshift_bits = kPreshiftBits;
  spec.minishard_bits = kMinishardBits;
  spec.shard_bits = bits - std::min(bits, kPreshiftBits + kMinishardBits);
  spec.minishard_index_encoding = ShardEncoding::kGzip;
  spec.data_encoding = ShardEncoding::kGzip;
  return spec;
}

}  // namespace

SampleExtent SampleLevel::shard_grid() const {
  SampleExtent shards;
  for (std::size_t d = 0; d < 3; ++d) {
    shards[d] = (grid[d] + kSampleChunksPerShard - 1) / kSampleChunksPerShard;
  }
  return shards;
}

std::string SampleLevel::scale_key() const {
  const std::string edge = std::to_string(voxel_nanometers);
  return edge + "_" + edge + "_" + edge;
}

std::array<SampleLevel, 2> MakeSampleLevels(std::uint64_t megabytes) {
  // Level 0 of the image takes six parts of seven: level 1 and the segmentation take the rest.
  const double chunks = static_cast<double>(megabytes) * 1e6 * 6 / 7 / kSampleTileVoxels;
  const double edge = std::cbrt(chunks / 3);  // a slab of about 4 : 3 : 2
  const auto at_least_one = [](double extent) {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::lround(extent)));
  };
  std::array<SampleLevel, 2> levels;
  SampleLevel& fine = levels[0];
  fine.grid[2] = at_least_one(edge);
  fine.grid[1] = at_least_one(1.5 * edge);
  fine.grid[0] = at_least_one(chunks / static_cast<double>(fine.grid[1] * fine.grid[2]));
  constexpr SampleExtent kMissing{24, 14, 30};  // in the last chunk
  for (std::size_t d = 0; d < 3; ++d) fine.size[d] = kSampleTileExtent * fine.grid[d] - kMissing[d];
  fine.offset = {1000, 700, 300};
  fine.sharding = ShardingOf(fine.grid);

  SampleLevel& coarse = levels[1];
  coarse.voxel_nanometers = 2 * fine.voxel_nanometers;
  for (std::size_t d = 0; d < 3; ++d) {
    coarse.size[d] = fine.size[d] / 2;
    coarse.grid[d] = (coarse.size[d] + kSampleTileExtent - 1) / kSampleTileExtent;
    coarse.offset[d] = fine.offset[d] / 2;
  }
  coarse.sharding = ShardingOf(coarse.grid);
  return levels;
}

std::vector<SampleDocument> MakeSampleDocuments(const std::array<SampleLevel, 2>& levels) {
  return {
      {"segmentation/info", WriteJson(Info(levels)) + "\n"},
      {"image/0/zarr.json", WriteJson(ArrayMetadata(levels[0])) + "\n"},
      {"image/1/zarr.json", WriteJson(ArrayMetadata(levels[1])) + "\n"},
      {"image/zarr.json", WriteJson(GroupMetadata(levels)) + "\n"},
  };
}

}  // namespace unshard
