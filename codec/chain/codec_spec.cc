#include "codec/chain/codec_spec.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <variant>

#include "codec/chain/transpose.h"
#include "codec/core/text.h"

namespace unshard {
namespace {

constexpr std::array<std::string_view, 2> kSpecificationUris = {"https://purl.org/zarr/spec/",
                                                                "http://purl.org/zarr/spec/"};

// Extensions that every current reader knows, so that must_understand is redundant.
constexpr std::array<std::string_view, 9> kCoreNames = {
    "bytes",  "transpose",        "gzip",    "zstd",   "blosc",
    "crc32c", "sharding_indexed", "regular", "default"};

// Drafts of the specification had an order of "C", the identity, and "F", the reversal.
void SpellOutOrder(JsonValue& codec, std::size_t rank) {
  JsonValue* configuration = codec.Find("configuration");
  if (configuration == nullptr) return;
  const JsonValue* order = configuration->Find("order");
  if (order == nullptr || !order->is_string()) return;
  if (order->text() != "C" && order->text() != "F") return;
  const bool reversed = order->text() == "F";
  std::vector<JsonValue> items;
  for (std::size_t i = 0; i < rank; ++i) {
    items.push_back(JsonValue::Number(std::uint64_t{reversed ? rank - 1 - i : i}));
  }
  configuration->Set("order", JsonValue::Array(std::move(items)));
}

// "bytes" for "https://purl.org/zarr/spec/codec/bytes/1.0"; any other name as it is.
std::string ShortExtensionName(std::string_view name) {
  for (const std::string_view uri : kSpecificationUris) {
    if (!name.starts_with(uri)) continue;
    const std::string_view path = name.substr(uri.size());  // KIND/NAME or KIND/NAME/VERSION
    const std::size_t kind_end = path.find('/');
    if (kind_end == std::string_view::npos) break;
    const std::string_view rest = path.substr(kind_end + 1);
    const std::string_view short_name = rest.substr(0, rest.find('/'));
    if (!short_name.empty()) return std::string(short_name);
  }
  return std::string(name);
}

Result<CodecSpec> ParseCodec(const JsonCursor& cursor, std::size_t rank) {
  UNSHARD_ASSIGN_OR_RETURN(JsonValue json, NormaliseExtension(cursor));
  std::string name = json.Find("name")->text();
  if (name == "endian") {
    name = "bytes";
    json.Set("name", JsonValue::String(name));
  }
  if (name == "transpose") SpellOutOrder(json, rank);
  const CodecDefinition* const definition = FindCodec(Dialect::kZarr3, name);
  CodecSpec codec{std::move(name), std::move(json), cursor.path(), Dialect::kZarr3, definition};
  if (definition == nullptr) return codec;
  for (const CodecOption& option : definition->options) {
    if (!option.chain_dimensions) continue;
    UNSHARD_ASSIGN_OR_RETURN(const auto codecs, codec.options().Find(option.name));
    if (!codecs) continue;
    UNSHARD_ASSIGN_OR_RETURN(ChainSpec chain,
                             ParseChainSpec(*codecs, rank + *option.chain_dimensions));
    codec.chains.emplace_back(option.name, std::move(chain));
  }
  return codec;
}

constexpr std::string_view kNumcodecs = "numcodecs.";

// The function of `codec`, where it is of this kind; else null.
template <class Bind>
Bind BindOf(const CodecSpec& codec) {
  if (codec.definition == nullptr) return nullptr;
  const Bind* const bind = std::get_if<Bind>(&codec.definition->bind);
  return bind != nullptr ? *bind : nullptr;
}

}  // namespace

CodecOption::Spelling CodecOption::In(Dialect dialect) const {
  Spelling spelling{dialect, absent};
  for (const Spelling& each : spellings) {
    if (each.dialect == dialect) spelling = each;
  }
  if (spelling.name.empty()) spelling.name = name;
  if (!spelling.min) spelling.min = min;
  if (!spelling.created && spelling.has_default) spelling.created = spelling.absent;
  return spelling;
}

const CodecOption* CodecDefinition::FindOption(std::string_view name) const {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const CodecOption& each) { return each.name == name; });
  return found == options.end() ? nullptr : &*found;
}

const CodecDefinition::Name* CodecDefinition::NameIn(Dialect dialect) const {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const Name& each) { return each.dialect == dialect; });
  return found == names.end() ? nullptr : &*found;
}

std::string CodecDefinition::name() const {
  for (const auto& [dialect, before] :
       {std::pair(Dialect::kZarr3, ""), std::pair(Dialect::kZarr2, "numcodecs."),
        std::pair(Dialect::kN5, "n5."), std::pair(Dialect::kPrecomputed, "")}) {
    if (const Name* const found = NameIn(dialect)) return before + std::string(found->name);
  }
  return "";
}

CodecOptions CodecSpec::options() const {
  const bool of_numcodecs = name.starts_with(kNumcodecs) && dialect == Dialect::kZarr3;
  return {configuration(), configuration_path(), definition,
          of_numcodecs ? Dialect::kZarr2 : dialect};
}

const ChainSpec* CodecSpec::FindChain(std::string_view option) const {
  const auto found = std::find_if(chains.begin(), chains.end(),
                                  [&](const auto& chain) { return chain.first == option; });
  return found != chains.end() ? &found->second : nullptr;
}

std::string CodecSpec::at() const {
  if (dialect != Dialect::kZarr2) return json_path + ": the codec \"" + name + "\"";
  const bool of_numcodecs = name.starts_with(kNumcodecs);
  return json_path + ".id: the codec \"" + name.substr(of_numcodecs ? kNumcodecs.size() : 0) + "\"";
}

