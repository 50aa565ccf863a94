// Neuroglancer `info` documents: their arrays, their sharded directories, and their unsharded form.
// Volumes, multi-LOD meshes, skeletons and annotations; codec/FORMATS.md, "Precomputed". Pure
// functions; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/array/array.h"
#include "codec/grid/chunk_check.h"
#include "codec/grid/chunk_grid.h"
#include "codec/json/json.h"
#include "codec/precomputed/shard.h"

namespace unshard {

// A scale of a volume as an array with the axes channel, z, y, x, whose units are nm. Of several
// chunk sizes of an unsharded scale the first is taken. codec_json has the members of the scale
// that say how its chunks are encoded.
struct VolumeScale {
  std::string json_path;               // "scales[0]"
  std::string directory;               // as in ShardedDirectory
  std::optional<std::size_t> sharded;  // its position in NeuroglancerInfo::sharded
  // Of an unsharded scale anything can be damaged: then `voxels` says what, and members are empty.
  Array array;
};

// One directory whose chunks are in shards.
struct ShardedDirectory {
  enum class Names {
    kChunkRanges,      // scale of a volume: "0-64_0-64_0-64"
    kCellCoordinates,  // spatial level of annotations: "0_3_1"
    kIds,              // skeletons, annotations by id, relationships: "720575940379279312"
    kMeshes,           // "<id>" and "<id>.index"
  };
  Names names = Names::kIds;
  std::string directory;  // relative to the info's directory, normalised; "" is that directory;
                          // may begin with "../"
  std::string json_path;  // of the object that contains `sharding`, for messages: "scales[0]"
  ShardingSpec sharding;
  ChunkGrid grid;                         // kChunkRanges only, x y z
  std::vector<std::uint64_t> grid_shape;  // kChunkRanges and kCellCoordinates
  std::uint64_t bytes_per_voxel = 0;      // kChunkRanges with encoding raw: item size × channels;
                                          // 0: the plain size does not follow from the metadata
  std::string description;  // for users: "uint64 segmentation, compressed_segmentation"
  ArrayDescription array;   // kChunkRanges only
  // Everything that decides how chunks are stored: directories with layouts of the same meaning
  // (SameMeaning) store chunks in the same way.
  JsonValue layout;
  // The check of a chunk before it is stored; for kMeshes of the manifest, because fragments may be
  // empty and have no form that could be checked. Never null.
  std::shared_ptr<const ChunkCheck> check = MakeNotEmptyCheck();
};

// An unsharded scale, or any other directory that the info refers to.
struct ReferredDirectory {
  std::string directory;      // as in ShardedDirectory
  bool holds_chunks = false;  // true: an unsharded scale or index, which contains no dataset
  ArrayDescription array;     // unsharded scales only
};

struct NeuroglancerInfo {
  enum class Type { kVolume, kMeshes, kSkeletons, kAnnotations, kOther };
  Type type = Type::kOther;
  std::vector<VolumeScale> scales;  // of a volume
  std::vector<ShardedDirectory> sharded;
  std::vector<ReferredDirectory> referred;
  // The document without `sharding`; equal to the source text where nothing is sharded. Empty where
  // a tree was parsed.
  std::string unsharded_text;
};

// Parses and validates an `info`. Unknown types are kOther with unchanged text, never an error.
// Fails with kDataLoss, naming the JSON path and what was expected, where the shards of a known
// type cannot be read: wrong JSON types, chunk extent 0, more than one chunk size in a sharded
// scale, sizes that overflow, too many bits, two members whose shards would have the same names.
Result<NeuroglancerInfo> ParseNeuroglancerInfo(std::string_view text);
Result<NeuroglancerInfo> ParseNeuroglancerInfo(const JsonValue& document);

}  // namespace unshard
