#include "codec/schema/codec_constraints.h"

#include <array>
#include <utility>
#include <vector>

#include "codec/json/meaning.h"
#include "codec/schema/codec_options.h"
#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

using Driver = CodecConstraints::Driver;
using OptionType = ConstraintOption::Type;

constexpr std::array<std::string_view, 4> kEncodings = {"raw", "png", "jpeg",
                                                        "compressed_segmentation"};
constexpr std::array<std::string_view, 2> kShardEncodings = {"raw", "gzip"};

const std::vector<KnownCompressor>& Zarr2Compressors() {
  static const std::vector<KnownCompressor> kCompressors = {
      {"blosc",
       {{"cname", OptionType::kWord, 0, 0, BloscCompressors(), "\"lz4\""},
        {"clevel", OptionType::kInteger, 0, 9, {}, "5"},
        {"shuffle", OptionType::kInteger, -1, 2, {}, "-1"},
        {"blocksize", OptionType::kInteger, 0, kMaxBloscBlockSize, {}, "0"}}},
      {"zlib", {{"level", OptionType::kInteger, 0, 9, {}, "1"}}},
      {"gzip", {{"level", OptionType::kInteger, 0, 9, {}, "1"}}},
      {"bz2", {{"level", OptionType::kInteger, 1, 9, {}, "1"}}},
      {"zstd", {{"level", OptionType::kInteger, kMinZstdLevel, kMaxZstdLevel, {}, "1"}}}};
  return kCompressors;
}

const std::vector<KnownCompressor>& N5Compressors() {
  static const std::vector<KnownCompressor> kCompressors = {
      {"raw", {}},
      {"blosc",
       {{"cname", OptionType::kWord, 0, 0, BloscCompressors(), {}},
        {"clevel", OptionType::kInteger, 0, 9, {}, {}},
        {"shuffle", OptionType::kInteger, 0, 2, {}, {}},
        {"blocksize", OptionType::kInteger, 0, kMaxBloscBlockSize, {}, "0"}}},
      {"gzip",
       {{"level", OptionType::kInteger, -1, 9, {}, "-1"},
        {"useZlib", OptionType::kBoolean, 0, 0, {}, "false"}}},
      {"bzip2", {{"blockSize", OptionType::kInteger, 1, 9, {}, "9"}}},
      {"xz", {{"preset", OptionType::kInteger, 0, 9, {}, "6"}}},
      {"zstd", {{"level", OptionType::kInteger, kMinZstdLevel, kMaxZstdLevel, {}, "0"}}}};
  return kCompressors;
}

// The name that TensorStore prints.
std::string_view DriverName(Driver driver) {
  switch (driver) {
    case Driver::kPrecomputed:
      return "neuroglancer_precomputed";
    case Driver::kZarr3:
      return "zarr3";
    case Driver::kZarr2:
      return "zarr";
    case Driver::kN5:
      return "n5";
  }
  return "";
}

Result<Driver> ParseDriver(const JsonCursor& json) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, json.Member("driver"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, member.String());
  for (const Driver driver : {Driver::kPrecomputed, Driver::kZarr3, Driver::kZarr2, Driver::kN5}) {
    if (name == DriverName(driver)) return driver;
  }
  if (name == "zarr2") return Driver::kZarr2;
  return member.Expected("zarr3, zarr, n5 or neuroglancer_precomputed");
}

// The member `name` as `option` reads it, into spec.members.
Status TakeOption(const JsonCursor& json, const ConstraintOption& option, CodecConstraints& spec) {
  UNSHARD_ASSIGN_OR_RETURN(auto value, ParseOption(json, option));
  if (value) spec.members.Set(option.name, *std::move(value));
  return {};
}

Status ParsePrecomputed(const JsonCursor& json, CodecConstraints& spec) {
  UNSHARD_RETURN_IF_ERROR(ExpectOnlyMembers(
      json, {"driver", "encoding", "jpeg_quality", "png_level", "shard_data_encoding"}));
  UNSHARD_RETURN_IF_ERROR(
      TakeOption(json, {"encoding", OptionType::kWord, 0, 0, kEncodings, {}}, spec));
  UNSHARD_RETURN_IF_ERROR(
      TakeOption(json, {"jpeg_quality", OptionType::kInteger, 0, 100, {}, {}}, spec));
  UNSHARD_RETURN_IF_ERROR(
      TakeOption(json, {"png_level", OptionType::kInteger, 0, 9, {}, {}}, spec));
  UNSHARD_RETURN_IF_ERROR(TakeOption(
      json, {"shard_data_encoding", OptionType::kWord, 0, 0, kShardEncodings, {}}, spec));
  const std::string encoding = TextOf(spec.members, "encoding");
  if (spec.members.Find("jpeg_quality") != nullptr && encoding != "jpeg") {
    return Fail(ErrorCode::kDataLoss, json.path(), ".jpeg_quality: needs the encoding jpeg");
  }
  if (spec.members.Find("png_level") != nullptr && encoding != "png") {
    return Fail(ErrorCode::kDataLoss, json.path(), ".png_level: needs the encoding png");
  }
  return {};
}

