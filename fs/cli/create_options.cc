#include "fs/cli/create_options.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "codec/array/document_names.h"
#include "codec/core/text.h"
#include "codec/json/json.h"
#include "codec/json/number.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/schema/codec_constraints.h"
#include "fs/common/readable.h"

namespace unshard {
namespace {

constexpr std::size_t kVolumeRank = 4;  // x, y, z and channel

// --- The schema of plain options

Result<std::int64_t> WholeNumber(const std::string& option, const std::string& text) {
  if (const auto value = ParseNumber<std::int64_t>(text)) return *value;
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  const bool is_number =
      text.size() > first && text.find_first_not_of("0123456789", first) == std::string::npos;
  std::string expected =
      is_number ? "expected numbers below 2^63" : "expected whole numbers separated by commas";
  if (option == "--shard") expected += ", a size such as 1GB, or auto";
  return WrongOption(option, expected + ", found \"" + text + "\"");
}

// A list of numbers. Of a volume the last one, of the channel, may be left out: it is `of_channel`.
Result<JsonValue> Numbers(const std::string& option, const std::vector<std::string>& texts,
                          Dialect format, const JsonValue& of_channel) {
  std::vector<JsonValue> numbers;
  for (const std::string& text : texts) {
    UNSHARD_ASSIGN_OR_RETURN(const std::int64_t number, WholeNumber(option, text));
    numbers.push_back(JsonValue::Number(std::to_string(number)));
  }
  if (format == Dialect::kPrecomputed && numbers.size() + 1 == kVolumeRank) {
    numbers.push_back(of_channel);
  }
  return JsonValue::Array(std::move(numbers));
}

JsonValue Member(const char* name, JsonValue value) {
  JsonValue object = JsonValue::Object();
  object.Set(name, std::move(value));
  return object;
}

// Numbers alone are nanometres; other texts have a unit of their own ("0.5 s"). A volume has its
// lengths in nanometres.
Result<JsonValue> UnitsOf(const std::vector<std::string>& texts, Dialect format) {
  std::vector<JsonValue> units;
  for (const std::string& text : texts) {
    const bool alone =
        !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string::npos;
    const std::string number = text.substr(0, text.find_first_not_of("0123456789.eE+-"));
    const auto value = ParseNumber<double>(number);
    if (value && !(*value > 0)) {
      return WrongOption("--resolution", "expected numbers above 0, found \"" + text + "\"");
    }
    std::string unit = alone ? text + " nm" : text;
    const auto nanometres = Nanometres(ParseDimensionUnit(unit));
    if (format == Dialect::kPrecomputed && nanometres) {
      unit = DimensionUnitText({*nanometres, "nm"});
    }
    units.push_back(JsonValue::String(std::move(unit)));
  }
  if (format == Dialect::kPrecomputed && units.size() + 1 == kVolumeRank) {
    units.emplace_back();
  }
  return JsonValue::Array(std::move(units));
}

const char* ShownName(Dialect format) {
  switch (format) {
    case Dialect::kPrecomputed:
      return "a precomputed volume";
    case Dialect::kZarr3:
      return "Zarr v3";
    case Dialect::kZarr2:
      return "Zarr v2";
    case Dialect::kN5:
      break;
  }
  return "N5";
}

std::string Alternatives(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

// NAME, NAME:LEVEL, or the codec of a schema as JSON.
Result<JsonValue> CodecOf(Dialect format, const std::string& given) {
  if (given.find_first_of("{[") != std::string::npos) {
    auto codec = ParseJson(given);
    if (!codec) return WrongOption("--codec", codec.error().message);
    return codec;
  }
  const std::string name = given.substr(0, given.find(':'));
  std::vector<std::string_view> names, with_level;
  std::optional<ShortCodec> found;
  for (const ShortCodec& codec : ShortCodecs(format)) {
    names.push_back(codec.name);
    if (!codec.level.empty()) with_level.push_back(codec.name);
    if (codec.name == name) found = codec;
  }
  if (!found) {
    return WrongOption("--codec " + given, std::string(ShownName(format)) +
                                               " has no codec of this name here; use " +
                                               Alternatives(names));
  }
  if (name.size() == given.size()) return CodecConstraintsJson(found->constraints);
  const auto level = ParseNumber<std::int64_t>(given.substr(name.size() + 1));
  if (!level || found->level.empty()) {
    return WrongOption("--codec " + given,
                       with_level.empty()
                           ? std::string(ShownName(format)) + " has no codec with a level"
                           : "expected a level as a whole number, as in " +
                                 std::string(with_level.front()) + ":5; codecs with a level are " +
                                 Alternatives(with_level));
  }
  OptionsOf(found->constraints.codecs->front()).Set(found->level, IntegerNumber(*level));
  return CodecConstraintsJson(found->constraints);
}

// The bytes of a shard, where --shard says these: "auto", "1GB", "512MiB".
std::optional<double> ShardBytes(const CreateCommand& command) {
  if (command.shard.size() != 1) return std::nullopt;
  const std::string& given = command.shard.front();
  constexpr double kUsual = 1e9;
  if (given == "auto") return kUsual;
  const std::size_t end = given.find_first_not_of("0123456789.");
  if (end == std::string::npos) return std::nullopt;
  const auto number = ParseNumber<double>(given.substr(0, end));
  std::string unit = given.substr(end);
  std::transform(unit.begin(), unit.end(), unit.begin(), [](char c) { return std::toupper(c); });
  if (unit.ends_with('B')) unit.pop_back();
  const bool binary = unit.ends_with('I');
  if (binary) unit.pop_back();
  const std::size_t power = std::string_view("KMGT").find(unit);
  if (!number || unit.size() != 1 || power == std::string::npos) return std::nullopt;
  return *number * std::pow(binary ? 1024 : 1000, static_cast<double>(power) + 1);
}

// Shards of about these bytes of voxels, of whole chunks.
Result<JsonValue> ShardElements(const CreateCommand& command, double bytes) {
  const DataTypeNames* type = FindDataTypeNames(DataTypeDialect::kSchema, command.dtype);
  const std::uint64_t item = type != nullptr ? type->type.size : command.item_size;
  if (item == 0) {
    return WrongOption("--shard " + command.shard.front(),
                       "needs --dtype, which says how large a voxel is");
  }
  const double elements = std::clamp(bytes / static_cast<double>(item), 1.0, 0x1p60);
  return Member("elements_soft_constraint", IntegerNumber(static_cast<std::int64_t>(elements)));
}

// Where there are shards, their shape and that of the chunks in them; else of both the same. Shards
// of volumes have only some shapes: the nearest one is chosen.
Result<JsonValue> ChunkLayoutOf(const CreateCommand& command, Dialect format) {
  JsonValue layout = JsonValue::Object();
  const JsonValue none;
  if (!command.chunk.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(JsonValue shape, Numbers("--chunk", command.chunk, format, none));
    layout.Set(command.shard.empty() ? "chunk" : "read_chunk", Member("shape", std::move(shape)));
  }
  if (const auto bytes = ShardBytes(command)) {
    UNSHARD_ASSIGN_OR_RETURN(JsonValue elements, ShardElements(command, *bytes));
    layout.Set("write_chunk", std::move(elements));
  } else if (!command.shard.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(JsonValue shape, Numbers("--shard", command.shard, format, none));
    const char* const strength =
        format == Dialect::kPrecomputed ? "shape_soft_constraint" : "shape";
    layout.Set("write_chunk", Member(strength, std::move(shape)));
  }
  return layout;
}

Result<JsonValue> DomainOf(const CreateCommand& command, Dialect format) {
  JsonValue domain = JsonValue::Object();
  if (!command.shape.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(JsonValue shape,
                             Numbers("--shape", command.shape, format, JsonValue::Number("1")));
    domain.Set("shape", std::move(shape));
  }
  if (!command.offset.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(JsonValue lower,
                             Numbers("--offset", command.offset, format, JsonValue::Number("0")));
    domain.Set("inclusive_min", std::move(lower));
  }
  if (!command.axes.empty()) {
    std::vector<JsonValue> labels;
    for (const std::string& axis : command.axes) labels.push_back(JsonValue::String(axis));
    domain.Set("labels", JsonValue::Array(std::move(labels)));
  }
  return domain;
}

// What is no JSON is taken for a string: NaN, Infinity.
JsonValue FillOf(const std::string& text) {
  auto value = ParseJson(text);
  return value ? *std::move(value) : JsonValue::String(text);
}

// Options of what the format does not have would be without effect.
Status CheckOptions(const CreateCommand& command, Dialect format) {
  const std::string name(DialectName(format));
  const bool sharded = format == Dialect::kPrecomputed || format == Dialect::kZarr3;
  if (!command.shard.empty() && !sharded) {
    return WrongOption("--shard", name +
                                      " has no shards: leave it out (the extents of chunks are "
                                      "--chunk), or choose the format zarr3 or precomputed");
  }
  if (!command.axes.empty() && format == Dialect::kZarr2 && command.scales < 2) {
    return WrongOption("--axes", name +
                                     " has names of dimensions only in a pyramid: leave it out, "
                                     "add --scales, or choose the format zarr3");
  }
  if (!command.factors.empty() && command.scales < 2) {
    return WrongOption("--factor", "needs --scales of 2 or more");
  }
  return {};
}

std::string CommaList(const std::vector<std::string>& words) { return Joined(words, ","); }

// Every list has one item for each dimension of --shape; of a volume the last one may be left out.
Status CheckLengths(const CreateCommand& command, Dialect format) {
  if (command.shape.empty()) return {};
  const bool is_volume = format == Dialect::kPrecomputed;
  const auto rank = [&](std::size_t size) {
    return is_volume && size + 1 == kVolumeRank ? kVolumeRank : size;
  };
  if (is_volume && rank(command.shape.size()) != kVolumeRank) {
    return WrongOption("--shape " + CommaList(command.shape),
                       "expected x,y,z or x,y,z,channels of a precomputed volume");
  }
  const auto check = [&](const char* option, const std::vector<std::string>& list,
                         const char* noun = "number") -> Status {
    if (list.empty() || rank(list.size()) == rank(command.shape.size())) return {};
    return WrongOption(std::string(option) + " " + CommaList(list),
                       Counted(list.size(), noun) + ", but --shape " + CommaList(command.shape) +
                           " has " + std::to_string(command.shape.size()) + " dimensions");
  };
  UNSHARD_RETURN_IF_ERROR(check("--offset", command.offset));
  UNSHARD_RETURN_IF_ERROR(check("--chunk", command.chunk));
  UNSHARD_RETURN_IF_ERROR(check("--axes", command.axes, "name"));
  if (ShardBytes(command)) return {};
  // Before their count: "1XB" is no size, rather than one number.
  for (const std::string& text : command.shard) {
    UNSHARD_RETURN_IF_ERROR(WholeNumber("--shard", text));
  }
  return check("--shard", command.shard);
}

Result<Schema> SchemaOfOptions(const CreateCommand& command, Dialect format) {
  UNSHARD_RETURN_IF_ERROR(CheckOptions(command, format));
  UNSHARD_RETURN_IF_ERROR(CheckLengths(command, format));
  JsonValue schema = JsonValue::Object();
  if (!command.dtype.empty()) schema.Set("dtype", JsonValue::String(command.dtype));
  UNSHARD_ASSIGN_OR_RETURN(JsonValue domain, DomainOf(command, format));
  if (!domain.members().empty()) schema.Set("domain", std::move(domain));
  UNSHARD_ASSIGN_OR_RETURN(JsonValue layout, ChunkLayoutOf(command, format));
  if (!layout.members().empty()) schema.Set("chunk_layout", std::move(layout));
  if (!command.codec.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(JsonValue codec, CodecOf(format, command.codec));
    schema.Set("codec", std::move(codec));
  }
  if (!command.fill.empty()) schema.Set("fill_value", FillOf(command.fill));
  if (!command.resolution.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(JsonValue units, UnitsOf(command.resolution, format));
    schema.Set("dimension_units", std::move(units));
  }
  auto parsed = ParseSchema(WriteJson(schema));
  if (!parsed) return InWordsOfOptions(command, std::move(parsed).error());
  return parsed;
}

// The text of a file.
Result<std::string> SchemaText(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::file_size(path, unknown) > JsonLimits().max_bytes) {
    return WrongOption("--schema", path + " is too large for a schema");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return FailErrno(errno, path);
  return text;
}

// Of a file that exists, or of JSON.
Result<Schema> GivenSchema(const std::string& given) {
  std::error_code unknown;
  if (std::filesystem::is_regular_file(given, unknown)) {
    UNSHARD_ASSIGN_OR_RETURN(const std::string text, SchemaText(given));
    auto schema = ParseSchema(text);
    if (!schema) return Forward(std::move(schema).error(), "--schema " + given);
    return schema;
  }
  const std::size_t first = given.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || given[first] != '{') {
    return WrongOption("--schema", "expected a file, or a JSON object, found \"" + given + "\"");
  }
  auto schema = ParseSchema(given);
  if (!schema) return Forward(std::move(schema).error(), "--schema");
  return schema;
}

struct OptionOfMember {
  std::string_view member;  // of a schema
  const char* option;
  std::string value;  // as it was typed; empty: not given
};

std::vector<OptionOfMember> MemberOptions(const CreateCommand& command, bool is_about_shards) {
  std::string steps;
  for (const std::string& step : command.factors) steps += (steps.empty() ? "" : " ") + step;
  const bool shard = !command.shard.empty() && (is_about_shards || command.chunk.empty());
  return {{"chunk_layout", shard ? "--shard" : "--chunk",
           CommaList(shard ? command.shard : command.chunk)},
          {"codec", "--codec", command.codec},
          {"domain.labels", "--axes", CommaList(command.axes)},
          {"domain", "--shape", CommaList(command.shape)},
          {"dtype", "--dtype", command.dtype},
          {"fill_value", "--fill", command.fill},
          {"dimension_units", "--resolution", CommaList(command.resolution)},
          {"scales", "--scales", std::to_string(command.scales)},
          {"factors", "--factor", steps}};
}

}  // namespace

tl::unexpected<Error> WrongOption(const std::string& option, const std::string& why) {
  return Fail(ErrorCode::kInvalidArgument, option, ": ", why);
}

std::vector<std::string_view> FormatNames() {
  std::vector<std::string_view> names;
  for (const Dialect format : kDialects) names.push_back(DialectName(format));
  return names;
}

std::vector<std::string_view> CodecNames() {
  std::vector<std::string_view> names;
  for (const Dialect format : kDialects) {
    for (const ShortCodec& codec : ShortCodecs(format)) {
      if (!IsOneOf(names, codec.name)) names.push_back(codec.name);
    }
  }
  return names;
}

Result<Dialect> FormatOf(const std::string& name) {
  for (const Dialect format : kDialects) {
    if (name == DialectName(format)) return format;
  }
  return WrongOption("--format", "expected " + Alternatives(FormatNames()));
}

std::string FormatNameOf(const CreateCommand& command) {
  const OmeVersion* version = FindOmeVersion(command.ome);
  if (!command.format.empty() || version == nullptr) return command.format;
  return std::string(DialectName(version->dialect));
}

Result<const OmeVersion*> OmeVersionOf(const CreateCommand& command, Dialect format) {
  if (command.ome.empty()) return nullptr;
  const OmeVersion* version = FindOmeVersion(command.ome);
  const std::string option = "--ome " + command.ome;
  if (version == nullptr) {
    return WrongOption(option, "expected a version of OME-Zarr: " + OmeVersionNames());
  }
  if (version->dialect == format) return version;
  return WrongOption(option, "is a version of " + std::string(ShownName(version->dialect)) +
                                 ": expected --format " +
                                 std::string(DialectName(version->dialect)));
}

Result<Schema> SchemaOf(const CreateCommand& command, Dialect format) {
  UNSHARD_ASSIGN_OR_RETURN(const Schema options, SchemaOfOptions(command, format));
  if (command.schema.empty()) return options;
  UNSHARD_ASSIGN_OR_RETURN(Schema schema, GivenSchema(command.schema));
  const Status merged = schema.Merge(options);
  if (!merged) {
    return Fail(ErrorCode::kInvalidArgument,
                "--schema and another option contradict each other: ", merged.error().message);
  }
  return schema;
}

Result<NewScales> ScalesOf(const CreateCommand& command, Dialect format) {
  NewScales scales;
  scales.count = command.scales;
  for (const std::string& step : command.factors) {
    std::vector<std::int64_t> factors;
    for (std::size_t at = 0; at <= step.size();) {
      const std::size_t end = std::min(step.find(',', at), step.size());
      UNSHARD_ASSIGN_OR_RETURN(const auto factor,
                               WholeNumber("--factor", step.substr(at, end - at)));
      factors.push_back(factor);
      at = end + 1;
    }
    const std::size_t rank = command.shape.size();
    const bool is_volume = format == Dialect::kPrecomputed;
    const bool fits = is_volume ? factors.size() == kVolumeRank || factors.size() + 1 == kVolumeRank
                                : rank == 0 || factors.size() == rank;
    if (!fits) {
      return WrongOption("--factor " + step, is_volume ? "expected x,y,z or x,y,z,channels"
                                                       : "expected one number for each of the " +
                                                             std::to_string(rank) +
                                                             " dimensions of --shape");
    }
    scales.factors.push_back(std::move(factors));
  }
  return scales;
}

tl::unexpected<Error> InWordsOfOptions(const CreateCommand& command, Error error) {
  if (error.code != ErrorCode::kInvalidArgument || error.message.starts_with("--")) {
    return tl::unexpected<Error>(std::move(error));
  }
  if (!command.schema.empty()) return Forward(std::move(error), "--schema");
  // "level 2: chunk_layout: …"
  std::string level, rest = error.message;
  if (const std::size_t end = rest.find(": "); rest.starts_with("level ") && end != rest.npos) {
    level = rest.substr(0, end + 2);
    rest = rest.substr(end + 2);
  }
  const bool is_about_shards = rest.find("write chunk") != rest.npos ||
                               rest.find("write_chunk") != rest.npos ||
                               rest.find("shard") != rest.npos;
  for (const auto& [member, option, value] : MemberOptions(command, is_about_shards)) {
    if (!rest.starts_with(member)) continue;
    if (const std::size_t end = rest.find(": "); end != rest.npos) rest = rest.substr(end + 2);
    const auto replace = [&rest](std::string_view word, const char* by) {
      for (std::size_t at; (at = rest.find(word)) != rest.npos;) rest.replace(at, word.size(), by);
    };
    replace("write chunks", "shards");
    replace("read chunks", "chunks");
    error.message = option + (value.empty() ? "" : " " + value) + ": " + level + rest;
    break;
  }
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace unshard
