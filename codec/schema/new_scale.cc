#include "codec/schema/new_scale.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codec/json/number.h"
#include "codec/precomputed/scale.h"
#include "codec/schema/creation_steps.h"
#include "codec/schema/sharding_choice.h"

namespace unshard {
namespace {

constexpr std::size_t kVolumeAxes = 4;
constexpr std::size_t kChannel = 3;

// x, y and z with any bounds, and channels from 0 on.
IndexDomain DomainOfVolumes() {
  IndexDomain domain;
  domain.dimensions.resize(kVolumeAxes);
  constexpr std::array<const char*, kVolumeAxes> kLabels = {"x", "y", "z", "channel"};
  for (std::size_t i = 0; i < kVolumeAxes; ++i) domain.dimensions[i].label = kLabels[i];
  domain.dimensions[kChannel].lower = {0, false};
  return domain;
}

Extents3 FirstThree(const std::vector<std::int64_t>& values) {
  return {values[0], values[1], values[2]};
}

// Nanometres along z, y and x.
Result<DimensionUnits> UnitsOf(const Schema& schema) {
  DimensionUnits units(kVolumeAxes, DimensionUnit{1, "nm"});
  units.front().reset();
  for (std::size_t i = 0; i < schema.dimension_units.size(); ++i) {
    const auto& unit = schema.dimension_units[i];
    if (!unit) continue;
    if (i == kChannel) return CannotCreate("dimension_units: channels have no unit");
    if (unit->base != "nm") {
      return CannotCreate("dimension_units: a precomputed volume needs lengths, found ",
                          DimensionUnitText(*unit, SixDigits));
    }
    units[kChannel - i] = *unit;
  }
  return units;
}

// Adds the constraints that every volume meets.
Status SetFixed(const IndexDomain& domain, ChunkLayout& layout) {
  ChunkLayout fixed;
  fixed.inner_order = {std::vector<std::size_t>{3, 2, 1, 0}, Strength::kHard};
  fixed.grid_origin = HardValues(domain.origin());
  fixed.write_chunk.shape = HardShape({0, 0, 0, domain.dimensions[kChannel].size()});
  fixed.read_chunk.shape = fixed.write_chunk.shape;
  return layout.Merge(fixed);
}

// The value of a member of the codec; "" where it is not constrained.
std::string Option(const CodecConstraints& codec, const char* name) {
  return TextOf(codec.members, name);
}

Status CheckEncoding(const std::string& encoding, const DataTypeNames& type,
                     std::int64_t channels) {
  if (encoding == "png") {
    if (type.name != "uint8" && type.name != "uint16") {
      return CannotCreate("codec.encoding: png needs uint8 or uint16, found ", type.name);
    }
    if (channels > 4) return CannotCreate("codec.encoding: png needs at most 4 channels");
  }
  if (encoding == "jpeg") {
    if (type.name != "uint8") {
      return CannotCreate("codec.encoding: jpeg needs uint8, found ", type.name);
    }
    if (channels != 1 && channels != 3) {
      return CannotCreate("codec.encoding: jpeg needs 1 or 3 channels");
    }
  }
  if (encoding == "compressed_segmentation" && type.name != "uint32" && type.name != "uint64") {
    return CannotCreate("codec.encoding: compressed_segmentation needs uint32 or uint64, found ",
                        type.name);
  }
  return {};
}

// The blocks of compressed_segmentation: of about 512 voxels of one channel.
Result<Extents3> ChooseBlocks(ChunkLayout& layout, const std::vector<std::int64_t>& chunk) {
  constexpr std::int64_t kBlockElements = 512;
  const ChunkShapeConstraints one_channel = {.shape = HardShape({0, 0, 0, 1}),
                                             .elements = {kBlockElements, Strength::kSoft}};
  UNSHARD_RETURN_IF_ERROR(layout.Merge({.codec_chunk = one_channel}));
  auto blocks = ChooseChunkShape(layout.codec_chunk, {chunk.begin(), chunk.end()});
  if (!blocks) return CannotCreate(blocks.error().message);
  return FirstThree(*blocks);
}

// Nothing where every chunk is a file of its own.
Result<std::optional<ShardingSpec>> ChooseShards(const Schema& schema,
                                                 const CodecConstraints& codec,
                                                 const std::string& encoding,
                                                 const Extents3& volume, const Extents3& chunk) {
  auto sharding = ChooseSharding(schema.chunk_layout.write_chunk, volume, chunk);
  if (!sharding) return CannotCreate(sharding.error().message);
  const std::string given = Option(codec, "shard_data_encoding");
  if (sharding->preshift_bits + sharding->minishard_bits == 0 && given.empty()) return std::nullopt;
  const bool raw = given.empty() ? encoding == "jpeg" || encoding == "png" : given == "raw";
  sharding->data_encoding = raw ? ShardEncoding::kRaw : ShardEncoding::kGzip;
  constexpr unsigned kMaxIdBits = 64;
  if (ChunkIdBits(volume, chunk) > kMaxIdBits) {
    return CannotCreate(
        "chunk_layout: the ids of so many chunks need more than 64 bits: choose larger read "
        "chunks");
  }
  return *sharding;
}

// Fails where the choice breaks a hard constraint of the schema. A write chunk is a shard, clipped
// to the volume, where shards are boxes.
Status CheckChoice(ChunkLayout layout, const std::optional<ShardingSpec>& sharding,
                   const std::vector<std::int64_t>& volume,
                   const std::vector<std::int64_t>& chunk) {
  ChunkLayout chosen = {.write_chunk = {HardShape(chunk)}, .read_chunk = {HardShape(chunk)}};
  if (sharding) {
    const auto shard = ShardShapeInChunks(*sharding, FirstThree(volume), FirstThree(chunk));
    std::vector<std::int64_t> extents = volume;
    for (std::size_t i = 0; shard && i < kChannel; ++i) {
      extents[i] = std::min((*shard)[i] * chunk[i], volume[i]);
    }
    chosen.write_chunk.shape = shard ? HardShape(extents) : Constraints<std::int64_t>();
  }
  return layout.Merge(chosen);
}

JsonValue EncodingName(ShardEncoding encoding) {
  return JsonValue::String(encoding == ShardEncoding::kGzip ? "gzip" : "raw");
}

JsonValue ShardingJson(const ShardingSpec& spec) {
  JsonValue sharding = JsonValue::Object();
  sharding.Set("@type", JsonValue::String("neuroglancer_uint64_sharded_v1"));
  sharding.Set("preshift_bits", JsonValue::Number(std::uint64_t{spec.preshift_bits}));
  sharding.Set("hash", JsonValue::String("identity"));
  sharding.Set("minishard_bits", JsonValue::Number(std::uint64_t{spec.minishard_bits}));
  sharding.Set("shard_bits", JsonValue::Number(std::uint64_t{spec.shard_bits}));
  sharding.Set("minishard_index_encoding", EncodingName(spec.minishard_index_encoding));
  sharding.Set("data_encoding", EncodingName(spec.data_encoding));
  return sharding;
}

// The encoding, with its options. The blocks that are chosen become the codec chunk of `layout`.
Result<JsonValue> ChooseEncoding(const std::string& encoding, const CodecConstraints& codec,
                                 const std::vector<std::int64_t>& chunk, ChunkLayout& layout) {
  JsonValue members = JsonValue::Object({{"encoding", JsonValue::String(encoding)}});
  if (encoding == "compressed_segmentation") {
    UNSHARD_ASSIGN_OR_RETURN(const Extents3 blocks, ChooseBlocks(layout, chunk));
    members.Set("compressed_segmentation_block_size", ExtentsJson(blocks));
  } else {
    UNSHARD_RETURN_IF_ERROR(CheckNoCodecChunks(layout));
  }
  constexpr std::int64_t kDefaultQuality = 75;
  const JsonValue* const quality = codec.members.Find("jpeg_quality");
  if (encoding == "jpeg") {
    members.Set("jpeg_quality", quality != nullptr ? *quality : IntegerNumber(kDefaultQuality));
  }
  if (const JsonValue* const level = codec.members.Find("png_level")) {
    members.Set("png_level", *level);
  }
  return members;
}

// Slowest axis first, as ArrayMetadata lists them.
template <class T>
std::vector<T> Reversed(const std::vector<std::int64_t>& list) {
  return {list.rbegin(), list.rend()};
}

JsonValue ScaleOfNew(const ArrayMetadata& array) {
  std::vector<double> resolution;
  JsonValue numbers = JsonValue::Array();
  for (std::size_t i = kChannel; i > 0; --i) {
    resolution.push_back(array.units[i]->multiplier);
    numbers.mutable_items().push_back(DoubleNumber(resolution.back()));
  }
  const std::string key = ScaleKey(resolution[0], resolution[1], resolution[2]);
  JsonValue scale =
      JsonValue::Object({{"key", JsonValue::String(key)}, {"resolution", std::move(numbers)}});
  const JsonValue written = WriteScale(key, array);
  for (const auto& [name, value] : written.members()) {
    if (scale.Find(name) == nullptr) scale.Set(name, value);
  }
  return scale;
}

}  // namespace

Result<ArrayMetadata> NewScale(const Schema& schema) {
  if (schema.rank && *schema.rank != kVolumeAxes) {
    return CannotCreate(
        "domain: precomputed volumes have 4 dimensions, x, y, z and channel, found rank ",
        *schema.rank);
  }
  if (!schema.domain)
    return CannotCreate(
        "domain: missing: a new volume needs its extents, for example 1000,1000,100");
  UNSHARD_ASSIGN_OR_RETURN(const IndexDomain domain, RequiredDomain(schema, DomainOfVolumes()));
  UNSHARD_ASSIGN_OR_RETURN(const DataTypeNames* const type, RequiredType(schema));
  if (!type->IsIn(DataTypeDialect::kNewVolume)) {
    return CannotCreate("dtype: precomputed volumes have no ", type->name);
  }
  const std::int64_t channels = domain.dimensions[kChannel].size();
  if (channels == 0) return CannotCreate("domain: a volume needs at least one channel");
  ChunkLayout layout = schema.chunk_layout;
  auto fixed = SetFixed(domain, layout);
  if (!fixed) {
    return CannotCreate(
        fixed.error().message,
        "; precomputed volumes always have the inner_order 3, 2, 1, 0, the grid_origin of the "
        "domain and all channels in a chunk");
  }
  ArrayMetadata array;
  array.dialect = ArrayDialect::kPrecomputed;
  array.type_name = type->name;
  array.data_type = type->type;
  UNSHARD_ASSIGN_OR_RETURN(array.units, UnitsOf(schema));
  UNSHARD_ASSIGN_OR_RETURN(const CodecConstraints codec,
                           RequiredCodec(schema, ArrayDialect::kPrecomputed));
  const std::string given = Option(codec, "encoding");
  const std::string encoding = given.empty() ? "raw" : given;
  UNSHARD_RETURN_IF_ERROR(CheckEncoding(encoding, *type, channels));
  if (schema.fill_value) return CannotCreate("fill_value: absent chunks of volumes are always 0");

  auto chunk = ChooseChunkShape(layout.read_chunk, ExtentsOf(domain));
  if (!chunk) return CannotCreate(chunk.error().message);
  UNSHARD_ASSIGN_OR_RETURN(array.codec_json, ChooseEncoding(encoding, codec, *chunk, layout));
  const std::vector<std::int64_t> volume = domain.shape();
  UNSHARD_ASSIGN_OR_RETURN(
      const auto sharding,
      ChooseShards(schema, codec, encoding, FirstThree(volume), FirstThree(*chunk)));
  UNSHARD_RETURN_IF_ERROR(CheckChoice(layout, sharding, volume, *chunk));
  if (sharding) array.sharding = ShardingJson(*sharding);
  array.axis_names = {"channel", "z", "y", "x"};
  array.shape = Reversed<std::uint64_t>(volume);
  array.origin = Reversed<std::int64_t>(domain.origin());
  array.chunk_shape = Reversed<std::uint64_t>(*chunk);
  return array;
}

Result<JsonValue> InfoOfNew(std::span<const ArrayMetadata> scales) {
  std::vector<JsonValue> written;
  std::set<std::string> keys;
  for (const ArrayMetadata& array : scales) {
    written.push_back(ScaleOfNew(array));
    const std::string key = TextOf(written.back(), "key");
    if (!keys.insert(key).second) {
      return CannotCreate("two scales have the resolution ", key, ": choose larger factors");
    }
  }
  const ArrayMetadata& first = scales.front();
  return WriteInfo(first.type_name, first.shape.front(), JsonValue::Array(std::move(written)));
}

}  // namespace unshard
