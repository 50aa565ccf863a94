#include "codec/schema/codec_constraints.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "codec/array/document_names.h"
#include "codec/chain/codec_spelling.h"
#include "codec/chain/transpose.h"
#include "codec/codecs/codecs.h"
#include "codec/core/text.h"
#include "codec/json/meaning.h"
#include "codec/json/number.h"
#include "codec/json/writer.h"

namespace unshard {
namespace {

// A codec that TensorStore has in a dialect, and not another one of its name.
struct NamedCodec {
  std::string_view name;
  const CodecDefinition* definition;
};

std::vector<NamedCodec> CodecsInSchemas(Dialect dialect) {
  std::vector<NamedCodec> codecs;
  for (const CodecDefinition* const codec : CodecDefinitions()) {
    for (const CodecDefinition::Name& each : codec->names) {
      const bool is_known = each.dialect == dialect && each.in_schemas && each.when.empty();
      if (is_known) codecs.push_back({each.name, codec});
    }
  }
  return codecs;
}

template <class Words>
std::string OneOf(const Words& words) {
  std::string text;
  for (const std::string_view word : words) {
    text += (text.empty() ? "one of " : ", ") + std::string(word);
  }
  return text;
}

// The codec of this name. Fails where TensorStore has none.
Result<const CodecDefinition*> FindInSchemas(Dialect dialect, const JsonCursor& at,
                                             std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& [known, definition] : CodecsInSchemas(dialect)) {
    if (known == name) return definition;
    names.push_back(known);
  }
  return at.Expected(OneOf(names));
}

// --- Options

bool HasWords(const CodecOption& option, Dialect dialect) {
  return !option.words.empty() && (option.max_in_schemas == 0 || dialect == Dialect::kZarr3);
}

// What a codec of a schema gets that does not have the option (CompleteCodec).
std::optional<JsonValue> DefaultOf(const CodecOption& option, Dialect dialect,
                                   std::optional<std::uint32_t> item_size) {
  if (option.max == 0 && option.max_in_schemas == 0 && !option.is_boolean && option.words.empty()) {
    return std::nullopt;
  }
  const CodecOption::Spelling spelling = option.In(dialect);
  if (!spelling.has_default && !item_size) return std::nullopt;
  std::optional<std::int64_t> value = spelling.created;
  if (!spelling.has_default && option.is_item_size) value = *item_size;
  if (!spelling.has_default && option.for_items != nullptr) value = option.for_items(*item_size);
  if (!value) return std::nullopt;
  if (option.is_boolean) return JsonValue::Boolean(*value != 0);
  if (!HasWords(option, dialect)) return IntegerNumber(*value);
  return JsonValue::String(std::string(option.words[static_cast<std::size_t>(*value)]));
}

// A list of numbers, or "C" or "F" for any rank.
Result<JsonValue> ParseTransposeOrder(const JsonCursor& order) {
  const std::string& text = order.value().text();
  if (order.value().is_string() && (text == "C" || text == "F")) return order.value();
  if (!order.value().is_array()) return order.Expected("\"C\", \"F\" or a permutation");
  UNSHARD_RETURN_IF_ERROR(order.Items(kMaxRank));
  UNSHARD_ASSIGN_OR_RETURN(const auto axes, ParseOrder(order, order.value().items().size()));
  return ExtentsJson(axes);
}

Result<JsonValue> ParseInnerShape(const JsonCursor& shape) {
  UNSHARD_RETURN_IF_ERROR(shape.Items(kMaxRank));
  UNSHARD_ASSIGN_OR_RETURN(const auto extents, shape.UnsignedItems(1, kMaxIndex));
  return ExtentsJson(extents);
}

// The value of an option in its canonical form.
Result<JsonValue> ParseOption(const JsonCursor& value, const CodecOption& option, Dialect dialect) {
  if (option.is_boolean) {
    UNSHARD_ASSIGN_OR_RETURN(const bool given, value.Boolean());
    return JsonValue::Boolean(given);
  }
  if (HasWords(option, dialect)) {
    UNSHARD_ASSIGN_OR_RETURN(const std::string word, value.String());
    const auto& words = option.words;
    if (std::find(words.begin(), words.end(), word) == words.end()) {
      return value.Expected(OneOf(words));
    }
    return value.value();
  }
  const std::int64_t max = option.max_in_schemas != 0 ? option.max_in_schemas : option.max;
  if (max != 0) {
    UNSHARD_ASSIGN_OR_RETURN(const auto number, value.Integer(*option.In(dialect).min, max));
    return IntegerNumber(number);
  }
  if (option.name == "order") return ParseTransposeOrder(value);
  return ParseInnerShape(value);
}

// The options of a codec in schemas of a dialect, and last the boolean that tells codecs of one
// name apart. Blocks of an encoding are codec chunks of the chunk_layout.
std::vector<CodecOption> OptionsIn(Dialect dialect, const CodecDefinition& codec) {
  std::vector<CodecOption> options;
  for (const CodecOption& option : codec.options) {
    const bool is_blocks = dialect == Dialect::kPrecomputed && option.max == 0;
    if (option.only_in.value_or(dialect) == dialect && !is_blocks) options.push_back(option);
  }
  for (const ToldByOption& other : ToldByOptions(dialect, codec.NameIn(dialect)->name)) {
    options.push_back({.name = other.option, .is_boolean = true});
  }
  return options;
}

// Zarr v2 and N5.
bool HasCompressors(Dialect dialect) {
  return dialect == Dialect::kZarr2 || dialect == Dialect::kN5;
}

bool IsRequired(const CodecOption& option, Dialect dialect) {
  return HasCompressors(dialect) && !option.In(dialect).has_default;
}

bool IsUsed(const CodecOption& option, const JsonValue& options, std::uint32_t item_size) {
  return option.is_used == nullptr || option.is_used(options, item_size);
}

void SetOptions(CodecSpec& codec, JsonValue options) {
  const bool none = options.members().empty();
  codec.json = ExtensionJson(codec.name, none ? JsonValue() : std::move(options));
}

// A list of codecs of Zarr v3, of which names alone are enough.
Result<ChainSpec> ParseCodecs(const JsonCursor& codecs);

// A codec with the options in `json`, an object, whose member `id` is none.
Result<CodecSpec> ParseOptions(const JsonCursor& json, Dialect dialect,
                               const CodecDefinition& definition, std::string_view id = {}) {
  const std::string_view name = definition.NameIn(dialect)->name;
  CodecSpec codec = CodecIn(dialect, definition, JsonValue::Object());
  JsonValue options = JsonValue::Object();
  std::vector<std::string_view> known = {id};
  for (const CodecOption& option : OptionsIn(dialect, definition)) {
    const CodecOption::Spelling spelling = option.In(dialect);
    known.push_back(spelling.name);
    const std::string path = MemberPath(json.path(), spelling.name);
    const JsonValue* const given = json.value().Find(spelling.name);
    if (given == nullptr) {
      if (!IsRequired(option, dialect)) continue;
      return Fail(ErrorCode::kDataLoss, path, ": missing; ", name, " needs it");
    }
    if (option.chain_dimensions) {
      UNSHARD_ASSIGN_OR_RETURN(ChainSpec chain, ParseCodecs(JsonCursor(*given, path)));
      options.Set(spelling.name, CodecsJson(chain));
      codec.chains.emplace_back(option.name, std::move(chain));
    } else {
      UNSHARD_ASSIGN_OR_RETURN(JsonValue value,
                               ParseOption(JsonCursor(*given, path), option, dialect));
      if (IsUsed(option, options, 0)) options.Set(spelling.name, std::move(value));
    }
  }
  for (const auto& [key, value] : json.value().members()) {
    if (IsOneOf(known, key)) continue;
    return Fail(ErrorCode::kDataLoss, json.path(), ": unknown option \"", key, "\" of ", name);
  }
  SetOptions(codec, std::move(options));
  return HasCompressors(dialect) ? CompleteCodec(std::move(codec), std::nullopt) : codec;
}

// --- Codecs

// A compressor of Zarr v2 or N5, or an encoding: an object with its name and its options.
Result<ChainSpec> ParseOneCodec(const JsonCursor& json, Dialect dialect) {
  if (json.value().is_null() && dialect == Dialect::kZarr2) return ChainSpec();
  const std::string_view id_key = NameMember(dialect);
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor id, json.Member(id_key));
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, id.String());
  UNSHARD_ASSIGN_OR_RETURN(const CodecDefinition* const definition,
                           FindInSchemas(dialect, id, name));
  UNSHARD_ASSIGN_OR_RETURN(CodecSpec codec, ParseOptions(json, dialect, *definition, id_key));
  return ChainSpec{std::move(codec)};
}

