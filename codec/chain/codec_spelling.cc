#include "codec/chain/codec_spelling.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "codec/json/number.h"

namespace unshard {
namespace {

// The position of a word, or the number that Zarr v2 and N5 have in its place; nothing where it is
// absent, or chosen by the codec.
std::optional<std::size_t> WordOf(const CodecOption& option, const JsonValue* value) {
  if (value == nullptr) return std::nullopt;
  const auto word = std::find(option.words.begin(), option.words.end(), value->text());
  if (word != option.words.end()) return word - option.words.begin();
  const auto number = FiniteNumberOf(*value);
  if (!number || *number < 0 || *number >= static_cast<double>(option.words.size())) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(*number);
}

// `value`: null where the option is absent. Nothing where it may stay so.
std::optional<JsonValue> SpellOption(const CodecOption& option, const JsonValue* value, Dialect to,
                                     std::uint32_t item_size) {
  const std::int64_t usual = option.is_item_size           ? item_size
                             : option.for_items != nullptr ? option.for_items(item_size)
                                                           : option.In(to).absent;
  if (!option.words.empty()) {
    const std::size_t word = WordOf(option, value).value_or(static_cast<std::size_t>(usual));
    const bool is_number = to != Dialect::kZarr3 && option.max_in_schemas != 0;
    return is_number ? JsonValue::Number(std::uint64_t{word})
                     : JsonValue::String(std::string(option.words[word]));
  }
  if (option.is_boolean) {
    return JsonValue::Boolean(value != nullptr ? value->boolean() : usual != 0);
  }
  if (option.max == 0 && !option.is_item_size) {
    return value != nullptr ? std::optional(*value) : std::nullopt;
  }
  return value != nullptr && value->is_number() ? *value : JsonValue::Number(std::to_string(usual));
}

// Options of one dialect alone are the last ones.
JsonValue SpellOptions(const CodecSpec& codec, Dialect to, std::uint32_t item_size) {
  const JsonValue own = codec.own_options();
  JsonValue spelled = JsonValue::Object();
  for (const bool is_special : {false, true}) {
    for (const CodecOption& option : codec.definition->options) {
      if (option.only_in.has_value() != is_special || option.only_in.value_or(to) != to) continue;
      auto value = SpellOption(option, own.Find(option.name), to, item_size);
      if (value) spelled.Set(option.In(to).name, *std::move(value));
    }
  }
  return spelled;
}

// The name that documents of `to` have for a codec. Null where there is none, and where they would
// not say all that decoding needs.
const CodecDefinition::Name* NameOf(const CodecSpec& codec, Dialect to) {
  if (codec.definition == nullptr || !codec.definition->IsBytesToBytes()) return nullptr;
  const CodecDefinition::Name* const name = codec.definition->NameIn(to);
  const auto& options = codec.definition->options;
  const bool is_any = codec.definition->describes_itself &&
                      std::none_of(options.begin(), options.end(), [](const CodecOption& option) {
                        return option.needed_to_decode;
                      });
  return is_any || (name != nullptr && to == codec.dialect && name->name == codec.name) ? name
                                                                                        : nullptr;
}

// As CodecSpec::name has it.
std::string NameInZarr3(const CodecDefinition* definition, Dialect dialect, std::string_view name) {
  if (dialect == Dialect::kZarr2) return "numcodecs." + std::string(name);
  return definition != nullptr ? definition->name() : std::string(name);
}

}  // namespace

std::vector<ToldByOption> ToldByOptions(Dialect dialect, std::string_view name) {
  std::vector<ToldByOption> codecs;
  for (const CodecDefinition* const codec : CodecDefinitions()) {
    for (const CodecDefinition::Name& each : codec->names) {
      if (each.dialect != dialect || each.name != name || each.when.empty()) continue;
      codecs.push_back({codec, each.when});
    }
  }
  return codecs;
}

const char* NameMember(Dialect dialect) {
  if (dialect == Dialect::kPrecomputed) return "encoding";
  return dialect == Dialect::kN5 ? "type" : "id";
}

std::optional<CodecSpec> SpellCodec(const CodecSpec& codec, Dialect to, std::uint32_t item_size) {
  const CodecDefinition::Name* const name = NameOf(codec, to);
  if (name == nullptr) return std::nullopt;
  JsonValue options = SpellOptions(codec, to, item_size);
  for (const auto& [other, option] : ToldByOptions(to, name->name)) {
    options.Set(option, JsonValue::Boolean(other == codec.definition));
  }
  return CodecIn(to, *codec.definition, std::move(options));
}

CodecSpec CodecIn(Dialect dialect, const CodecDefinition& definition, JsonValue options) {
  const std::string_view name = definition.NameIn(dialect)->name;
  CodecSpec codec{NameInZarr3(&definition, dialect, name), {}, {}, dialect, &definition};
  codec.json =
      ExtensionJson(codec.name, options.members().empty() ? JsonValue() : std::move(options));
  return codec;
}

Result<CodecSpec> ParseNamedCodec(const JsonCursor& codec, Dialect dialect) {
  const char* const key = NameMember(dialect);
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, codec.StringMember(key));
  const CodecDefinition* definition = FindCodec(dialect, name);
  for (const auto& [other, option] : ToldByOptions(dialect, name)) {
    const CodecOptions options(&codec.value(), codec.path());
    UNSHARD_ASSIGN_OR_RETURN(const bool is_meant, options.Boolean(option));
    if (is_meant) definition = other;
  }
  JsonValue options = codec.value();
  options.Erase(key);
  CodecSpec parsed{NameInZarr3(definition, dialect, name), {}, codec.path(), dialect, definition};
  parsed.json = ExtensionJson(parsed.name, std::move(options));
  return parsed;
}

JsonValue NamedCodecJson(const CodecSpec& codec) {
  const std::string_view name = codec.definition->NameIn(codec.dialect)->name;
  JsonValue json =
      JsonValue::Object({{NameMember(codec.dialect), JsonValue::String(std::string(name))}});
  const JsonValue* const options = codec.configuration();
  if (options == nullptr) return json;
  for (const auto& [option, value] : options->members()) json.Set(option, value);
  return json;
}

}  // namespace unshard
