#include "fs/cli/create_command.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "codec/core/text.h"
#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/schema/copied_documents.h"
#include "codec/schema/new_dataset.h"
#include "fs/cli/mount_command.h"
#include "store/dataset/dataset_creation.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/source/source.h"

namespace unshard {
namespace {

constexpr std::size_t kVolumeRank = 4;  // x, y, z and channel

tl::unexpected<Error> Wrong(const std::string& option, const std::string& why) {
  return Fail(ErrorCode::kInvalidArgument, option + ": " + why);
}

Result<ArrayDialect> FormatOf(const std::string& name) {
  for (const ArrayDialect format : {ArrayDialect::kPrecomputed, ArrayDialect::kZarr3,
                                    ArrayDialect::kZarr2, ArrayDialect::kN5}) {
    if (name == DialectName(format)) return format;
  }
  return Wrong("--format", "expected precomputed, zarr3, zarr2 or n5");
}

// --- The schema of plain options

Result<std::int64_t> WholeNumber(const std::string& option, const std::string& text) {
  if (const auto value = ParseNumber<std::int64_t>(text)) return *value;
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  const bool is_number =
      text.size() > first && text.find_first_not_of("0123456789", first) == std::string::npos;
  return Wrong(option, (is_number ? "expected numbers below 2^63, found \""
                                  : "expected whole numbers separated by commas, found \"") +
                           text + "\"");
}

// A list of numbers. Of a volume the last one, of the channel, may be left out: it is `of_channel`.
Result<JsonValue> Numbers(const std::string& option, const std::vector<std::string>& texts,
                          ArrayDialect format, const JsonValue& of_channel) {
  std::vector<JsonValue> numbers;
  for (const std::string& text : texts) {
    UNSHARD_ASSIGN_OR_RETURN(const std::int64_t number, WholeNumber(option, text));
    numbers.push_back(JsonValue::Number(std::to_string(number)));
  }
  if (format == ArrayDialect::kPrecomputed && numbers.size() + 1 == kVolumeRank) {
    numbers.push_back(of_channel);
  }
  return JsonValue::Array(std::move(numbers));
}

JsonValue Member(const char* name, JsonValue value) {
  JsonValue object = JsonValue::Object();
  object.Set(name, std::move(value));
  return object;
}

// Numbers alone are nanometres; other texts have a unit of their own ("0.5 s").
Result<JsonValue> UnitsOf(const std::vector<std::string>& texts, ArrayDialect format) {
  std::vector<JsonValue> units;
  for (const std::string& text : texts) {
    const bool alone =
        !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string::npos;
    const std::string number = text.substr(0, text.find_first_not_of("0123456789.eE+-"));
    const auto value = ParseNumber<double>(number);
    if (value && !(*value > 0)) {
      return Wrong("--resolution", "expected numbers above 0, found \"" + text + "\"");
    }
    units.push_back(text.empty() ? JsonValue() : JsonValue::String(alone ? text + " nm" : text));
  }
  if (format == ArrayDialect::kPrecomputed && units.size() + 1 == kVolumeRank) {
    units.emplace_back();
  }
  return JsonValue::Array(std::move(units));
}

// A name means the codec with its usual options.
Result<JsonValue> CodecNamed(ArrayDialect format, const std::string& name) {
  const JsonValue text = JsonValue::String(name);
  JsonValue codec = JsonValue::Object();
  switch (format) {
    case ArrayDialect::kPrecomputed:
      codec.Set("driver", JsonValue::String("neuroglancer_precomputed"));
      codec.Set("encoding", text);
      break;
    case ArrayDialect::kZarr3:
      codec.Set("driver", JsonValue::String("zarr3"));
      codec.Set("codecs", JsonValue::Array({name == "raw" ? JsonValue::String("bytes") : text}));
      break;
    case ArrayDialect::kZarr2:
      codec.Set("driver", JsonValue::String("zarr"));
      codec.Set("compressor", name == "raw" ? JsonValue() : Member("id", text));
      break;
    case ArrayDialect::kN5:
      codec.Set("driver", JsonValue::String("n5"));
      // Blosc has no usual options in N5 but those of new datasets.
      if (name != "blosc") codec.Set("compression", Member("type", text));
      break;
  }
  return codec;
}

Result<JsonValue> CodecOf(ArrayDialect format, const std::string& given) {
  if (given.find_first_of("{[") == std::string::npos) return CodecNamed(format, given);
  auto codec = ParseJson(given);
  if (!codec) return Wrong("--codec", codec.error().message);
  return codec;
}

// Where there are shards, their shape and that of the chunks in them; else of both the same. Shards
// of volumes have only some shapes: the nearest one is chosen.
Result<JsonValue> ChunkLayoutOf(const CreateCommand& command, ArrayDialect format) {
  JsonValue layout = JsonValue::Object();
  const JsonValue none;
  if (!command.chunk.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(JsonValue shape, Numbers("--chunk", command.chunk, format, none));
    layout.Set(command.shard.empty() ? "chunk" : "read_chunk", Member("shape", std::move(shape)));
  }
  if (!command.shard.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(JsonValue shape, Numbers("--shard", command.shard, format, none));
    const char* const strength =
        format == ArrayDialect::kPrecomputed ? "shape_soft_constraint" : "shape";
    layout.Set("write_chunk", Member(strength, std::move(shape)));
  }
  return layout;
}

Result<JsonValue> DomainOf(const CreateCommand& command, ArrayDialect format) {
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
Status CheckOptions(const CreateCommand& command, ArrayDialect format) {
  const std::string name(DialectName(format));
  const bool sharded = format == ArrayDialect::kPrecomputed || format == ArrayDialect::kZarr3;
  if (!command.shard.empty() && !sharded) {
    return Wrong("--shard", name +
                                " has no shards: leave it out (the extents of chunks are "
                                "--chunk), or choose the format zarr3 or precomputed");
  }
  if (!command.axes.empty() && format == ArrayDialect::kZarr2 && command.scales < 2) {
    return Wrong("--axes", name +
                               " has no names of dimensions but in a pyramid: leave it out, "
                               "add --scales, or choose the format zarr3");
  }
  if (!command.factors.empty() && command.scales < 2) {
    return Wrong("--factor", "expected --scales as well, of 2 or more");
  }
  return {};
}

Result<Schema> SchemaOfOptions(const CreateCommand& command, ArrayDialect format) {
  UNSHARD_RETURN_IF_ERROR(CheckOptions(command, format));
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
  return ParseSchema(WriteJson(schema));
}

// The text of a file.
Result<std::string> SchemaText(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::file_size(path, unknown) > JsonLimits().max_bytes) {
    return Wrong("--schema", path + " is too large for a schema");
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
    if (!schema) return Forward(std::move(schema).error(), given);
    return schema;
  }
  const std::size_t first = given.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || given[first] != '{') {
    return Wrong("--schema", "expected a file, or a JSON object, found \"" + given + "\"");
  }
  return ParseSchema(given);
}

Result<Schema> SchemaOf(const CreateCommand& command, ArrayDialect format) {
  UNSHARD_ASSIGN_OR_RETURN(const Schema options, SchemaOfOptions(command, format));
  if (command.schema.empty()) return options;
  UNSHARD_ASSIGN_OR_RETURN(Schema schema, GivenSchema(command.schema));
  const Status merged = schema.Merge(options);
  if (!merged) {
    return Fail(ErrorCode::kInvalidArgument,
                "--schema and another option contradict each other: " + merged.error().message);
  }
  return schema;
}

Result<NewScales> ScalesOf(const CreateCommand& command) {
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
    scales.factors.push_back(std::move(factors));
  }
  return scales;
}