Result<CodecSpec> ParseCodecOfZarr3(const JsonCursor& json) {
  constexpr Dialect kDialect = Dialect::kZarr3;
  std::string name = json.value().text();
  std::optional<JsonCursor> configuration;
  if (!json.value().is_string()) {
    UNSHARD_RETURN_IF_ERROR(
        json.ReadMembers({{"name", [&](const JsonCursor& at) { return Assign(name, at.String()); }},
                          {"configuration", [&](const JsonCursor& at) {
                             configuration = at;
                             return at.ExpectObject();
                           }}}));
    UNSHARD_RETURN_IF_ERROR(json.Member("name"));
  }
  UNSHARD_ASSIGN_OR_RETURN(const CodecDefinition* const definition,
                           FindInSchemas(kDialect, json, name));
  if (definition == &TransposeCodec()) {
    UNSHARD_RETURN_IF_ERROR(json.Member("configuration"));
    UNSHARD_RETURN_IF_ERROR(configuration->Member("order"));
  }
  const JsonValue none = JsonValue::Object();
  return ParseOptions(configuration.value_or(JsonCursor(none, json.path())), kDialect, *definition);
}

CodecKind KindOf(const CodecSpec& codec) {
  return static_cast<CodecKind>(codec.definition->bind.index());
}

