#include "codec/precomputed/info.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "codec/chain/chain_check.h"
#include "codec/core/byte_range.h"
#include "codec/core/lower_case.h"
#include "codec/json/cursor.h"
#include "codec/json/number.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/precomputed/layout_members.h"
#include "codec/precomputed/object_check.h"
#include "codec/precomputed/scale.h"
#include "codec/types/data_type.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxCoordinate = ~std::uint64_t{0} >> 1;
constexpr std::uint64_t kMaxChannels = std::uint64_t{1} << 32;  // more than any volume has

// Resolves ".", ".." and empty components; a ".." that leaves the info's directory is kept.
std::string NormaliseKey(std::string_view key) {
  std::vector<std::string_view> parts;
  while (!key.empty()) {
    const std::size_t end = std::min(key.find('/'), key.size());
    const std::string_view part = key.substr(0, end);
    key.remove_prefix(std::min(end + 1, key.size()));
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else {
      parts.push_back(part);
    }
  }
  std::string normalised;
  for (const std::string_view part : parts) {
    if (!normalised.empty()) normalised += '/';
    normalised += part;
  }
  return normalised;
}

// An object whose `sharding` member may be absent or null.
Result<std::optional<ShardingSpec>> ParseOptionalSharding(const JsonCursor& owner) {
  UNSHARD_ASSIGN_OR_RETURN(const auto sharding, owner.OptionalMember("sharding"));
  if (!sharding) return std::optional<ShardingSpec>();
  UNSHARD_ASSIGN_OR_RETURN(const ShardingSpec spec, ParseShardingSpec(*sharding));
  return std::optional<ShardingSpec>(spec);
}

Result<std::string> ParseKey(const JsonCursor& owner) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor cursor, owner.Member("key"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string key, cursor.String());
  if (key.find("://") != std::string::npos) {
    return cursor.Expected("a path relative to this info");
  }
  return NormaliseKey(key);
}

Result<std::vector<std::uint64_t>> ParseVector3(const JsonCursor& cursor, std::uint64_t min) {
  UNSHARD_ASSIGN_OR_RETURN(auto extents, cursor.UnsignedItems(min, kMaxCoordinate));
  if (extents.size() != 3) return cursor.Expected("three whole numbers");
  return extents;
}

Result<std::vector<std::int64_t>> ParseVoxelOffset(const JsonCursor& scale) {
  using Limits = std::numeric_limits<std::int64_t>;
  UNSHARD_ASSIGN_OR_RETURN(const auto found, scale.OptionalMember("voxel_offset"));
  if (!found) return std::vector<std::int64_t>(3, 0);
  UNSHARD_ASSIGN_OR_RETURN(const auto items, found->Items());
  if (items.size() != 3) return found->Expected("three whole numbers");
  std::vector<std::int64_t> offset;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(const auto value, item.Integer(Limits::min(), Limits::max()));
    offset.push_back(value);
  }
  return offset;
}

// Extents of x, y and z as those of channel, z, y and x, and the reverse.
template <class T>
std::vector<T> FromXyz(T of_channel, const std::vector<T>& xyz) {
  std::vector<T> list{of_channel};
  list.insert(list.end(), xyz.rbegin(), xyz.rend());
  return list;
}
template <class T>
std::vector<T> ToXyz(const std::vector<T>& list) {
  return list.empty() ? list : std::vector<T>(list.rbegin(), std::prev(list.rend()));
}

Status TakeChunkSizes(const JsonCursor& scale, bool sharded, Array& array) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor sizes, scale.Member("chunk_sizes"));
  UNSHARD_ASSIGN_OR_RETURN(const auto items, sizes.Items());
  if (sharded && items.size() != 1) {
    return sizes.Expected("exactly one chunk size, because the scale is sharded");
  }
  if (items.empty()) return sizes.Expected("at least one chunk size");
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(const auto size, ParseVector3(item, 1));
    if (array.chunk_shape.empty()) array.chunk_shape = FromXyz(array.shape.front(), size);
  }
  return {};
}