std::vector<NewDocument> TextsOf(const std::vector<DatasetDocument>& made) {
  std::vector<NewDocument> documents;
  for (const DatasetDocument& one : made) {
    documents.push_back({one.path, WriteJson(one.document) + "\n"});
  }
  return documents;
}

Result<std::vector<NewDocument>> NewDocuments(const CreateCommand& command) {
  if (command.format.empty()) {
    return Wrong("--format", "expected precomputed, zarr3, zarr2 or n5, or --like SOURCE");
  }
  UNSHARD_ASSIGN_OR_RETURN(const ArrayDialect format, FormatOf(command.format));
  UNSHARD_ASSIGN_OR_RETURN(const Schema schema, SchemaOf(command, format));
  UNSHARD_ASSIGN_OR_RETURN(const NewScales scales, ScalesOf(command));
  UNSHARD_ASSIGN_OR_RETURN(const auto made, NewDataset(format, schema, scales));
  return TextsOf(made);
}

// Whether an option says what --like takes from the other dataset.
bool DescribesDataset(const CreateCommand& command) {
  const bool lists = !command.shape.empty() || !command.offset.empty() || !command.chunk.empty() ||
                     !command.shard.empty() || !command.axes.empty() ||
                     !command.resolution.empty() || !command.factors.empty();
  return lists || !command.schema.empty() || !command.dtype.empty() || !command.codec.empty() ||
         !command.fill.empty() || command.scales != 1;
}