Result<ChainSpec> ParseCodecs(const JsonCursor& codecs) {
  if (!codecs.value().is_array()) return codecs.Expected("an array of codecs");
  constexpr std::size_t kMaxCodecs = 64;
  UNSHARD_ASSIGN_OR_RETURN(const auto items, codecs.Items(kMaxCodecs));
  ChainSpec chain;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(CodecSpec codec, ParseCodecOfZarr3(item));
    const bool after_array = !chain.empty() && KindOf(chain.back()) != CodecKind::kArrayToArray;
    if (after_array && KindOf(codec) != CodecKind::kBytesToBytes) {
      return item.Expected("a codec from bytes to bytes");
    }
    chain.push_back(std::move(codec));
  }
  return chain;
}

// --- Formats

std::string_view DriverName(Dialect dialect) {
  if (dialect == Dialect::kPrecomputed) return "neuroglancer_precomputed";
  return dialect == Dialect::kZarr2 ? "zarr" : DialectName(dialect);
}

Result<Dialect> ParseDriver(const JsonCursor& json) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, json.Member("driver"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, member.String());
  for (const Dialect dialect : kDialects) {
    if (name == DriverName(dialect)) return dialect;
  }
  if (name == "zarr2") return Dialect::kZarr2;
  return member.Expected("zarr3, zarr, n5 or neuroglancer_precomputed");
}