JsonValue CodecSpec::own_options() const {
  const JsonValue* const members = configuration();
  // N5 has members beside the options.
  JsonValue own = dialect == Dialect::kN5 || members == nullptr ? JsonValue::Object() : *members;
  for (const CodecOption& option : definition->options) {
    const std::string_view name_here = option.In(dialect).name;
    const JsonValue* const member = members != nullptr ? members->Find(name_here) : nullptr;
    if (option.max == 0) {
      if (member != nullptr) own.Set(option.name, *member);
      continue;
    }
    const auto value = options().Integer(option.name);
    if (value) own.Set(option.name, JsonValue::Number(std::to_string(*value)));
  }
  return own;
}

std::string CodecSpec::text() const {
  if (definition == nullptr) return name;
  const std::string own = definition->name();
  if (own == "bytes" || own == "transpose") return "";
  std::string text = name.substr(name.starts_with(kNumcodecs) ? kNumcodecs.size() : 0);
  const JsonValue values = own_options();
  for (const CodecOption& option : definition->options) {
    const JsonValue* const value = values.Find(option.name);
    if (value == nullptr) continue;
    const bool is_level = option.name == "level" || option.name == "clevel";
    if (is_level && value->is_number()) text += " " + value->text();
    for (const JsonValue& item : value->items()) {
      if (item.is_number()) text += (&item == value->items().data() ? " " : " x ") + item.text();
    }
  }
  return text;
}

JsonValue CodecSpec::DecodingKey() const {
  const JsonValue own = own_options();
  if (!definition->describes_itself) return ExtensionJson(name, own);
  JsonValue needed = JsonValue::Object();
  for (const CodecOption& option : definition->options) {
    const JsonValue* const value = option.needed_to_decode ? own.Find(option.name) : nullptr;
    if (value != nullptr) needed.Set(option.name, *value);
  }
  return ExtensionJson(definition->name(), std::move(needed));
}

CodecSpec CodecOfZarr3(std::string name, JsonValue configuration, std::string json_path) {
  JsonValue json = ExtensionJson(name, std::move(configuration));
  const CodecDefinition* const definition = FindCodec(Dialect::kZarr3, name);
  return {std::move(name), std::move(json), std::move(json_path), Dialect::kZarr3, definition};
}

Result<ArrayCodecPtr> BindArrayToArray(const CodecSpec& codec, const ArrayRepresentation& decoded) {
  const auto bind = BindOf<CodecDefinition::BindArrayToArray>(codec);
  return bind != nullptr ? bind(codec, decoded) : Result<ArrayCodecPtr>(nullptr);
}

Result<BytesCodecPtr> BindBytesToBytes(const CodecSpec& codec, std::uint32_t item_size) {
  const auto bind = BindOf<CodecDefinition::BindBytesToBytes>(codec);
  return bind != nullptr ? bind(codec, item_size) : Result<BytesCodecPtr>(nullptr);
}

Result<JsonValue> NormaliseExtension(const JsonCursor& extension) {
  if (extension.value().is_string()) {
    return JsonValue::Object(
        {{"name", JsonValue::String(ShortExtensionName(extension.value().text()))}});
  }
  if (!extension.value().is_object()) return extension.Expected("a name or an object with a name");
  UNSHARD_ASSIGN_OR_RETURN(std::string name, extension.StringMember("name"));
  name = ShortExtensionName(name);
  JsonValue normalised = extension.value();
  const JsonValue* configuration = normalised.Find("configuration");
  if (configuration != nullptr && configuration->is_null()) {
    normalised.Erase("configuration");
  } else if (configuration != nullptr && !configuration->is_object()) {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor cursor, extension.Member("configuration"));
    return cursor.Expected("an object");
  }
  const JsonValue* must_understand = normalised.Find("must_understand");
  if (must_understand != nullptr && must_understand->is_boolean() &&
      (must_understand->boolean() || IsOneOf(kCoreNames, name))) {
    normalised.Erase("must_understand");
  }
  normalised.Set("name", JsonValue::String(std::move(name)));
  return normalised;
}

JsonValue ExtensionJson(std::string_view name, JsonValue configuration) {
  JsonValue extension = JsonValue::Object({{"name", JsonValue::String(std::string(name))}});
  if (!configuration.is_null()) extension.Set("configuration", std::move(configuration));
  return extension;
}

Result<ChainSpec> ParseChainSpec(const JsonCursor& codecs, std::size_t rank) {
  constexpr std::size_t kMostCodecs = 1024;
  UNSHARD_ASSIGN_OR_RETURN(const std::vector<JsonCursor> items, codecs.Items(kMostCodecs));
  ChainSpec chain;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(CodecSpec codec, ParseCodec(item, rank));
    chain.push_back(std::move(codec));
  }
  return chain;
}

JsonValue CodecsJson(const ChainSpec& chain) {
  std::vector<JsonValue> codecs;
  for (const CodecSpec& codec : chain) codecs.push_back(codec.json);
  return JsonValue::Array(std::move(codecs));
}

std::optional<std::size_t> FindSharding(const ChainSpec& chain) {
  const auto found = std::find_if(chain.begin(), chain.end(), [](const CodecSpec& codec) {
    return codec.name == kShardingIndexed;
  });
  if (found == chain.end()) return std::nullopt;
  return static_cast<std::size_t>(found - chain.begin());
}

Result<std::vector<std::size_t>> TransposeOrder(const CodecSpec& transpose, std::size_t rank) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor order, transpose.options().Member("order"));
  return ParseOrder(order, rank);
}

Result<bool> IsBigEndian(const CodecSpec& bytes) {
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t byte_order, bytes.options().Word("endian"));
  return byte_order != 0;
}

}  // namespace unshard
