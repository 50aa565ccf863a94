#include "codec/schema/codec_constraints.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "codec/array/document_names.h"
#include "codec/chain/transpose.h"
#include "codec/json/meaning.h"
#include "codec/json/number.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"

namespace unshard {
namespace {

std::string OneOf(std::span<const std::string_view> words) {
  std::string text = "one of";
  for (const std::string_view word : words)
    text += (word == words.front() ? " " : ", ") + std::string(word);
  return text;
}

// --- Options

bool HasWords(const CodecOption& option, ArrayDialect dialect) {
  return !option.words.empty() && (option.max_in_schemas == 0 || dialect == ArrayDialect::kZarr3);
}

// Nothing where a schema must have the option, or the codec decides.
std::optional<JsonValue> DefaultOf(const CodecOption& option, ArrayDialect dialect) {
  const CodecOption::Spelling spelling = option.In(dialect);
  if (!spelling.has_default) return std::nullopt;
  if (option.is_boolean) return JsonValue::Boolean(*spelling.created != 0);
  if (HasWords(option, dialect)) {
    const std::string_view word = option.words[static_cast<std::size_t>(*spelling.created)];
    return JsonValue::String(std::string(word));
  }
  if (option.max == 0 && option.max_in_schemas == 0) return std::nullopt;
  return IntegerNumber(*spelling.created);
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
Result<JsonValue> ParseOption(const JsonCursor& value, const CodecOption& option,
                              ArrayDialect dialect) {
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
// name apart.
std::vector<CodecOption> OptionsIn(ArrayDialect dialect, const CodecDefinition& codec,
                                   std::string_view name) {
  std::vector<CodecOption> options;
  for (const CodecOption& option : codec.options) {
    if (option.only_in.value_or(dialect) == dialect) options.push_back(option);
  }
  for (const CodecDefinition* const other : CodecDefinitions()) {
    for (const CodecDefinition::Name& each : other->names) {
      if (each.dialect != dialect || each.name != name || each.when.empty()) continue;
      options.push_back({.name = each.when, .is_boolean = true});
    }
  }
  return options;
}

// Adds the options of a codec to `to`, and returns the chains in them; those of Zarr v2 and N5 get
// their defaults where they are absent. Members that `to` has already, such as the name, are not
// options.
Result<NestedChains> ParseOptions(const JsonCursor& json, ArrayDialect dialect,
                                  const std::string& name, const CodecDefinition& codec,
                                  JsonValue& to) {
  NestedChains chains;
  for (const CodecOption& option : OptionsIn(dialect, codec, name)) {
    const std::string_view key = option.In(dialect).name;
    std::optional<JsonValue> value;
    const JsonValue* const given = json.value().Find(key);
    const JsonCursor member(given != nullptr ? *given : json.value(), MemberPath(json.path(), key));
    if (given != nullptr && option.chain_dimensions) {
      UNSHARD_ASSIGN_OR_RETURN(ChainSpec chain, ParseCodecs(member));
      value = CodecsJson(chain);
      chains.emplace_back(option.name, std::move(chain));
    } else if (given != nullptr) {
      UNSHARD_ASSIGN_OR_RETURN(value, ParseOption(member, option, dialect));
    } else if (dialect != ArrayDialect::kZarr3) {
      value = DefaultOf(option, dialect);
      if (!value) {
        return Fail(ErrorCode::kDataLoss, MemberPath(json.path(), key), ": missing; ", name,
                    " needs it");
      }
    }
    if (value) to.Set(key, *std::move(value));
  }
  for (const auto& [key, value] : json.value().members()) {
    if (to.Find(key) != nullptr) continue;
    return Fail(ErrorCode::kDataLoss, json.path(), ": unknown option \"", key, "\" of ", name);
  }
  return chains;
}

// --- Codecs

// Whether TensorStore has the codec, and not another one of this name.
bool IsInSchemas(const CodecDefinition::Name& name, ArrayDialect dialect) {
  return name.dialect == dialect && name.in_schemas && name.when.empty();
}

// Null: TensorStore has none of this name.
const CodecDefinition* FindInSchemas(ArrayDialect dialect, std::string_view name) {
  for (const CodecDefinition* const codec : CodecDefinitions()) {
    for (const CodecDefinition::Name& each : codec->names) {
      if (each.name == name && IsInSchemas(each, dialect)) return codec;
    }
  }
  return nullptr;
}

std::string NamesInSchemas(ArrayDialect dialect) {
  std::vector<std::string_view> names;
  for (const CodecDefinition* const codec : CodecDefinitions()) {
    for (const CodecDefinition::Name& each : codec->names) {
      if (IsInSchemas(each, dialect)) names.push_back(each.name);
    }
  }
  return OneOf(names);
}

// A compressor of Zarr v2 or N5, with all of its options.
Result<JsonValue> ParseCompressor(const JsonCursor& json, ArrayDialect dialect) {
  const std::string_view id_key = dialect == ArrayDialect::kN5 ? "type" : "id";
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor id, json.Member(id_key));
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, id.String());
  const CodecDefinition* const codec = FindInSchemas(dialect, name);
  if (codec == nullptr) return id.Expected(NamesInSchemas(dialect));
  JsonValue compressor = JsonValue::Object({{std::string(id_key), id.value()}});
  UNSHARD_RETURN_IF_ERROR(ParseOptions(json, dialect, name, *codec, compressor));
  return compressor;
}

Result<CodecSpec> ParseCodecOfZarr3(const JsonCursor& json) {
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
  const CodecDefinition* const codec = FindInSchemas(ArrayDialect::kZarr3, name);
  if (codec == nullptr) return json.Expected(NamesInSchemas(ArrayDialect::kZarr3));
  JsonValue options = JsonValue::Object();
  NestedChains chains;
  if (configuration) {
    UNSHARD_ASSIGN_OR_RETURN(
        chains, ParseOptions(*configuration, ArrayDialect::kZarr3, name, *codec, options));
  }
  if (TextOf(options, "shuffle") == "noshuffle") options.Erase("typesize");
  if (name == "transpose" && options.Find("order") == nullptr) {
    UNSHARD_RETURN_IF_ERROR(json.Member("configuration"));
    UNSHARD_RETURN_IF_ERROR(configuration->Member("order"));
  }
  return CodecOfSchema(name, std::move(options), std::move(chains));
}

CodecKind KindOf(const CodecSpec& codec) {
  return static_cast<CodecKind>(codec.definition->bind.index());
}

// --- Formats

Result<ArrayDialect> ParseDriver(const JsonCursor& json) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, json.Member("driver"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, member.String());
  for (const ArrayDialect dialect : kDialects) {
    if (name == DriverName(dialect)) return dialect;
  }
  if (name == "zarr2") return ArrayDialect::kZarr2;
  return member.Expected("zarr3, zarr, n5 or neuroglancer_precomputed");
}

// The readers of `driver`, which is read before, and of the members of the format.
std::vector<MemberReader> WithDriver(std::vector<MemberReader> readers) {
  readers.insert(readers.begin(), {"driver", [](const JsonCursor&) { return Status(); }});
  return readers;
}

Status ParsePrecomputed(const JsonCursor& json, JsonValue& members) {
  constexpr ArrayDialect kDialect = ArrayDialect::kPrecomputed;
  static constexpr std::string_view kShardEncodings[] = {"raw", "gzip"};
  static constexpr CodecOption kShardEncoding = {.name = "shard_data_encoding",
                                                 .words = kShardEncodings};
  const CodecDefinition* encoding = nullptr;
  const auto add = [&](const JsonCursor& at, const CodecOption& option) -> Status {
    UNSHARD_ASSIGN_OR_RETURN(JsonValue value, ParseOption(at, option, kDialect));
    members.Set(option.name, std::move(value));
    return {};
  };
  std::vector<MemberReader> readers = {{"encoding", [&](const JsonCursor& at) -> Status {
                                          if (at.value().is_string())
                                            encoding = FindInSchemas(kDialect, at.value().text());
                                          if (encoding == nullptr)
                                            return at.Expected(NamesInSchemas(kDialect));
                                          members.Set("encoding", at.value());
                                          return {};
                                        }}};
  for (const CodecDefinition* const codec : CodecDefinitions()) {
    const CodecDefinition::Name* const name = codec->NameIn(kDialect);
    if (name == nullptr || !IsInSchemas(*name, kDialect)) continue;
    for (const CodecOption& option : codec->options) {
      if (option.max == 0) continue;  // blocks are codec chunks of the chunk_layout
      readers.push_back(
          {std::string(option.name), [&, codec, name](const JsonCursor& at) -> Status {
             if (encoding == codec) return add(at, option);
             return Fail(ErrorCode::kDataLoss, at.path(), ": needs the encoding ", name->name);
           }});
    }
  }
  readers.push_back({std::string(kShardEncoding.name),
                     [&](const JsonCursor& at) { return add(at, kShardEncoding); }});
  return json.ReadMembers(WithDriver(std::move(readers)));
}

Status ParseZarr2(const JsonCursor& json, JsonValue& members) {
  const auto read_filters = [](const JsonCursor& filters) -> Status {
    if (filters.value().is_null() || filters.value() == JsonValue::Array()) return {};
    return filters.Expected("null, because arrays with filters cannot be created");
  };
  const auto read_compressor = [&](const JsonCursor& compressor) -> Status {
    JsonValue parsed;
    if (!compressor.value().is_null()) {
      UNSHARD_ASSIGN_OR_RETURN(parsed, ParseCompressor(compressor, ArrayDialect::kZarr2));
    }
    members.Set("compressor", std::move(parsed));
    return {};
  };
  return json.ReadMembers(WithDriver({{"compressor", read_compressor}, {"filters", read_filters}}));
}

Status ParseN5(const JsonCursor& json, JsonValue& members) {
  const auto read_compression = [&](const JsonCursor& compression) -> Status {
    UNSHARD_ASSIGN_OR_RETURN(JsonValue parsed, ParseCompressor(compression, ArrayDialect::kN5));
    members.Set("compression", std::move(parsed));
    return {};
  };
  return json.ReadMembers(WithDriver({{"compression", read_compression}}));
}

Status ParseZarr3(const JsonCursor& json, std::optional<ChainSpec>& chain) {
  return json.ReadMembers(WithDriver(
      {{"codecs", [&](const JsonCursor& codecs) { return Assign(chain, ParseCodecs(codecs)); }}}));
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

Status MergeChain(CodecSpec& into, std::string_view option, const ChainSpec& other) {
  const ChainSpec* const mine = into.FindChain(option);
  ChainSpec merged = mine != nullptr ? *mine : other;
  if (mine != nullptr) UNSHARD_RETURN_IF_ERROR(MergeCodecs(merged, other));
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
      UNSHARD_RETURN_IF_ERROR(MergeChain(into, key, *chain));
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

// Merges `other` into the chain of the inner chunks, and makes that where it is absent.
Status MergeInnerCodecs(CodecSpec& sharding, const ChainSpec& other) {
  const ChainSpec* const mine = sharding.FindChain(kInnerCodecs);
  ChainSpec inner = mine != nullptr ? *mine : ChainSpec();
  UNSHARD_RETURN_IF_ERROR(MergeCodecs(inner, other));
  SetChain(sharding, kInnerCodecs, std::move(inner));
  return {};
}

}  // namespace

std::string_view DriverName(ArrayDialect dialect) {
  if (dialect == ArrayDialect::kPrecomputed) return "neuroglancer_precomputed";
  return dialect == ArrayDialect::kZarr2 ? "zarr" : DialectName(dialect);
}

CodecSpec CodecOfSchema(std::string_view name, JsonValue options, NestedChains chains) {
  const bool none = options.members().empty();
  CodecSpec codec = CodecOfZarr3(std::string(name), none ? JsonValue() : std::move(options));
  codec.chains = std::move(chains);
  return codec;
}

void SetChain(CodecSpec& codec, std::string_view option, ChainSpec chain) {
  OptionsOf(codec).Set(option, CodecsJson(chain));
  std::erase_if(codec.chains, [&](const auto& each) { return each.first == option; });
  for (const CodecOption& each : codec.definition->options) {
    if (each.name == option) codec.chains.emplace_back(each.name, std::move(chain));
  }
}

JsonValue& OptionsOf(CodecSpec& codec) {
  if (codec.configuration() == nullptr) codec.json.Set("configuration", JsonValue::Object());
  return *codec.json.Find("configuration");
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

void SetDefaults(CodecSpec& codec) {
  const JsonValue given = OptionsOf(codec);
  JsonValue options = JsonValue::Object();
  for (const CodecOption& option : codec.definition->options) {
    const JsonValue* const value = given.Find(option.name);
    const auto complete =
        value != nullptr ? std::optional(*value) : DefaultOf(option, ArrayDialect::kZarr3);
    if (complete) options.Set(option.name, *complete);
  }
  codec = CodecOfSchema(codec.name, std::move(options), std::move(codec.chains));
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

Result<CodecConstraints> ParseCodecConstraints(const JsonCursor& json) {
  CodecConstraints constraints;
  UNSHARD_ASSIGN_OR_RETURN(constraints.dialect, ParseDriver(json));
  const auto parse = [&]() -> Status {
    switch (constraints.dialect) {
      case ArrayDialect::kPrecomputed:
        return ParsePrecomputed(json, constraints.members);
      case ArrayDialect::kZarr2:
        return ParseZarr2(json, constraints.members);
      case ArrayDialect::kN5:
        return ParseN5(json, constraints.members);
      case ArrayDialect::kZarr3:
        break;
    }
    return ParseZarr3(json, constraints.codecs);
  };
  UNSHARD_RETURN_IF_ERROR(parse());
  return constraints;
}

Status MergeCodecConstraints(CodecConstraints& into, const CodecConstraints& other) {
  if (into.dialect != other.dialect) {
    return Fail(ErrorCode::kInvalidArgument,
                "codec: conflicting drivers: ", DriverName(into.dialect), " and ",
                DriverName(other.dialect));
  }
  for (const auto& [key, value] : other.members.members()) {
    const JsonValue* const mine = into.members.Find(key);
    if (mine == nullptr) {
      into.members.Set(key, value);
    } else if (!SameMeaning(*mine, value)) {
      return Conflict("codec." + key, *mine, value);
    }
  }
  if (into.codecs && other.codecs) return MergeCodecs(*into.codecs, *other.codecs);
  if (other.codecs) into.codecs = other.codecs;
  return {};
}

Status MergeCodecs(ChainSpec& into, const ChainSpec& other) {
  const std::size_t height = ShardingHeight(into);
  const std::size_t other_height = ShardingHeight(other);
  if (height > other_height && into.size() == 1) return MergeInnerCodecs(into.front(), other);
  if (height < other_height && other.size() == 1) {
    ChainSpec sharded = other;
    UNSHARD_RETURN_IF_ERROR(MergeInnerCodecs(sharded.front(), into));
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

JsonValue DefaultZarr2Compressor() {
  const auto blosc = ParseJson(R"({"id": "blosc"})");
  return ParseCompressor(JsonCursor(*blosc, ""), ArrayDialect::kZarr2).value();
}

JsonValue DefaultN5Compression(std::uint64_t item_size) {
  const auto blosc = ParseJson(R"({"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": )" +
                               std::string(item_size == 1 ? "2" : "1") + "}");
  return ParseCompressor(JsonCursor(*blosc, ""), ArrayDialect::kN5).value();
}

}  // namespace unshard