// Of a volume: an encoding with its options beside it, and that of shards.
Status ParseVolume(const JsonCursor& json, CodecConstraints& to) {
  static constexpr std::string_view kWords[] = {"raw", "gzip"};
  static constexpr CodecOption kOfShards = {.name = "shard_data_encoding", .words = kWords};
  JsonValue rest = json.value();
  rest.Erase("driver");
  if (const JsonValue* const given = json.value().Find(kOfShards.name)) {
    const JsonCursor at(*given, MemberPath(json.path(), kOfShards.name));
    UNSHARD_ASSIGN_OR_RETURN(const JsonValue word, ParseOption(at, kOfShards, to.dialect));
    to.shard_encoding = word.text() == "raw" ? ShardEncoding::kRaw : ShardEncoding::kGzip;
    rest.Erase(kOfShards.name);
  }
  if (rest.members().empty()) return {};
  return Assign(to.codecs, ParseOneCodec(JsonCursor(rest, json.path()), to.dialect));
}

std::vector<MemberReader> ReadersOf(CodecConstraints& to) {
  const auto read_filters = [](const JsonCursor& filters) -> Status {
    if (filters.value().is_null() || filters.value() == JsonValue::Array()) return {};
    return filters.Expected("null, because arrays with filters cannot be created");
  };
  const auto read_codec = [&to](const JsonCursor& at) {
    return Assign(to.codecs, ParseOneCodec(at, to.dialect));
  };
  const auto read_codecs = [&to](const JsonCursor& at) {
    return Assign(to.codecs, ParseCodecs(at));
  };
  const MemberReader driver = {"driver", [](const JsonCursor&) { return Status(); }};
  if (to.dialect == Dialect::kZarr3) return {driver, {"codecs", read_codecs}};
  if (to.dialect == Dialect::kN5) return {driver, {"compression", read_codec}};
  return {driver, {"compressor", read_codec}, {"filters", read_filters}};
}

// --- Merging

Status MergeOrder(JsonValue& into, const JsonValue& other) {
  const std::size_t rank = std::max(into.items().size(), other.items().size());
  const bool same = into.is_string() && other.is_string()
                        ? into == other
                        : OrderOf(into, rank) == OrderOf(other, rank);
  if (!same)
    return CodecsFail("conflicting orders of transpose: ", WriteJson(into, 0), " and ",
                      WriteJson(other, 0));
  if (into.is_string()) into = other;
  return {};
}

// Merges `other` into a chain of a codec, or, where that is absent, into `absent`.
Status MergeChain(CodecSpec& into, std::string_view option, const ChainSpec& absent,
                  const ChainSpec& other) {
  const ChainSpec* const mine = into.FindChain(option);
  ChainSpec merged = mine != nullptr ? *mine : absent;
  UNSHARD_RETURN_IF_ERROR(MergeCodecs(merged, other));
  SetChain(into, option, std::move(merged));
  return {};
}

Status MergeCodec(CodecSpec& into, const CodecSpec& other) {
  if (into.name != other.name) {
    return CodecsFail("conflicting codecs: ", into.name, " and ", other.name);
  }
  if (other.configuration() == nullptr) return {};
  for (const auto& [key, value] : other.configuration()->members()) {
    JsonValue* const mine = OptionsOf(into).Find(key);
    if (const ChainSpec* const chain = other.FindChain(key)) {
      UNSHARD_RETURN_IF_ERROR(MergeChain(into, key, *chain, *chain));
    } else if (mine == nullptr) {
      OptionsOf(into).Set(key, value);
    } else if (key == "order") {
      UNSHARD_RETURN_IF_ERROR(MergeOrder(*mine, value));
    } else if (*mine != value) {
      return Conflict("codec.codecs: " + key + " of " + into.name, *mine, value);
    }
  }
  return {};
}

// How many levels of sharding_indexed there are.
std::size_t ShardingHeight(const ChainSpec& chain) {
  const auto sharding = FindSharding(chain);
  if (!sharding) return 0;
  const ChainSpec* const inner = chain[*sharding].FindChain(kInnerCodecs);
  return 1 + (inner != nullptr ? ShardingHeight(*inner) : 0);
}

}  // namespace

JsonValue& OptionsOf(CodecSpec& codec) {
  if (codec.configuration() == nullptr) codec.json.Set("configuration", JsonValue::Object());
  return *codec.json.Find("configuration");
}

