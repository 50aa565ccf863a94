#include "codec/zarr3/layout_digest.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/core/bytes.h"
#include "codec/core/crc32c.h"
#include "codec/json/meaning.h"
#include "codec/json/writer.h"

namespace unshard {
namespace {

constexpr std::array<ZarrMember, 11> kZarrMembers = {{{"zarr_format", true},
                                                      {"node_type", true},
                                                      {"shape", true},
                                                      {"data_type", true, true},
                                                      {"chunk_grid", true, true},
                                                      {"chunk_key_encoding", true, true},
                                                      {"fill_value", true},
                                                      {"codecs", true, true},
                                                      {"attributes"},
                                                      {"dimension_names"},
                                                      {"storage_transformers", true, true}}};

// Spools have digests that leave these out. An empty `value`: every value is a default, because
// decoding ignores the member.
struct ConfigurationDefault {
  std::string_view name;
  std::string_view member;
  std::string_view value;
};
constexpr std::array<ConfigurationDefault, 7> kDefaults = {{{"bytes", "endian", "\"little\""},
                                                            {"zstd", "checksum", "false"},
                                                            {"numcodecs.zstd", "checksum", "false"},
                                                            {"blosc", "blocksize", "0"},
                                                            {"blosc", "typesize", ""},
                                                            {"default", "separator", "\"/\""},
                                                            {"v2", "separator", "\".\""}}};

JsonValue Canonical(const JsonValue& value) {
  if (value.is_number()) return JsonValue::Number(CanonicalNumber(value.text()));
  if (value.is_array()) {
    std::vector<JsonValue> items;
    for (const JsonValue& item : value.items()) items.push_back(Canonical(item));
    return JsonValue::Array(std::move(items));
  }
  if (!value.is_object()) return value;
  std::vector<JsonValue::Member> members;
  for (const auto& [key, member] : value.members()) {
    if (!member.is_null()) members.emplace_back(key, Canonical(member));
  }
  std::sort(members.begin(), members.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return JsonValue::Object(std::move(members));
}

// Extension points, at any depth, without default values: only the name where nothing else is left.
JsonValue WithoutDefaults(const JsonValue& value) {
  if (value.is_array()) {
    std::vector<JsonValue> items;
    for (const JsonValue& item : value.items()) items.push_back(WithoutDefaults(item));
    return JsonValue::Array(std::move(items));
  }
  if (!value.is_object()) return value;
  JsonValue plain = JsonValue::Object();
  for (const auto& [key, member] : value.members()) plain.Set(key, WithoutDefaults(member));
  const JsonValue* const name = plain.Find("name");
  if (name == nullptr || !name->is_string()) return plain;
  const std::string named = name->text();
  if (JsonValue* const configuration = plain.Find("configuration")) {
    if (configuration->is_object()) {
      std::erase_if(configuration->mutable_members(), [&](const auto& member) {
        return member.second.is_null() || IsZarrDefault(named, member.first, member.second);
      });
    }
    const bool is_empty = configuration->is_object() && configuration->members().empty();
    if (configuration->is_null() || is_empty) plain.Erase("configuration");
  }
  return plain.members().size() == 1 ? JsonValue::String(named) : plain;
}

}  // namespace

const ZarrMember* FindZarrMember(std::string_view name) {
  const auto found = std::find_if(kZarrMembers.begin(), kZarrMembers.end(),
                                  [&](const ZarrMember& member) { return member.name == name; });
  return found != kZarrMembers.end() ? &*found : nullptr;
}

bool IsZarrDefault(std::string_view name, std::string_view member, const JsonValue& value) {
  return std::any_of(kDefaults.begin(), kDefaults.end(), [&](const ConfigurationDefault& known) {
    return known.name == name && known.member == member &&
           (known.value.empty() || known.value == WriteJson(value, 0));
  });
}

std::uint32_t LayoutDigest(const JsonValue& layout) {
  return Crc32c(AsBytes(WriteJson(Canonical(layout), 0)));
}

std::uint32_t ZarrLayoutDigest(const JsonValue& document) {
  JsonValue layout = JsonValue::Object();
  for (const ZarrMember& each : kZarrMembers) {
    const JsonValue* const member = each.is_digested ? document.Find(each.name) : nullptr;
    const bool none = member == nullptr || (member->is_array() && member->items().empty());
    if (!none) layout.Set(each.name, WithoutDefaults(*member));
  }
  return LayoutDigest(layout);
}

}  // namespace unshard