Result<std::vector<NewDocument>> DocumentsLike(const std::string& source) {
  VolumeOptions options;
  UNSHARD_RETURN_IF_ERROR(NameSource(source, options));
  options.read_only = true;
  UNSHARD_ASSIGN_OR_RETURN(const SourceParts parts, OpenSource(options, nullptr));
  return ReadDocuments(*parts.store, CallerDeadline());
}

// The names of the axes of its arrays, as lists of the format have them; "": without a name.
std::vector<std::string> AxisNames(const SourceDataset& dataset, ArrayDialect format) {
  const ArrayMetadata& array = dataset.levels.front().array;
  std::vector<std::string> names(array.rank());
  const auto geometry = ReadGeometry(dataset);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (geometry && geometry->axes.size() == names.size()) {
      names[i] = geometry->axes[i].name;
    } else if (i < array.axis_names.size()) {
      names[i] = array.axis_names[i].value_or("");
    }
  }
  if (format == ArrayDialect::kN5) std::reverse(names.begin(), names.end());
  return names;
}

// A list of the axes `of`, for the axes `names`; nothing where one of these is not among the
// others.
std::optional<std::vector<std::string>> PickAxes(const std::vector<std::string>& list,
                                                 const std::vector<std::string>& of,
                                                 const std::vector<std::string>& names) {
  std::vector<std::string> picked;
  for (const std::string& name : names) {
    const auto found = std::find(of.begin(), of.end(), name);
    if (name.empty() || found == of.end()) return std::nullopt;
    picked.push_back(list[static_cast<std::size_t>(found - of.begin())]);
  }
  return picked;
}

// Labels of an image may lack its channels. A list with one item for each axis of another dataset
// means the axes of the same names in this one. Precomputed volumes all have the same axes.
CreateCommand ForAxesOf(const SourceDataset& dataset, const CreateCommand& command,
                        ArrayDialect format, const std::vector<DatasetMember>& all) {
  CreateCommand adapted = command;
  if (format == ArrayDialect::kPrecomputed) return adapted;
  const std::vector<std::string> names = AxisNames(dataset, format);
  for (std::vector<std::string>* list : {&adapted.chunk, &adapted.shard}) {
    if (list->empty() || list->size() == names.size()) continue;
    for (const DatasetMember& other : all) {
      const std::vector<std::string> of = AxisNames(other.source.dataset, format);
      if (of.size() != list->size()) continue;
      if (auto picked = PickAxes(*list, of, names)) *list = *std::move(picked);
      break;
    }
  }
  return adapted;
}

Status Create(const CreateCommand& command) {
  UNSHARD_ASSIGN_OR_RETURN(auto documents, DescribedDocuments(command));
  return CreateDataset(command.destination, std::move(documents));
}

}  // namespace

bool DescribesNewDataset(const CreateCommand& command) {
  return !command.format.empty() || !command.like.empty() || DescribesDataset(command);
}

Result<std::vector<NewDocument>> DescribedDocuments(const CreateCommand& command) {
  if (command.like.empty()) return NewDocuments(command);
  if (!DescribesDataset(command)) return DocumentsLike(command.like);
  return Wrong("--like", "takes everything from the other dataset: leave out the other options");
}