void SetChain(CodecSpec& codec, std::string_view option, ChainSpec chain) {
  OptionsOf(codec).Set(option, CodecsJson(chain));
  std::erase_if(codec.chains, [&](const auto& each) { return each.first == option; });
  const auto& options = codec.definition->options;
  const auto known = std::find_if(options.begin(), options.end(),
                                  [&](const CodecOption& each) { return each.name == option; });
  if (known != options.end()) codec.chains.emplace_back(known->name, std::move(chain));
}

ChainSpec OfKind(const ChainSpec& chain, CodecKind kind) {
  ChainSpec codecs;
  std::copy_if(chain.begin(), chain.end(), std::back_inserter(codecs),
               [kind](const CodecSpec& codec) { return KindOf(codec) == kind; });
  return codecs;
}

std::vector<std::size_t> OrderOf(const JsonValue& order, std::size_t rank) {
  if (order.is_string()) return order.text() == "F" ? ReversedOrder(rank) : IdentityOrder(rank);
  std::vector<std::size_t> permutation;
  for (const JsonValue& item : order.items()) permutation.push_back(std::stoul(item.text()));
  return permutation;
}

Result<CodecSpec> CompleteCodec(CodecSpec codec, std::optional<std::uint32_t> item_size) {
  const JsonValue given = OptionsOf(codec);
  const std::vector<CodecOption> known = OptionsIn(codec.dialect, *codec.definition);
  for (const CodecOption& option : known) {
    const JsonValue* const size = option.is_item_size ? given.Find(option.name) : nullptr;
    if (size != nullptr) item_size = static_cast<std::uint32_t>(std::stoul(size->text()));
  }
  JsonValue options = JsonValue::Object();
  for (const CodecOption& option : known) {
    if (!IsUsed(option, options, item_size.value_or(0))) continue;
    const std::string_view key = option.In(codec.dialect).name;
    const JsonValue* const value = given.Find(key);
    if (value == nullptr && option.is_item_size && item_size == 0) {
      return CodecsFail(codec.name, " after another compressor needs a ", key);
    }
    const auto complete =
        value != nullptr ? std::optional(*value) : DefaultOf(option, codec.dialect, item_size);
    if (complete) options.Set(key, *complete);
  }
  SetOptions(codec, std::move(options));
  return codec;
}

CodecSpec DefaultCompressor(Dialect dialect, std::uint32_t item_size) {
  return *CompleteCodec(CodecIn(dialect, BloscCodec(), JsonValue::Object()), item_size);
}

Result<CodecConstraints> ParseCodecConstraints(const JsonCursor& json) {
  CodecConstraints constraints;
  UNSHARD_ASSIGN_OR_RETURN(constraints.dialect, ParseDriver(json));
  const bool is_volume = constraints.dialect == Dialect::kPrecomputed;
  UNSHARD_RETURN_IF_ERROR(is_volume ? ParseVolume(json, constraints)
                                    : json.ReadMembers(ReadersOf(constraints)));
  return constraints;
}

JsonValue CodecConstraintsJson(const CodecConstraints& codec) {
  JsonValue json =
      JsonValue::Object({{"driver", JsonValue::String(std::string(DriverName(codec.dialect)))}});
  const bool has_one = codec.codecs && !codec.codecs->empty();
  const JsonValue one = has_one && codec.dialect != Dialect::kZarr3
                            ? NamedCodecJson(codec.codecs->front())
                            : JsonValue();
  switch (codec.dialect) {
    case Dialect::kPrecomputed:
      for (const auto& [key, value] : one.members()) json.Set(key, value);
      break;
    case Dialect::kZarr3:
      if (codec.codecs) json.Set("codecs", CodecsJson(*codec.codecs));
      break;
    case Dialect::kZarr2:
      if (codec.codecs) json.Set("compressor", one);
      break;
    case Dialect::kN5:
      if (codec.codecs) json.Set("compression", one);
      break;
  }
  if (codec.shard_encoding) {
    const std::string name(ShardEncodingName(*codec.shard_encoding));
    json.Set("shard_data_encoding", JsonValue::String(name));
  }
  return json;
}

