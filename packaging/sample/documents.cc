#include "packaging/sample/documents.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

namespace unshard::sample {
namespace {

using Values = std::vector<std::pair<std::string_view, std::string>>;

// The text with each name replaced by its value.
std::string Fill(std::string text, const Values& values) {
  for (const auto& [name, value] : values) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, name.size(), value);
    }
  }
  return text;
}

std::string List(const Position& values) {
  return Fill("[X, Y, Z]", {{"X", std::to_string(values[0])},
                            {"Y", std::to_string(values[1])},
                            {"Z", std::to_string(values[2])}});
}

// Zarr's axis order: z, y, x.
std::string Reversed(const Position& values) { return List({values[2], values[1], values[0]}); }

std::string Cube(std::uint64_t extent) { return List({extent, extent, extent}); }

// A shard covers 2^6 chunks: a cube of 4 × 4 × 4 where the grid allows.
std::string Scale(const Level& level) {
  std::uint64_t bits = 0;
  for (const std::uint64_t extent : level.grid()) {
    bits += static_cast<std::uint64_t>(std::bit_width(extent - 1));
  }
  return Fill(R"({
      "key": "EDGE_EDGE_EDGE",
      "size": SIZE,
      "resolution": [EDGE, EDGE, EDGE],
      "voxel_offset": OFFSET,
      "chunk_sizes": [CHUNK],
      "encoding": "compressed_segmentation",
      "compressed_segmentation_block_size": [8, 8, 8],
      "sharding": {
        "@type": "neuroglancer_uint64_sharded_v1",
        "hash": "identity",
        "preshift_bits": 3,
        "minishard_bits": 3,
        "shard_bits": BITS,
        "minishard_index_encoding": "gzip",
        "data_encoding": "gzip"
      }
    })",
              {{"EDGE", std::to_string(level.voxel_nanometers)},
               {"SIZE", List(level.size)},
               {"OFFSET", List(level.offset)},
               {"CHUNK", Cube(kEdge)},
               {"BITS", std::to_string(bits - std::min<std::uint64_t>(bits, 6))}});
}

// Where a level stands, in nanometers. The first voxel of level 1 lies half a fine voxel further
// in, because OME-Zarr speaks of the centers of voxels.
std::string Translation(const Level& level, const Level& finest) {
  Position translation;
  for (std::size_t d = 0; d < 3; ++d) {
    translation[d] = level.offset[d] * level.voxel_nanometers +
                     (level.voxel_nanometers - finest.voxel_nanometers) / 2;
  }
  return Reversed(translation);
}

}  // namespace

Position Level::grid() const {
  Position chunks;
  for (std::size_t d = 0; d < 3; ++d) chunks[d] = (size[d] + kEdge - 1) / kEdge;
  return chunks;
}

Levels MakeLevels(std::uint64_t megabytes) {
  // Level 0 of the image takes six parts of seven: level 1 and the segmentation take the rest.
  const double chunks = static_cast<double>(megabytes) * 1e6 * 6 / 7 / kTileVoxels;
  const double edge = std::cbrt(chunks / 3);  // a slab of about 4 : 3 : 2
  const auto at_least_one = [](double extent) {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::lround(extent)));
  };
  const std::uint64_t z = at_least_one(edge);
  const std::uint64_t y = at_least_one(1.5 * edge);
  const std::uint64_t x = at_least_one(chunks / static_cast<double>(y * z));
  Level fine;
  fine.size = {kEdge * x - 24, kEdge * y - 14, kEdge * z - 30};
  fine.offset = {1000, 700, 300};
  Level coarse;
  coarse.voxel_nanometers = 2 * fine.voxel_nanometers;
  for (std::size_t d = 0; d < 3; ++d) {
    coarse.size[d] = fine.size[d] / 2;
    coarse.offset[d] = fine.offset[d] / 2;
  }
  return {fine, coarse};
}

std::string InfoDocument(const Levels& levels) {
  return Fill(R"({
  "@type": "neuroglancer_multiscale_volume",
  "type": "segmentation",
  "data_type": "uint64",
  "num_channels": 1,
  "scales": [
    FINE,
    COARSE
  ]
}
)",
              {{"FINE", Scale(levels[0])}, {"COARSE", Scale(levels[1])}});
}

std::string ArrayDocument(const Level& level) {
  return Fill(
      R"({
  "zarr_format": 3,
  "node_type": "array",
  "shape": SHAPE,
  "data_type": "uint8",
  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": SHARD}},
  "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
  "fill_value": 0,
  "codecs": [
    {
      "name": "sharding_indexed",
      "configuration": {
        "chunk_shape": CHUNK,
        "codecs": [{"name": "bytes"}],
        "index_codecs": [
          {"name": "bytes", "configuration": {"endian": "little"}},
          {"name": "crc32c"}
        ],
        "index_location": "end"
      }
    }
  ],
  "attributes": {},
  "dimension_names": ["z", "y", "x"]
}
)",
      {{"SHAPE", Reversed(level.size)}, {"SHARD", Cube(4 * kEdge)}, {"CHUNK", Cube(kEdge)}});
}

std::string GroupDocument(const Levels& levels) {
  const auto dataset = [&](const char* path, const Level& level) {
    return Fill(R"({"path": "PATH", "coordinateTransformations": [
              {"type": "scale", "scale": EDGES},
              {"type": "translation", "translation": PLACE}
            ]})",
                {{"PATH", path},
                 {"EDGES", Cube(level.voxel_nanometers)},
                 {"PLACE", Translation(level, levels[0])}});
  };
  return Fill(R"({
  "zarr_format": 3,
  "node_type": "group",
  "attributes": {
    "ome": {
      "version": "0.5",
      "multiscales": [
        {
          "name": "image",
          "axes": [
            {"name": "z", "type": "space", "unit": "nanometer"},
            {"name": "y", "type": "space", "unit": "nanometer"},
            {"name": "x", "type": "space", "unit": "nanometer"}
          ],
          "datasets": [
            FINE,
            COARSE
          ]
        }
      ]
    }
  }
}
)",
              {{"FINE", dataset("0", levels[0])}, {"COARSE", dataset("1", levels[1])}});
}

}  // namespace unshard::sample