Status ParseZarr2(const JsonCursor& json, CodecConstraints& spec) {
  UNSHARD_RETURN_IF_ERROR(ExpectOnlyMembers(json, {"driver", "compressor", "filters"}));
  const JsonValue* const filters = json.value().Find("filters");
  if (filters != nullptr && !filters->is_null() &&
      !(filters->is_array() && filters->items().empty())) {
    return JsonCursor(*filters, json.path() + ".filters")
        .Expected("null, because arrays with filters cannot be created");
  }
  const JsonValue* const compressor = json.value().Find("compressor");
  if (compressor == nullptr) return {};
  JsonValue parsed;
  if (!compressor->is_null()) {
    const JsonCursor member(*compressor, json.path() + ".compressor");
    UNSHARD_ASSIGN_OR_RETURN(parsed, ParseCompressor(member, "id", Zarr2Compressors()));
  }
  spec.members.Set("compressor", std::move(parsed));
  return {};
}

Status ParseN5(const JsonCursor& json, CodecConstraints& spec) {
  UNSHARD_RETURN_IF_ERROR(ExpectOnlyMembers(json, {"driver", "compression"}));
  if (json.value().Find("compression") == nullptr) return {};
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, json.Member("compression"));
  UNSHARD_ASSIGN_OR_RETURN(JsonValue parsed, ParseCompressor(member, "type", N5Compressors()));
  spec.members.Set("compression", std::move(parsed));
  return {};
}

Status ParseZarr3(const JsonCursor& json, CodecConstraints& spec) {
  UNSHARD_RETURN_IF_ERROR(ExpectOnlyMembers(json, {"driver", "codecs"}));
  if (json.value().Find("codecs") == nullptr) return {};
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, json.Member("codecs"));
  UNSHARD_ASSIGN_OR_RETURN(spec.chain, ParseZarr3Codecs(member));
  return {};
}

}  // namespace

Result<CodecConstraints> ParseCodecConstraints(const JsonCursor& json) {
  CodecConstraints spec;
  UNSHARD_ASSIGN_OR_RETURN(spec.driver, ParseDriver(json));
  switch (spec.driver) {
    case Driver::kPrecomputed:
      UNSHARD_RETURN_IF_ERROR(ParsePrecomputed(json, spec));
      break;
    case Driver::kZarr3:
      UNSHARD_RETURN_IF_ERROR(ParseZarr3(json, spec));
      break;
    case Driver::kZarr2:
      UNSHARD_RETURN_IF_ERROR(ParseZarr2(json, spec));
      break;
    case Driver::kN5:
      UNSHARD_RETURN_IF_ERROR(ParseN5(json, spec));
      break;
  }
  return spec;
}

Status MergeCodecConstraints(CodecConstraints& into, const CodecConstraints& other) {
  if (into.driver != other.driver) {
    return Fail(ErrorCode::kInvalidArgument, "codec: conflicting drivers ", DriverName(into.driver),
                " and ", DriverName(other.driver));
  }
  for (const auto& [key, value] : other.members.members()) {
    const JsonValue* const mine = into.members.Find(key);
    if (mine == nullptr) {
      into.members.Set(key, value);
    } else if (!SameMeaning(*mine, value)) {
      return Fail(ErrorCode::kInvalidArgument, "codec.", key, ": conflicting values");
    }
  }
  if (!other.chain) return {};
  if (into.chain) return MergeZarr3Codecs(*into.chain, *other.chain);
  into.chain = other.chain;
  return {};
}

namespace {

// A compressor with its defaults, and others instead of some.
JsonValue BloscWith(const char* id_key, int shuffle) {
  JsonValue blosc = JsonValue::Object();
  blosc.Set(id_key, JsonValue::String("blosc"));
  blosc.Set("cname", JsonValue::String("lz4"));
  blosc.Set("clevel", IntegerNumber(5));
  blosc.Set("shuffle", IntegerNumber(shuffle));
  blosc.Set("blocksize", IntegerNumber(0));
  return blosc;
}

}  // namespace

JsonValue DefaultZarr2Compressor() { return BloscWith("id", -1); }

JsonValue DefaultN5Compression(std::uint64_t item_size) {
  return BloscWith("type", item_size == 1 ? 2 : 1);
}

}  // namespace unshard