Status TakeResolution(const JsonCursor& scale, Array& array) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor resolution, scale.Member("resolution"));
  UNSHARD_ASSIGN_OR_RETURN(const auto items, resolution.Items());
  if (items.size() != 3) return resolution.Expected("three numbers");
  DimensionUnits units;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(const double nanometres, FiniteNumberAt(item));
    units.emplace_back(DimensionUnit{nanometres, "nm"});
  }
  array.units = FromXyz<std::optional<DimensionUnit>>(std::nullopt, units);
  return {};
}

// Where a cell begins and ends along a dimension, as the names of chunks say it.
using ChunkRange = std::pair<std::int64_t, std::int64_t>;

ChunkRange RangeOf(const ChunkGrid& grid, std::size_t dimension, std::uint64_t cell) {
  const std::uint64_t begin = cell * grid.chunk_shape()[dimension];
  const std::uint64_t end =
      std::min(begin + grid.chunk_shape()[dimension], grid.shape()[dimension]);
  const std::int64_t origin = grid.origin()[dimension];
  return {origin + static_cast<std::int64_t>(begin), origin + static_cast<std::int64_t>(end)};
}

bool HasRange(const ChunkGrid& grid, std::size_t dimension, const ChunkRange& range) {
  const std::int64_t origin = grid.origin()[dimension];
  if (range.first < origin) return false;
  const std::uint64_t cell =
      (static_cast<std::uint64_t>(range.first) - static_cast<std::uint64_t>(origin)) /
      grid.chunk_shape()[dimension];
  return cell < grid.grid_shape()[dimension] && RangeOf(grid, dimension, cell) == range;
}

// Whether some chunk of one grid has the name of a chunk of the other one. Ranges that both have
// begin with the first cell of a grid, or are the last cell of a grid, or lie between these.
bool HaveOneName(const ChunkGrid& a, const ChunkGrid& b) {
  for (std::size_t d = 0; d < a.rank(); ++d) {
    const std::uint64_t cells_of_a = a.grid_shape()[d], cells_of_b = b.grid_shape()[d];
    if (cells_of_a == 0 || cells_of_b == 0) return false;
    const bool common =
        HasRange(b, d, RangeOf(a, d, 0)) || HasRange(b, d, RangeOf(a, d, cells_of_a - 1)) ||
        HasRange(a, d, RangeOf(b, d, 0)) || HasRange(a, d, RangeOf(b, d, cells_of_b - 1));
    if (!common) return false;
  }
  return true;
}

// Whether two members with one directory have a name in common, of a shard or of a chunk.
bool ShareNames(const ShardedDirectory& a, const ShardedDirectory& b) {
  const auto digits = [](const ShardedDirectory& one) {
    return std::max(1u, (one.sharding.shard_bits + 3) / 4);
  };
  const bool named_by_ranges = a.names == ShardedDirectory::Names::kChunkRanges &&
                               b.names == ShardedDirectory::Names::kChunkRanges;
  return digits(a) == digits(b) || !named_by_ranges || HaveOneName(a.grid, b.grid);
}

class InfoParser {
 public:
  explicit InfoParser(const JsonValue& document)
      : document_(document),
        root_(document, ""),
        data_type_(LowerCase(TextOf(document, "data_type"))),
        type_(FindDataType(DataTypeDialect::kPrecomputedVolume, data_type_)),
        channels_(root_.UnsignedMember("num_channels", 1, kMaxChannels)) {}

  Result<NeuroglancerInfo> Parse() {
    const std::string type = TextOf(document_, "@type");
    const JsonValue* scales = document_.Find("scales");
    if (type == "neuroglancer_multiscale_volume" || (type.empty() && scales != nullptr)) {
      info_.type = NeuroglancerInfo::Type::kVolume;
      UNSHARD_RETURN_IF_ERROR(ParseVolume());
    } else if (type == "neuroglancer_multilod_draco") {
      info_.type = NeuroglancerInfo::Type::kMeshes;
      UNSHARD_RETURN_IF_ERROR(
          ParseObjects(ShardedDirectory::Names::kMeshes, "multi-resolution meshes"));
    } else if (type == "neuroglancer_skeletons") {
      info_.type = NeuroglancerInfo::Type::kSkeletons;
      UNSHARD_RETURN_IF_ERROR(ParseObjects(ShardedDirectory::Names::kIds, "skeletons"));
    } else if (type == "neuroglancer_annotations_v1") {
      info_.type = NeuroglancerInfo::Type::kAnnotations;
      UNSHARD_RETURN_IF_ERROR(ParseAnnotations());
    }
    UNSHARD_RETURN_IF_ERROR(CheckNamesOfShards());
    return std::move(info_);
  }