Result<std::vector<NewDocument>> DocumentsFor(const CreateCommand& command,
                                              const SourceDataset& source,
                                              const std::string& path) {
  if (!command.like.empty() || command.format.empty()) return DescribedDocuments(command);
  UNSHARD_ASSIGN_OR_RETURN(const ArrayDialect format, FormatOf(command.format));
  UNSHARD_ASSIGN_OR_RETURN(const Schema schema, SchemaOf(command, format));
  if (schema.domain) return DescribedDocuments(command);
  const bool of_source = schema.dtype == nullptr && !schema.fill_value &&
                         schema.dimension_units.empty() && command.scales == 1 &&
                         command.factors.empty();
  if (!of_source) {
    return Wrong("--shape",
                 "expected it as well, since other options say what the dataset is; "
                 "without them all of this is taken from the source");
  }
  const bool stores =
      !command.chunk.empty() || !command.shard.empty() || schema.codec || !command.schema.empty();
  std::vector<std::string> warnings;
  UNSHARD_ASSIGN_OR_RETURN(
      const auto made,
      DocumentsOfCopy(source, format, stores ? std::optional(schema) : std::nullopt, &warnings));
  for (const std::string& warning : warnings) {
    LogWarning((path.empty() ? "" : path + ": ") + warning);
  }
  return TextsOf(made);
}

Result<std::vector<NewDocument>> DocumentsForGroup(const CreateCommand& command,
                                                   const OpenedDataset& source) {
  if (!command.like.empty() || command.format.empty()) return DescribedDocuments(command);
  UNSHARD_ASSIGN_OR_RETURN(const ArrayDialect format, FormatOf(command.format));
  UNSHARD_ASSIGN_OR_RETURN(const Schema schema, SchemaOf(command, format));
  if (schema.domain) {
    return Wrong("--shape", "the source has several datasets (" + source.datasets().back().path +
                                " is one), which keep their own shapes");
  }
  std::vector<NewDocument> all;
  std::map<std::string, std::size_t> places;  // in `all`, by path
  std::set<std::string> directories;
  const auto add = [&](const std::string& path, std::vector<NewDocument> documents) {
    for (NewDocument& document : documents) {
      document.path = JoinPath(path, document.path);
      // A group between an image and its levels may be a group of the source as well.
      const auto [place, is_first] = places.try_emplace(document.path, all.size());
      if (is_first) all.emplace_back();
      all[place->second] = std::move(document);
    }
    directories.insert(path);
  };
  const auto add_group = [&](const std::string& path, const SourceDataset& group) -> Status {
    UNSHARD_ASSIGN_OR_RETURN(const auto made, DocumentsOfCopy(group, format, std::nullopt));
    add(path, TextsOf(made));
    return {};
  };
  for (const DatasetMember& dataset : source.datasets()) {
    const SourceDataset& described = dataset.source.dataset;
    auto documents = DocumentsFor(ForAxesOf(described, command, format, source.datasets()),
                                  described, dataset.path);
    if (!documents) return Forward(std::move(documents).error(), dataset.path);
    add(dataset.path, *std::move(documents));
  }
  // Only volumes have a document in precomputed.
  if (format == ArrayDialect::kPrecomputed) return all;
  for (const DatasetMember& group : source.members().groups) {
    UNSHARD_RETURN_IF_ERROR(add_group(group.path, group.source.dataset));
  }
  // Zarr wants a document in each group, where N5 does without.
  SourceDataset plain;
  plain.dialect = format;
  for (const DatasetMember& dataset : source.datasets()) {
    for (std::string above = dataset.path; !above.empty();) {
      above = ParentPath(above);
      if (!directories.contains(above)) UNSHARD_RETURN_IF_ERROR(add_group(above, plain));
    }
  }
  return all;
}

Result<std::vector<LevelPlace>> LevelPlacesFor(const CreateCommand& command,
                                               const OpenedDataset& source) {
  std::vector<LevelPlace> places;
  if (!command.like.empty() || command.format.empty()) return places;
  if (!command.shape.empty() || !command.schema.empty()) return places;
  UNSHARD_ASSIGN_OR_RETURN(const ArrayDialect format, FormatOf(command.format));
  for (const DatasetMember& dataset : source.datasets()) {
    UNSHARD_ASSIGN_OR_RETURN(const auto levels, LevelsOfCopy(dataset.source.dataset, format));
    for (const std::string& level : levels) {
      places.push_back({dataset.path, ResolvePath(dataset.path, level).value_or(level)});
    }
  }
  return places;
}

int RunCreate(const CreateCommand& command) {
  StartLog(LogSink::kStandardError, LogLevel::kWarning);
  const Status created = Create(command);
  return created ? 0 : ReportFailure(created.error());
}

}  // namespace unshard
