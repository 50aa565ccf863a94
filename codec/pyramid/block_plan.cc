#include "codec/pyramid/block_plan.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "codec/chain/codec_spec.h"
#include "codec/chain/transpose.h"
#include "codec/core/text.h"
#include "codec/json/number.h"
#include "codec/types/data_type.h"

namespace unshard {
namespace {

using Step = ChunkEncoding::Step;

constexpr std::array<std::string_view, 4> kZarr3Codecs = {"gzip", "zstd", "blosc", "crc32c"};
constexpr std::array<std::string_view, 5> kCompressors = {"gzip", "zstd", "blosc", "numcodecs.zlib",
                                                          "numcodecs.bz2"};

// Whether metadata of the format can name these codecs, and its readers know them.
bool CanExpress(ArrayDialect dialect, const std::vector<Step>& steps) {
  switch (dialect) {
    case ArrayDialect::kPrecomputed:
      return steps.empty();
    case ArrayDialect::kZarr3:
      return std::all_of(steps.begin(), steps.end(),
                         [](const Step& step) { return IsOneOf(kZarr3Codecs, step.name); });
    case ArrayDialect::kZarr2:
    case ArrayDialect::kN5:
      return steps.empty() || (steps.size() == 1 && IsOneOf(kCompressors, steps[0].name));
  }
  return false;
}

bool IsReversal(const std::vector<std::size_t>& order) {
  return order == ReversedOrder(order.size());
}

// Whether metadata of the format can express the order of the items.
bool CanExpressOrder(ArrayDialect to, const std::vector<std::size_t>& order, const AxisMap& axes) {
  if (!KeepsOrder(axes)) return false;
  if (IsIdentity(order)) return true;
  const bool same_axes = axes.size() == order.size() &&
                         std::all_of(axes.begin(), axes.end(), [](auto axis) { return !!axis; });
  if (!same_axes) return false;
  if (to == ArrayDialect::kZarr3) return true;
  return to == ArrayDialect::kZarr2 && IsReversal(order);
}

// Whether chunks at the upper edges have the same shape: those of Zarr are never clipped, those of
// precomputed volumes always, and N5 blocks may be either, because their header has the shape.
bool HasSameEdges(const ArrayMetadata& stored, ArrayDialect to) {
  if (IsEven(stored)) return true;
  if (IsZarr(to)) return IsZarr(stored.dialect);
  return to == ArrayDialect::kN5 || !IsZarr(stored.dialect);
}

// A chunk of a precomputed volume has all channels.
bool HasSameChannels(const ArrayMetadata& stored, ArrayDialect to, const AxisMap& axes) {
  if (to != ArrayDialect::kPrecomputed || !axes[0]) return true;
  return stored.chunk_shape[*axes[0]] >= stored.shape[*axes[0]];
}

constexpr std::array<const char*, 3> kShuffles = {"noshuffle", "shuffle", "bitshuffle"};

// The number of a shuffle in Zarr v2 and N5, in kShuffles. numcodecs' automatic choice (-1) is by
// bits for items of one byte.
std::size_t ShuffleOf(const JsonValue& configuration, const DataType& type) {
  const JsonValue* shuffle = configuration.Find("shuffle");
  if (shuffle == nullptr) return 1;
  const std::string name = TextOf(configuration, "shuffle");
  for (std::size_t i = 0; i < kShuffles.size(); ++i) {
    if (name == kShuffles[i]) return i;
  }
  const double number = FiniteNumberOf(*shuffle).value_or(0);
  if (number < 0) return type.size == 1 ? 2 : 1;
  return static_cast<std::size_t>(std::min(number, 2.0));
}

// The configuration of blosc where the shuffle is a number, as in Zarr v2 and N5.
JsonValue BloscMembers(const JsonValue& configuration, const DataType& type) {
  JsonValue members = JsonValue::Object();
  for (const char* name : {"cname", "clevel"}) {
    if (const JsonValue* value = configuration.Find(name)) members.Set(name, *value);
  }
  members.Set("shuffle", JsonValue::Number(std::uint64_t{ShuffleOf(configuration, type)}));
  const JsonValue* blocksize = configuration.Find("blocksize");
  members.Set("blocksize", blocksize ? *blocksize : JsonValue::Number(std::uint64_t{0}));
  return members;
}

// The same in Zarr v3, which has names for the shuffle, and needs the size of the items.
JsonValue BloscInZarr3(const JsonValue& configuration, const DataType& type) {
  if (!TextOf(configuration, "shuffle").empty()) return configuration;
  JsonValue members = BloscMembers(configuration, type);
  members.Set("shuffle", JsonValue::String(kShuffles[ShuffleOf(configuration, type)]));
  const JsonValue* typesize = configuration.Find("typesize");
  members.Set("typesize", typesize ? *typesize : JsonValue::Number(std::uint64_t{type.size}));
  return members;
}

JsonValue Zarr3Codecs(const DataType& type, const ChunkEncoding& encoding) {
  JsonValue codecs = JsonValue::Array();
  auto& list = codecs.mutable_items();
  if (!IsIdentity(encoding.order)) {
    JsonValue order = JsonValue::Array();
    for (const std::size_t axis : encoding.order) {
      order.mutable_items().push_back(JsonValue::Number(std::uint64_t{axis}));
    }
    list.push_back(ExtensionJson("transpose", JsonValue::Object({{"order", std::move(order)}})));
  }
  if (type.ordered_size() == 1 && type.size == 1) {
    list.push_back(ExtensionJson("bytes"));
  } else {
    list.push_back(ExtensionJson(
        "bytes", JsonValue::Object(
                     {{"endian", JsonValue::String(encoding.big_endian ? "big" : "little")}})));
  }
  for (const Step& step : encoding.steps) {
    const bool blosc = step.name == "blosc";
    list.push_back(ExtensionJson(
        step.name, blosc ? BloscInZarr3(step.configuration, type) : step.configuration));
  }
  return codecs;
}

// The compressor as a document of Zarr v2 or N5 lists it: `key` has its name.
JsonValue CompressorJson(ArrayDialect dialect, const char* key, const DataType& type,
                         const Step& step) {
  const CodecDefinition& definition = *DefinitionOf(step);
  const CodecDefinition::Name& name = *definition.NameIn(dialect);
  JsonValue json = JsonValue::Object({{key, JsonValue::String(std::string(name.name))}});
  if (step.name == "blosc") {
    const JsonValue members = BloscMembers(step.configuration, type);
    for (const auto& [member, value] : members.members()) json.Set(member, value);
    return json;
  }
  for (const CodecOption& option : definition.options) {
    if (option.max == 0) continue;
    const CodecOption::Spelling spelling = option.In(dialect);
    const JsonValue* const value = step.configuration.Find(option.name);
    json.Set(spelling.name, value != nullptr && value->is_number()
                                ? *value
                                : JsonValue::Number(std::to_string(spelling.absent)));
  }
  // An option says which codec of this name is meant.
  for (const CodecDefinition* const other : CodecDefinitions()) {
    for (const CodecDefinition::Name& each : other->names) {
      if (each.dialect != dialect || each.name != name.name || each.when.empty()) continue;
      json.Set(each.when, JsonValue::Boolean(other == &definition));
    }
  }
  return json;
}

// --- The compression of copies

bool IsCompressor(const Step& step) {
  const CodecDefinition* const definition = DefinitionOf(step);
  return definition != nullptr && definition->describes_itself;
}

// A level that every format takes; -1 is the usual one of N5.
JsonValue LevelOf(const JsonValue& configuration, std::uint64_t usual) {
  const JsonValue* level = configuration.is_object() ? configuration.Find("level") : nullptr;
  const auto number = level != nullptr ? FiniteNumberOf(*level) : std::nullopt;
  return number && *number >= 0 ? *level : JsonValue::Number(usual);
}

Step GzipOf(const JsonValue& configuration) {
  return {"gzip", JsonValue::Object({{"level", LevelOf(configuration, 6)}})};
}

Step ZstdOf(const JsonValue& configuration) {
  return {"zstd", JsonValue::Object({{"level", LevelOf(configuration, 3)},
                                     {"checksum", JsonValue::Boolean(false)}})};
}

// The same compressor in another format; nothing where that has none of its kind.
std::optional<Step> KeptIn(ArrayDialect to, const Step& step) {
  constexpr std::string_view kPrefix = "numcodecs.";
  const std::string_view name = step.name.starts_with(kPrefix)
                                    ? std::string_view(step.name).substr(kPrefix.size())
                                    : step.name;
  if (name == "gzip") return GzipOf(step.configuration);
  if (name == "zstd") return ZstdOf(step.configuration);
  if (name == "blosc" && step.configuration.is_object()) return Step{"blosc", step.configuration};
  // Zarr v3 has the same compressor with another header.
  if (name == "zlib" && to == ArrayDialect::kZarr3) return GzipOf(step.configuration);
  if (name != "zlib" && name != "bz2") return std::nullopt;
  if (to == ArrayDialect::kZarr3) return std::nullopt;
  return Step{step.name, JsonValue::Object({{"level", LevelOf(step.configuration, 1)}})};
}

ChunkEncoding TranscodedEncoding(ArrayDialect to, const DataType& type,
                                 const std::vector<Step>& steps) {
  ChunkEncoding encoding;
  encoding.n5_header = to == ArrayDialect::kN5;
  encoding.big_endian = encoding.n5_header && type.ordered_size() > 1;
  encoding.steps = steps;
  for (Step& step : encoding.steps) {
    if (step.name != "blosc") continue;
    step.configuration.Set("typesize", JsonValue::Number(std::uint64_t{type.size}));
  }
  return encoding;
}

}  // namespace

std::vector<Step> CompressionOfCopy(const ArrayMetadata& stored, ArrayDialect to) {
  if (to == ArrayDialect::kPrecomputed) return {};
  const ChunkEncoding& from = stored.codec->encoding();
  const bool shard_compresses = TextOf(stored.sharding, "data_encoding") == "gzip";
  if (from.items.starts_with("raw") && !shard_compresses &&
      std::none_of(from.steps.begin(), from.steps.end(), IsCompressor)) {
    return {};
  }
  for (const Step& step : from.steps) {
    if (auto kept = KeptIn(to, step)) return {*std::move(kept)};
  }
  if (to == ArrayDialect::kN5 || (from.steps.empty() && from.items == "raw")) {
    return {GzipOf(JsonValue())};
  }
  return {ZstdOf(JsonValue())};
}

bool IsEven(const ArrayMetadata& array) {
  for (std::size_t axis = 0; axis < array.rank(); ++axis) {
    if (array.shape[axis] % array.chunk_shape[axis] != 0) return false;
  }
  return true;
}

BlockPlan PlanBlocks(const ArrayMetadata& stored, ArrayDialect to, const AxisMap& axes,
                     const std::vector<Step>& steps) {
  const DataType& type = stored.data_type;
  BlockPlan plan{BlockForm::kTranscode, TranscodedEncoding(to, type, steps)};
  const ChunkEncoding& from = stored.codec->encoding();
  const bool little = !from.big_endian || type.ordered_size() == 1;
  const bool big = from.big_endian || type.ordered_size() == 1;
  bool same_bytes = from.items == "raw" && CanExpress(to, from.steps) &&
                    CanExpressOrder(to, from.order, axes) && HasSameEdges(stored, to) &&
                    HasSameChannels(stored, to, axes);
  if (to == ArrayDialect::kN5) same_bytes = same_bytes && big;
  const bool is_little = to == ArrayDialect::kZarr2 && type.kind == DataType::Kind::kBrainFloat;
  if (to == ArrayDialect::kPrecomputed || is_little) same_bytes = same_bytes && little;
  if (!same_bytes) return plan;
  plan.encoding = from;
  plan.encoding.n5_header = to == ArrayDialect::kN5;
  plan.form = BlockForm::kCopy;
  if (plan.encoding.n5_header != from.n5_header) {
    plan.form = from.n5_header ? BlockForm::kStripHeader : BlockForm::kAddHeader;
  }
  return plan;
}

BlockPlan PlanRawBlocks(const ArrayMetadata& stored) {
  const ChunkEncoding& from = stored.codec->encoding();
  BlockPlan plan{BlockForm::kCopy, from};
  if (from.items == "raw" && from.steps.empty()) return plan;
  plan.form = BlockForm::kTranscode;
  plan.encoding.steps.clear();
  if (from.items == "raw") return plan;
  plan.encoding = TranscodedEncoding(stored.dialect, stored.data_type, {});
  return plan;
}

Result<JsonValue> CodecJsonOf(ArrayDialect dialect, const DataType& type,
                              const ChunkEncoding& encoding, std::size_t rank) {
  if (encoding.items != "raw" || !CanExpress(dialect, encoding.steps)) {
    const std::string name = encoding.steps.empty() ? encoding.items : encoding.steps.front().name;
    return Fail(ErrorCode::kNotSupported, "encoding chunks of ", DialectName(dialect),
                " with the codec ", name, " is not supported");
  }
  JsonValue json = JsonValue::Object();
  switch (dialect) {
    case ArrayDialect::kPrecomputed:
      json.Set("encoding", JsonValue::String("raw"));
      return json;
    case ArrayDialect::kZarr3:
      return Zarr3Codecs(type, encoding);
    case ArrayDialect::kZarr2:
      json.Set("compressor", encoding.steps.empty()
                                 ? JsonValue()
                                 : CompressorJson(dialect, "id", type, encoding.steps.front()));
      json.Set("filters", JsonValue());
      json.Set("order",
               JsonValue::String(
                   rank > 1 && !encoding.order.empty() && IsReversal(encoding.order) ? "F" : "C"));
      json.Set("dtype", JsonValue::String(NumpyTypeName({type, encoding.big_endian})));
      return json;
    case ArrayDialect::kN5:
      break;
  }
  if (encoding.steps.empty()) return JsonValue::Object({{"type", JsonValue::String("raw")}});
  return CompressorJson(dialect, "type", type, encoding.steps.front());
}

}  // namespace unshard
