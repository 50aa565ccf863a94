#include "codec/schema/new_array.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "codec/chain/codec_spelling.h"
#include "codec/chain/transpose.h"
#include "codec/codecs/codecs.h"
#include "codec/json/number.h"
#include "codec/precomputed/scale.h"
#include "codec/pyramid/array_documents.h"
#include "codec/schema/chunk_shape.h"
#include "codec/schema/codec_resolution.h"
#include "codec/schema/sharding_choice.h"

namespace unshard {
namespace {

using SignedShape = std::vector<std::int64_t>;

constexpr std::size_t kVolumeAxes = 4;
constexpr std::size_t kChannel = 3;

// The failure with a message of these parts, which begins with the member of the schema.
template <class... Parts>
tl::unexpected<Error> CannotCreate(const Parts&... parts) {
  return Fail(ErrorCode::kInvalidArgument, parts...);
}

// What the schema and the format decide together, in the axis order of the schema.
struct Plan {
  Dialect dialect;
  const DataTypeNames& type;
  IndexDomain domain;
  ChunkLayout layout;  // with the constraints of the format
  ChunkShapes chunks;  // the same twice, where shards are not chosen with the chunks
  CodecConstraints codec;
};

// What a format prescribes.
struct Format {
  const char* name;          // for messages
  DataTypeDialect types;     // of new arrays
  const char* prescription;  // of the layout
};

Format FormatOf(Dialect dialect) {
  constexpr const char* kOrigin = "the grid_origin is always 0";
  switch (dialect) {
    case Dialect::kPrecomputed:
      return {"a precomputed volume", DataTypeDialect::kNewVolume,
              "precomputed volumes always have the inner_order 3, 2, 1, 0, the grid_origin of the "
              "domain and all channels in a chunk"};
    case Dialect::kZarr3:
      return {"Zarr v3", DataTypeDialect::kNewZarr, kOrigin};
    case Dialect::kZarr2:
      return {"Zarr v2", DataTypeDialect::kNewZarr, kOrigin};
    case Dialect::kN5:
      break;
  }
  return {"N5", DataTypeDialect::kN5,
          "N5 always has the reverse inner_order and the grid_origin 0"};
}

Result<const DataTypeNames*> TypeOf(const Schema& schema, const Format& format) {
  if (schema.dtype == nullptr) {
    return CannotCreate("dtype: missing: a new array needs its data type, for example uint8");
  }
  if (schema.dtype->IsIn(format.types)) return schema.dtype;
  return CannotCreate("dtype: ", format.name, " has no ", schema.dtype->name);
}

// The bounds and labels that a format prescribes: in Zarr and N5 lower bounds of 0; volumes have x,
// y and z with any bounds, and channels from 0 on.
IndexDomain PrescribedDomain(Dialect dialect, std::size_t rank) {
  IndexDomain domain;
  if (dialect != Dialect::kPrecomputed) {
    domain.dimensions.resize(rank, {.lower = {0, false}});
    return domain;
  }
  for (const char* const label : {"x", "y", "z"}) domain.dimensions.push_back({.label = label});
  domain.dimensions.push_back({.lower = {0, false}, .label = "channel"});
  return domain;
}

Result<IndexDomain> DomainOf(const Schema& schema, Dialect dialect) {
  const bool is_volume = dialect == Dialect::kPrecomputed;
  if (is_volume && schema.rank.value_or(kVolumeAxes) != kVolumeAxes) {
    return CannotCreate(
        "domain: precomputed volumes have 4 dimensions, x, y, z and channel, found rank ",
        *schema.rank);
  }
  if (!schema.domain && schema.rank != std::size_t{0}) {
    return CannotCreate(
        "domain: missing: a new array needs its extents, for example 1000,1000,100");
  }
  UNSHARD_ASSIGN_OR_RETURN(IndexDomain domain,
                           MergeDomains(schema.domain.value_or(IndexDomain()),
                                        PrescribedDomain(dialect, schema.rank.value_or(0))));
  if (!domain.finite()) return CannotCreate("domain: every dimension needs both bounds");
  if (is_volume && domain.dimensions[kChannel].size() == 0) {
    return CannotCreate("domain: a volume needs at least one channel");
  }
  return domain;
}

// The layout of the schema with the constraints that every array of the format meets.
Result<ChunkLayout> LayoutOf(const Schema& schema, Dialect dialect, const IndexDomain& domain,
                             const Format& format) {
  ChunkLayout fixed = {.grid_origin = HardValues(domain.origin())};
  if (ListsFastestAxisFirst(dialect) && domain.rank() > 0) {
    fixed.inner_order = {ReversedOrder(domain.rank()), Strength::kHard};
  }
  if (dialect == Dialect::kPrecomputed) {
    fixed.write_chunk.shape = HardShape({0, 0, 0, domain.dimensions[kChannel].size()});
    fixed.read_chunk.shape = fixed.write_chunk.shape;
  }
  ChunkLayout layout = schema.chunk_layout;
  const Status merged = layout.Merge(fixed);
  if (!merged) return CannotCreate(merged.error().message, "; ", format.prescription);
  return layout;
}

Result<ChunkShapes> ChooseShapes(Dialect dialect, const ChunkLayout& layout,
                                 const IndexDomain& domain) {
  Extents extents;
  for (const std::int64_t extent : domain.shape()) extents.emplace_back(extent);
  if (dialect == Dialect::kZarr3) {
    return ChooseChunkShapes(layout.read_chunk, layout.write_chunk, extents);
  }
  ChunkShapeConstraints chunk = layout.read_chunk;
  if (dialect != Dialect::kPrecomputed) {
    const Status merged = chunk.Merge("chunk_layout.write_chunk", layout.write_chunk);
    if (!merged) {
      return CannotCreate(merged.error().message, "; without shards it must agree with read_chunk");
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(SignedShape shape, ChooseChunkShape(chunk, extents));
  return ChunkShapes{shape, shape};
}

Result<Plan> MakePlan(Dialect dialect, const Schema& schema) {
  const Format format = FormatOf(dialect);
  UNSHARD_ASSIGN_OR_RETURN(const DataTypeNames* const type, TypeOf(schema, format));
  UNSHARD_ASSIGN_OR_RETURN(IndexDomain domain, DomainOf(schema, dialect));
  UNSHARD_ASSIGN_OR_RETURN(ChunkLayout layout, LayoutOf(schema, dialect, domain, format));
  UNSHARD_ASSIGN_OR_RETURN(ChunkShapes chunks, ChooseShapes(dialect, layout, domain));
  CodecConstraints codec{dialect};
  if (schema.codec) UNSHARD_RETURN_IF_ERROR(MergeCodecConstraints(codec, *schema.codec));
  return Plan{dialect,           *type,           std::move(domain), std::move(layout),
              std::move(chunks), std::move(codec)};
}

// Fails where a hard constraint on the layout contradicts a chosen one. `whose`: what the message
// says of the latter.
Status CheckLayout(ChunkLayout layout, const ChunkLayout& chosen, const char* whose = "") {
  const Status merged = layout.Merge(chosen);
  if (!merged) return CannotCreate(merged.error().message, whose);
  const auto& codec_chunk = layout.codec_chunk.shape;
  const bool is_wanted = std::any_of(codec_chunk.begin(), codec_chunk.end(),
                                     [](const auto& extent) { return extent.hard(); });
  if (!is_wanted || !chosen.codec_chunk.shape.empty()) return {};
  return CannotCreate("chunk_layout.codec_chunk.shape: this format has no codec chunks");
}

// --- Zarr v3

// The codecs of an array with these chunks. Where read and write chunks differ and no constraint
// has a sharding_indexed, one is added.
Result<ChainSpec> ChooseCodecs(const Plan& plan) {
  const ChunkShapes& shapes = plan.chunks;
  ChainSpec chain = plan.codec.codecs.value_or(ChainSpec());
  if (shapes.read != shapes.write && !FindSharding(chain)) {
    CodecSpec sharding = CodecIn(Dialect::kZarr3, ShardingIndexedCodec(),
                                 JsonValue::Object({{"chunk_shape", ExtentsJson(shapes.read)}}));
    SetChain(sharding, kInnerCodecs, std::move(chain));
    chain = {std::move(sharding)};
  }
  UNSHARD_ASSIGN_OR_RETURN(ChainSpec resolved,
                           ResolveCodecs(chain, {plan.type.type.size, shapes.write, shapes.read,
                                                 plan.layout.inner_order.value}));
  // Codecs may have been given for chunks of another shape than the chosen one.
  ChainSpec merged = resolved;
  if (plan.codec.codecs) UNSHARD_RETURN_IF_ERROR(MergeCodecs(merged, *plan.codec.codecs));
  return resolved;
}

JsonValue ZeroOf(const DataType& type) {
  const JsonValue zero = DoubleNumber(0);
  switch (type.kind) {
    case DataType::Kind::kBool:
      return JsonValue::Boolean(false);
    case DataType::Kind::kFloat:
    case DataType::Kind::kBrainFloat:
      return zero;
    case DataType::Kind::kComplex:
      return JsonValue::Array({zero, zero});
    default:
      return IntegerNumber(0);
  }
}

Status FinishZarr3(const Schema& schema, const Plan& plan, Array& array) {
  UNSHARD_ASSIGN_OR_RETURN(const ChainSpec codecs, ChooseCodecs(plan));
  const StoredLayout made = *LayoutOfCodecs(codecs, plan.chunks.write);
  ChunkLayout chosen = {.write_chunk = {HardShape(plan.chunks.write)},
                        .read_chunk = {HardShape(made.read_chunk_shape)}};
  if (array.rank() > 0) chosen.inner_order = {made.inner_order, Strength::kHard};
  UNSHARD_RETURN_IF_ERROR(CheckLayout(plan.layout, chosen, "; the second one is that of codec"));
  if (FindSharding(codecs)) {
    array.shard_shape = array.chunk_shape;
    array.chunk_shape = {made.read_chunk_shape.begin(), made.read_chunk_shape.end()};
  }
  (array.shard_shape ? array.sharding : array.codec_json) = CodecsJson(codecs);
  array.fill_json = schema.fill_value.value_or(ZeroOf(array.data_type));
  if (AnyUnit(schema.dimension_units)) {
    array.attributes.Set("dimension_units", UnitTexts(schema.dimension_units, SixDigits));
  }
  return {};
}

// --- Zarr v2 and N5

// "C" or "F". A soft constraint for another order is dropped.
Result<const char*> ChooseOrder(const ChunkLayout& layout) {
  if (!layout.inner_order.value) return "C";
  const std::vector<std::size_t>& order = *layout.inner_order.value;
  if (std::is_sorted(order.begin(), order.end())) return "C";
  if (std::is_sorted(order.rbegin(), order.rend())) return "F";
  if (!layout.inner_order.hard()) return "C";
  return CannotCreate(
      "chunk_layout.inner_order: Zarr v2 has only the order of the dimensions and its reverse");
}

// Null: none.
JsonValue CompressorOf(const Plan& plan) {
  const ChainSpec chain =
      plan.codec.codecs.value_or(ChainSpec{DefaultCompressor(plan.dialect, plan.type.type.size)});
  return chain.empty() ? JsonValue() : NamedCodecJson(chain.front());
}

Status FinishZarr2(const Schema& schema, const Plan& plan, Array& array) {
  UNSHARD_ASSIGN_OR_RETURN(const char* const order, ChooseOrder(plan.layout));
  if (AnyUnit(schema.dimension_units)) {
    return CannotCreate("dimension_units: Zarr v2 has no units");
  }
  array.codec_json = JsonValue::Object({{"dtype", JsonValue::String(std::string(plan.type.dtype))},
                                        {"compressor", CompressorOf(plan)},
                                        {"order", JsonValue::String(order)}});
  array.fill_json = schema.fill_value.value_or(JsonValue());
  array.key_encoding = {ChunkKeyEncoding::Kind::kV2, '.'};
  array.axis_names.clear();
  return {};
}

// N5 blocks are below 2 GiB.
Status CheckBlockSize(const SignedShape& block, const DataType& type) {
  const std::int64_t most = (std::int64_t{1} << 31) / type.size;
  std::int64_t elements = 1;
  for (const std::int64_t extent : block) {
    if (extent > most / elements) {
      return CannotCreate("chunk_layout: a block may have at most ", most,
                          " elements, which fill the 2 GiB of an N5 block");
    }
    elements *= extent;
  }
  return {};
}

Status FinishN5(const Schema& schema, const Plan& plan, Array& array) {
  UNSHARD_RETURN_IF_ERROR(CheckBlockSize(plan.chunks.write, array.data_type));
  if (schema.fill_value) return CannotCreate("fill_value: absent blocks of N5 are always 0");
  array.codec_json = CompressorOf(plan);
  if (AnyUnit(schema.dimension_units)) {
    array.units.assign(schema.dimension_units.rbegin(), schema.dimension_units.rend());
  }
  return {};
}

// --- Precomputed volumes

Extents3 FirstThree(const SignedShape& values) { return {values[0], values[1], values[2]}; }

// Nanometres along z, y and x.
Result<DimensionUnits> UnitsOfScale(const Schema& schema) {
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

// The blocks of compressed_segmentation: of about 512 voxels of one channel.
Result<SignedShape> ChooseBlocks(const Plan& plan) {
  constexpr std::int64_t kBlockElements = 512;
  const ChunkShapeConstraints one_channel = {.shape = HardShape({0, 0, 0, 1}),
                                             .elements = {kBlockElements, Strength::kSoft}};
  ChunkLayout layout = plan.layout;
  UNSHARD_RETURN_IF_ERROR(layout.Merge({.codec_chunk = one_channel}));
  return ChooseChunkShape(layout.codec_chunk, {plan.chunks.read.begin(), plan.chunks.read.end()});
}

// Nothing where every chunk is a file of its own. `is_image`: chunks are compressed by themselves.
Result<std::optional<ShardingSpec>> ChooseShards(const Schema& schema, const Plan& plan,
                                                 bool is_image) {
  const Extents3 volume = FirstThree(plan.domain.shape());
  const Extents3 chunk = FirstThree(plan.chunks.read);
  UNSHARD_ASSIGN_OR_RETURN(ShardingSpec sharding,
                           ChooseSharding(schema.chunk_layout.write_chunk, volume, chunk));
  const std::optional<ShardEncoding> wanted = plan.codec.shard_encoding;
  if (sharding.preshift_bits + sharding.minishard_bits == 0 && !wanted) return std::nullopt;
  sharding.data_encoding = wanted.value_or(is_image ? ShardEncoding::kRaw : ShardEncoding::kGzip);
  constexpr unsigned kMaxIdBits = 64;
  if (ChunkIdBits(volume, chunk) > kMaxIdBits) {
    return CannotCreate(
        "chunk_layout: the ids of so many chunks need more than 64 bits: choose larger read "
        "chunks");
  }
  return sharding;
}

// A write chunk is a shard, clipped to the volume; no constraint where shards are no boxes.
Constraints<std::int64_t> WriteChunkOf(const ShardingSpec& sharding, const Plan& plan) {
  const SignedShape& chunk = plan.chunks.read;
  SignedShape extents = plan.domain.shape();
  const auto shard = ShardShapeInChunks(sharding, FirstThree(extents), FirstThree(chunk));
  if (!shard) return {};
  for (std::size_t i = 0; i < kChannel; ++i) {
    extents[i] = std::min((*shard)[i] * chunk[i], extents[i]);
  }
  return HardShape(extents);
}

Status FinishScale(const Schema& schema, const Plan& plan, Array& array) {
  UNSHARD_ASSIGN_OR_RETURN(array.units, UnitsOfScale(schema));
  if (schema.fill_value) return CannotCreate("fill_value: absent chunks of volumes are always 0");
  UNSHARD_ASSIGN_OR_RETURN(
      const CodecSpec encoding,
      CompleteCodec(plan.codec.codecs ? plan.codec.codecs->front()
                                      : CodecIn(plan.dialect, BytesCodec(), JsonValue::Object()),
                    std::nullopt));
  array.codec_json = NamedCodecJson(encoding);
  ChunkLayout chosen = {.write_chunk = {HardShape(plan.chunks.read)},
                        .read_chunk = {HardShape(plan.chunks.read)}};
  if (encoding.definition == &CompressedSegmentationCodec()) {
    UNSHARD_ASSIGN_OR_RETURN(const SignedShape blocks, ChooseBlocks(plan));
    array.codec_json.Set("compressed_segmentation_block_size", ExtentsJson(FirstThree(blocks)));
    chosen.codec_chunk.shape = HardShape(blocks);
  }
  // Encodings do not take voxels of every type, nor any number of channels.
  const auto codec = MakePrecomputedChunkCodec(JsonCursor(array.codec_json, ""), array.data_type,
                                               array.shape.back());
  if (!codec) return CannotCreate("codec.", codec.error().message);
  UNSHARD_ASSIGN_OR_RETURN(const auto sharding,
                           ChooseShards(schema, plan, encoding.definition->describes_itself));
  if (sharding) {
    array.sharding = ShardingJson(*sharding);
    chosen.write_chunk.shape = WriteChunkOf(*sharding, plan);
  }
  return CheckLayout(plan.layout, chosen);
}

}  // namespace

Result<Array> NewArray(Dialect dialect, const Schema& schema) {
  UNSHARD_ASSIGN_OR_RETURN(const Plan plan, MakePlan(dialect, schema));
  Array array;
  array.dialect = dialect;
  array.type_name = plan.type.name;
  array.data_type = plan.type.type;
  const SignedShape shape = plan.domain.shape();
  array.shape = {shape.begin(), shape.end()};
  array.origin = plan.domain.origin();
  array.chunk_shape = {plan.chunks.write.begin(), plan.chunks.write.end()};
  if (plan.domain.labelled()) {
    for (const std::string& label : plan.domain.labels()) {
      array.axis_names.push_back(label.empty() ? std::nullopt : std::optional(label));
    }
  }
  const SignedShape& chunk = plan.chunks.write;
  const ChunkLayout one_shape = {.write_chunk = {HardShape(chunk)},
                                 .read_chunk = {HardShape(chunk)}};
  switch (dialect) {
    case Dialect::kPrecomputed:
      UNSHARD_RETURN_IF_ERROR(FinishScale(schema, plan, array));
      break;
    case Dialect::kZarr3:
      UNSHARD_RETURN_IF_ERROR(FinishZarr3(schema, plan, array));
      break;
    case Dialect::kZarr2:
      UNSHARD_RETURN_IF_ERROR(FinishZarr2(schema, plan, array));
      UNSHARD_RETURN_IF_ERROR(CheckLayout(plan.layout, one_shape));
      break;
    case Dialect::kN5:
      UNSHARD_RETURN_IF_ERROR(FinishN5(schema, plan, array));
      UNSHARD_RETURN_IF_ERROR(CheckLayout(plan.layout, one_shape));
      break;
  }
  if (ListsFastestAxisFirst(dialect)) {
    std::reverse(array.shape.begin(), array.shape.end());
    std::reverse(array.origin.begin(), array.origin.end());
    std::reverse(array.chunk_shape.begin(), array.chunk_shape.end());
    std::reverse(array.axis_names.begin(), array.axis_names.end());
  }
  return array;
}

Result<JsonValue> DocumentOfNew(const Array& array) {
  if (array.dialect == Dialect::kPrecomputed) return WriteInfo({&array, 1});
  UNSHARD_ASSIGN_OR_RETURN(auto documents, DocumentsOf(array));
  JsonValue& document = documents.front().content;
  if (array.dialect == Dialect::kZarr3) {
    document.Set("data_type", JsonValue::String(array.type_name));
    document.Set("chunk_key_encoding", ExtensionJson("default"));
    document.Erase("attributes");
    if (!array.attributes.members().empty()) document.Set("attributes", array.attributes);
  }
  return std::move(document);
}

}  // namespace unshard