 private:
  [[nodiscard]] Status CheckNamesOfShards() const {
    std::multimap<std::string, const ShardedDirectory*> seen;
    for (const ShardedDirectory& one : info_.sharded) {
      const auto [begin, end] = seen.equal_range(one.directory);
      for (auto known = begin; known != end; ++known) {
        if (!ShareNames(*known->second, one)) continue;
        return Fail(
            ErrorCode::kDataLoss, one.json_path, ": conflicts with ", known->second->json_path,
            ", which stores shards or chunks under the same names in \"", one.directory, "\"");
      }
      seen.emplace(one.directory, &one);
    }
    return {};
  }

  // The directory of a member `key`. A URL is ignored.
  void Refer(std::string_view key, bool holds_chunks, ArrayDescription array = {}) {
    if (key.find("://") != std::string_view::npos) return;
    std::string directory = NormaliseKey(key);
    const bool known = !referred_.emplace(directory, holds_chunks).second;
    if (known && array.shape.empty()) return;
    info_.referred.push_back({std::move(directory), holds_chunks, std::move(array)});
  }

  // A directory with a dataset of its own.
  void ReferToDataset(const char* member) {
    const std::string key = TextOf(document_, member);
    if (!key.empty()) Refer(key, false);
  }

  Status ParseVolume() {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor scales, root_.Member("scales"));
    UNSHARD_ASSIGN_OR_RETURN(const auto items, scales.Items());
    for (const JsonCursor& scale : items) {
      VolumeScale parsed{scale.path(), {}, {}, {}};
      UNSHARD_ASSIGN_OR_RETURN(const auto sharding, ParseOptionalSharding(scale));
      const auto grid = TakeGeometry(scale, sharding.has_value(), parsed);
      const Result<ChunkCodecPtr> codec = BindCodec(scale);
      parsed.array.voxels =
          grid ? TakeVoxels(scale, codec, parsed.array) : Status(tl::unexpect, grid.error());
      if (sharding) {
        if (!grid) return tl::unexpected<Error>(grid.error());
        UNSHARD_RETURN_IF_ERROR(AddShards(scale, *sharding, codec, *grid, parsed));
      } else {
        Refer(TextOf(scale.value(), "key"), true, Describe(parsed.array));
      }
      info_.scales.push_back(std::move(parsed));
    }
    for (const char* member : {"mesh", "skeletons", "segment_properties"}) ReferToDataset(member);
    return {};
  }

  // What says where chunks are. Gives their grid, x y z.
  Result<ChunkGrid> TakeGeometry(const JsonCursor& scale, bool is_sharded, VolumeScale& to) const {
    Array& array = to.array;
    array.dialect = Dialect::kPrecomputed;
    array.type_name = TextOf(document_, "data_type");
    array.axis_names = {"channel", "z", "y", "x"};
    array.codec_json = JsonValue::Object();
    for (const std::string_view member : EncodingMembers()) {
      if (const JsonValue* value = scale.value().Find(member)) array.codec_json.Set(member, *value);
    }
    if (is_sharded) array.sharding = *scale.value().Find("sharding");
    UNSHARD_ASSIGN_OR_RETURN(to.directory, ParseKey(scale));
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor size, scale.Member("size"));
    UNSHARD_ASSIGN_OR_RETURN(auto shape, ParseVector3(size, 0));
    array.shape = FromXyz(channels_.value_or(1), shape);
    UNSHARD_ASSIGN_OR_RETURN(auto offset, ParseVoxelOffset(scale));
    array.origin = FromXyz<std::int64_t>(0, offset);
    UNSHARD_RETURN_IF_ERROR(TakeChunkSizes(scale, is_sharded, array));
    auto grid = ChunkGrid::Make(std::move(shape), ToXyz(array.chunk_shape), std::move(offset));
    if (!grid) return Forward(std::move(grid).error(), scale.path());
    return grid;
  }

  [[nodiscard]] Result<ChunkCodecPtr> BindCodec(const JsonCursor& scale) const {
    UNSHARD_RETURN_IF_ERROR(channels_);
    UNSHARD_ASSIGN_OR_RETURN(const std::string name, root_.StringMember("data_type"));
    if (type_) return MakePrecomputedChunkCodec(scale, *type_, *channels_);
    return Fail(ErrorCode::kNotSupported, "data_type: unsupported data type \"", name, "\"");
  }

  // What is needed for voxels beside the geometry.
  Status TakeVoxels(const JsonCursor& scale, const Result<ChunkCodecPtr>& codec,
                    Array& array) const {
    UNSHARD_RETURN_IF_ERROR(channels_);
    UNSHARD_RETURN_IF_ERROR(TakeResolution(scale, array));
    if (!type_) {
      array.passable = Status(tl::unexpect, codec.error());
      return array.passable;
    }
    array.data_type = *type_;
    UNSHARD_ASSIGN_OR_RETURN(const auto type, root_.OptionalMember("type"));
    if (type) UNSHARD_RETURN_IF_ERROR(type->String());
    UNSHARD_ASSIGN_OR_RETURN(array.codec, codec);
    return {};
  }

  Status AddShards(const JsonCursor& scale, const ShardingSpec& sharding,
                   const Result<ChunkCodecPtr>& codec, const ChunkGrid& grid, VolumeScale& parsed) {
    ShardedDirectory directory;
    directory.names = ShardedDirectory::Names::kChunkRanges;
    directory.json_path = scale.path();
    directory.sharding = sharding;
    directory.directory = parsed.directory;
    directory.grid = grid;
    directory.grid_shape = grid.grid_shape();
    directory.array = Describe(parsed.array);
    UNSHARD_RETURN_IF_ERROR(TakeEncoding(scale, directory));
    // Reading does not need the encoding: where it is not known, nothing is checked by it.
    if (codec) directory.check = MakeChainCheck(*codec, parsed.array.chunk_shape, grid);
    directory.layout = LayoutOf(scale, sharding);
    parsed.sharded = info_.sharded.size();
    info_.sharded.push_back(std::move(directory));
    return {};
  }

  // Copies what decides how chunks are stored, or what its absence means.
  static void CopyLayout(std::span<const LayoutMember> members, const JsonValue& from,
                         JsonValue& to) {
    for (const auto& [key, absent, is_name] : members) {
      const JsonValue* const found = from.Find(key);
      const bool is_absent = found == nullptr || found->is_null();
      to.Set(key, is_name     ? JsonValue::String(LowerCase(TextOf(from, key)))
                  : is_absent ? ParseJson(absent).value_or(JsonValue())
                              : *found);
    }
  }

  static JsonValue LayoutOf(const ShardingSpec& spec) {
    const auto number = [](auto value) {
      return JsonValue::Number(static_cast<std::uint64_t>(value));
    };
    return JsonValue::Object({{"preshift_bits", number(spec.preshift_bits)},
                              {"hash", number(spec.hash)},
                              {"minishard_bits", number(spec.minishard_bits)},
                              {"shard_bits", number(spec.shard_bits)},
                              {"minishard_index_encoding", number(spec.minishard_index_encoding)},
                              {"data_encoding", number(spec.data_encoding)}});
  }

  [[nodiscard]] JsonValue LayoutOf(const JsonCursor& scale, const ShardingSpec& sharding) const {
    JsonValue layout = JsonValue::Object();
    CopyLayout(kVolumeLayout, document_, layout);
    CopyLayout(kScaleLayout, scale.value(), layout);
    layout.Set("sharding", LayoutOf(sharding));
    return layout;
  }

  // Of meshes and skeletons.
  [[nodiscard]] JsonValue LayoutOfObjects(const ShardingSpec& sharding) const {
    constexpr LayoutMember kType[] = {{"@type"}};
    JsonValue layout = JsonValue::Object();
    CopyLayout(kType, document_, layout);
    CopyLayout(kMeshLayout, document_, layout);
    CopyLayout(kSkeletonLayout, document_, layout);
    layout.Set("sharding", LayoutOf(sharding));
    return layout;
  }

  // Of one index of annotations. Properties and relationships are lists: their order decides the
  // bytes of an annotation.
  [[nodiscard]] JsonValue LayoutOf(const JsonCursor& index, ShardedDirectory::Names names,
                                   const ShardingSpec& sharding) const {
    const auto items = [&](const char* list, const char* member) {
      JsonValue values = JsonValue::Array();
      const JsonValue* const found = document_.Find(list);
      if (found == nullptr) return values;
      for (const JsonValue& item : found->items()) {
        values.mutable_items().push_back(JsonValue::String(TextOf(item, member)));
      }
      return values;
    };
    JsonValue dimensions = JsonValue::Array();  // in order, which is that of the coordinates
    if (const JsonValue* const found = document_.Find("dimensions")) {
      for (const auto& [name, unit] : found->members()) {
        dimensions.mutable_items().push_back(JsonValue::Array({JsonValue::String(name), unit}));
      }
    }
    JsonValue types = items("properties", "type");
    for (JsonValue& type : types.mutable_items()) type = JsonValue::String(LowerCase(type.text()));
    JsonValue layout = JsonValue::Object();
    CopyLayout(kAnnotationLayout, document_, layout);
    CopyLayout(kIndexLayout, index.value(), layout);
    layout.Erase("key");  // it says where the index is
    layout.Set("dimensions", std::move(dimensions));
    layout.Set("properties", std::move(types));
    layout.Set("relationships", items("relationships", "key"));
    layout.Set("names", JsonValue::Number(static_cast<std::uint64_t>(names)));
    layout.Set("by_id", JsonValue::Boolean(index.path() == "by_id"));
    layout.Set("sharding", LayoutOf(sharding));
    return layout;
  }

  Status TakeEncoding(const JsonCursor& scale, ShardedDirectory& directory) const {
    const std::string& encoding = directory.array.encoding;
    const std::string type = LowerCase(TextOf(document_, "type"));
    directory.description = data_type_.empty() ? "" : data_type_ + " ";
    directory.description += type.empty() ? "volume" : type;
    if (!encoding.empty()) directory.description += ", " + encoding;
    UNSHARD_ASSIGN_OR_RETURN(const auto given, root_.OptionalMember("num_channels"));
    if (encoding != "raw" || !type_ || !given) return {};
    UNSHARD_RETURN_IF_ERROR(channels_);
    directory.bytes_per_voxel = type_->size * *channels_;
    return CheckChunkBytes(scale, directory);
  }

  // The size of every chunk has to fit the size of a file, 63 bits.
  static Status CheckChunkBytes(const JsonCursor& scale, const ShardedDirectory& directory) {
    std::optional<std::uint64_t> bytes = directory.bytes_per_voxel;
    for (std::size_t d = 0; d < directory.grid.rank() && bytes; ++d) {
      const std::uint64_t extent =
          std::min(directory.grid.chunk_shape()[d], directory.grid.shape()[d]);
      if (extent > 0) bytes = CheckedMultiply(*bytes, extent);
    }
    if (bytes && *bytes <= kMaxCoordinate) return {};
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor sizes, scale.Member("chunk_sizes"));
    UNSHARD_ASSIGN_OR_RETURN(const auto items, sizes.Items());
    return items.front().Expected("a raw chunk of fewer than 2^63 bytes");
  }

  // Meshes and skeletons: the shards are in the directory of the info.
  Status ParseObjects(ShardedDirectory::Names names, const char* description) {
    UNSHARD_ASSIGN_OR_RETURN(const auto sharding, ParseOptionalSharding(root_));
    if (sharding) {
      ShardedDirectory directory;
      directory.names = names;
      directory.sharding = *sharding;
      directory.description = description;
      directory.layout = LayoutOfObjects(*sharding);
      directory.check = names == ShardedDirectory::Names::kMeshes ? MakeMeshManifestCheck()
                                                                  : MakeSkeletonCheck(document_);
      info_.sharded.push_back(std::move(directory));
    }
    ReferToDataset("segment_properties");
    return {};
  }

  Status ParseAnnotations() {
    UNSHARD_ASSIGN_OR_RETURN(const auto by_id, root_.OptionalMember("by_id"));
    if (by_id) {
      UNSHARD_RETURN_IF_ERROR(
          ParseIndex(*by_id, ShardedDirectory::Names::kIds, "annotations by id"));
      if (!info_.sharded.empty()) {
        info_.sharded.back().check = MakeAnnotationCheck(document_, AnnotationIndex::kById);
      }
    }
    UNSHARD_RETURN_IF_ERROR(ParseIndices("relationships", ShardedDirectory::Names::kIds,
                                         "annotations by related object"));
    return ParseIndices("spatial", ShardedDirectory::Names::kCellCoordinates,
                        "annotations by place");
  }

  Status ParseIndices(const char* member, ShardedDirectory::Names names, const char* description) {
    UNSHARD_ASSIGN_OR_RETURN(const auto list, root_.OptionalMember(member));
    if (!list) return {};
    UNSHARD_ASSIGN_OR_RETURN(const auto items, list->Items());
    for (const JsonCursor& index : items) {
      UNSHARD_RETURN_IF_ERROR(ParseIndex(index, names, description));
    }
    return {};
  }

  Status ParseIndex(const JsonCursor& index, ShardedDirectory::Names names,
                    const char* description) {
    UNSHARD_ASSIGN_OR_RETURN(const auto sharding, ParseOptionalSharding(index));
    if (!sharding) {
      Refer(TextOf(index.value(), "key"), true);
      return {};
    }
    ShardedDirectory directory;
    directory.names = names;
    directory.json_path = index.path();
    directory.sharding = *sharding;
    directory.description = description;
    directory.layout = LayoutOf(index, names, *sharding);
    directory.check = MakeAnnotationCheck(document_, AnnotationIndex::kList);
    UNSHARD_ASSIGN_OR_RETURN(directory.directory, ParseKey(index));
    if (names == ShardedDirectory::Names::kCellCoordinates) {
      UNSHARD_ASSIGN_OR_RETURN(const JsonCursor grid_shape, index.Member("grid_shape"));
      UNSHARD_ASSIGN_OR_RETURN(directory.grid_shape, grid_shape.UnsignedItems(1, kMaxCoordinate));
      if (directory.grid_shape.empty()) return grid_shape.Expected("at least one dimension");
    }
    info_.sharded.push_back(std::move(directory));
    return {};
  }

  const JsonValue& document_;
  const JsonCursor root_;
  // What all scales of a volume have in common.
  const std::string data_type_;
  const std::optional<DataType> type_;
  const Result<std::uint64_t> channels_;
  NeuroglancerInfo info_;
  std::set<std::pair<std::string, bool>> referred_;  // directories, and whether they hold chunks
};