Status MergeCodecConstraints(CodecConstraints& into, const CodecConstraints& other) {
  if (into.dialect != other.dialect) {
    return Fail(ErrorCode::kInvalidArgument,
                "codec: conflicting drivers: ", DriverName(into.dialect), " and ",
                DriverName(other.dialect));
  }
  if (into.dialect == Dialect::kZarr3 && into.codecs && other.codecs) {
    return MergeCodecs(*into.codecs, *other.codecs);
  }
  const JsonValue mine = CodecConstraintsJson(into);
  const JsonValue others = CodecConstraintsJson(other);
  for (const auto& [key, value] : others.members()) {
    const JsonValue* const member = mine.Find(key);
    if (member != nullptr && !SameMeaning(*member, value)) {
      return Conflict("codec." + key, *member, value);
    }
  }
  if (!into.shard_encoding) into.shard_encoding = other.shard_encoding;
  if (!into.codecs) into.codecs = other.codecs;
  if (!other.codecs || other.codecs->empty()) return {};
  return MergeCodec(into.codecs->front(), other.codecs->front());  // an encoding has more options
}

Status MergeCodecs(ChainSpec& into, const ChainSpec& other) {
  const std::size_t height = ShardingHeight(into);
  const std::size_t other_height = ShardingHeight(other);
  if (height > other_height && into.size() == 1) {
    return MergeChain(into.front(), kInnerCodecs, {}, other);
  }
  if (height < other_height && other.size() == 1) {
    ChainSpec sharded = other;
    UNSHARD_RETURN_IF_ERROR(MergeChain(sharded.front(), kInnerCodecs, {}, into));
    into = std::move(sharded);
    return {};
  }
  ChainSpec merged;
  for (const auto kind :
       {CodecKind::kArrayToArray, CodecKind::kArrayToBytes, CodecKind::kBytesToBytes}) {
    ChainSpec mine = OfKind(into, kind);
    ChainSpec others = OfKind(other, kind);
    const bool may_differ = kind != CodecKind::kBytesToBytes;
    if (may_differ && others.size() == mine.size() + 1) mine.push_back(others.back());
    if (may_differ && others.size() + 1 == mine.size()) others.push_back(mine.back());
    if (mine.size() != others.size()) {
      return CodecsFail("conflicting numbers of codecs of one kind: ", mine.size(), " and ",
                        others.size());
    }
    for (std::size_t i = 0; i < mine.size(); ++i) {
      UNSHARD_RETURN_IF_ERROR(MergeCodec(mine[i], others[i]));
    }
    merged.insert(merged.end(), mine.begin(), mine.end());
  }
  into = std::move(merged);
  return {};
}

std::vector<ShortCodec> ShortCodecs(Dialect dialect) {
  const auto chain_of = [&](const CodecDefinition& definition) {
    return ChainSpec{CodecIn(dialect, definition, JsonValue::Object())};
  };
  const bool has_raw = dialect != Dialect::kZarr2;  // else null
  std::vector<ShortCodec> codecs = {
      {"raw", {dialect, has_raw ? chain_of(BytesCodec()) : ChainSpec()}}};
  for (const auto& [name, definition] : CodecsInSchemas(dialect)) {
    const bool is_named = definition->IsBytesToBytes() ? definition->describes_itself
                                                       : dialect == Dialect::kPrecomputed;
    if (!is_named || definition == &BytesCodec()) continue;
    ShortCodec codec{name, {dialect, chain_of(*definition)}};
    for (const CodecOption& option : OptionsIn(dialect, *definition)) {
      if (option.is_level) codec.level = option.In(dialect).name;
      if (IsRequired(option, dialect)) codec.constraints.codecs.reset();
    }
    if (!codec.constraints.codecs) codec.level = {};
    codecs.push_back(std::move(codec));
  }
  return codecs;
}

}  // namespace unshard