void DropSharding(JsonValue* owner) {
  const JsonValue* sharding = owner != nullptr ? owner->Find("sharding") : nullptr;
  if (sharding != nullptr && sharding->is_object()) owner->Erase("sharding");
}

void DropShardingOfItems(JsonValue* list) {
  if (list == nullptr || !list->is_array()) return;
  for (JsonValue& item : list->mutable_items()) DropSharding(&item);
}

std::string WithoutSharding(JsonValue document, NeuroglancerInfo::Type type) {
  switch (type) {
    case NeuroglancerInfo::Type::kVolume:
      DropShardingOfItems(document.Find("scales"));
      break;
    case NeuroglancerInfo::Type::kMeshes:
    case NeuroglancerInfo::Type::kSkeletons:
      DropSharding(&document);
      break;
    case NeuroglancerInfo::Type::kAnnotations:
      DropSharding(document.Find("by_id"));
      DropShardingOfItems(document.Find("relationships"));
      DropShardingOfItems(document.Find("spatial"));
      break;
    case NeuroglancerInfo::Type::kOther:
      break;
  }
  return WriteDocument(document);
}

}  // namespace

Result<NeuroglancerInfo> ParseNeuroglancerInfo(const JsonValue& document) {
  return InfoParser(document).Parse();
}

Result<NeuroglancerInfo> ParseNeuroglancerInfo(std::string_view text) {
  UNSHARD_ASSIGN_OR_RETURN(JsonValue document, ParseJson(text));
  UNSHARD_ASSIGN_OR_RETURN(NeuroglancerInfo info, ParseNeuroglancerInfo(document));
  info.unsharded_text =
      info.sharded.empty() ? std::string(text) : WithoutSharding(std::move(document), info.type);
  return info;
}

}  // namespace unshard
