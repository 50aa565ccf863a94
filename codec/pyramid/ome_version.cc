#include "codec/pyramid/ome_version.h"

#include <algorithm>
#include <array>
#include <utility>

namespace unshard {
namespace {

constexpr std::array<OmeVersion, 6> kVersions = {
    {{"0.1", Dialect::kZarr2, OmeShape::kNoAxes, false},
     {"0.2", Dialect::kZarr2, OmeShape::kNoAxes, false},
     {"0.3", Dialect::kZarr2, OmeShape::kAxisNames, false},
     {"0.4", Dialect::kZarr2, OmeShape::kAxes, true},
     {"0.5", Dialect::kZarr3, OmeShape::kAxes, true},
     {"0.6", Dialect::kZarr3, OmeShape::kSystems, true}}};

// The members of attributes that are OME-Zarr's.
constexpr std::array<std::string_view, 9> kMembers = {
    "multiscales", "omero", "labels", "image-label",          "plate",
    "well",        "scene", "series", "bioformats2raw.layout"};
// Those that have a version in Zarr v2, beside each multiscale.
constexpr std::array<std::string_view, 3> kVersioned = {"image-label", "plate", "well"};

// Sets the version of each object that has one; "" removes it.
void SetVersions(std::string_view version, JsonValue& ome) {
  const auto set = [&](JsonValue& owner) {
    if (!owner.is_object()) return;
    owner.Erase("version");
    if (!version.empty()) owner.Set("version", JsonValue::String(std::string(version)));
  };
  for (const std::string_view name : kVersioned) {
    if (JsonValue* member = ome.Find(name)) set(*member);
  }
  JsonValue* multiscales = ome.Find("multiscales");
  if (multiscales == nullptr || !multiscales->is_array()) return;
  for (JsonValue& one : multiscales->mutable_items()) set(one);
}

}  // namespace

std::span<const OmeVersion> OmeVersions() { return kVersions; }

const OmeVersion* FindOmeVersion(std::string_view name) {
  const auto* const found = std::ranges::find_if(kVersions, [&](const OmeVersion& version) {
    return version.name == name && version.is_written;
  });
  return found == kVersions.end() ? nullptr : found;
}

std::string OmeVersionNames() {
  std::string names;
  for (const OmeVersion& version : kVersions) {
    if (version.is_written) names += (names.empty() ? "" : ", ") + std::string(version.name);
  }
  return names;
}

const OmeVersion& DefaultOmeVersion(Dialect dialect) {
  return *FindOmeVersion(dialect == Dialect::kZarr2 ? "0.4" : "0.5");
}

JsonValue OmeOf(Dialect dialect, const JsonValue& attributes) {
  if (dialect == Dialect::kZarr3) {
    const JsonValue* ome = attributes.Find("ome");
    return ome != nullptr && ome->is_object() ? *ome : JsonValue();
  }
  for (const std::string_view member : kMembers) {
    const JsonValue* found = attributes.Find(member);
    if (found != nullptr && (found->is_array() || found->is_object() || found->is_number())) {
      return attributes;
    }
  }
  return {};
}

std::string OmeVersionOf(const JsonValue& ome) {
  if (const std::string stated = TextOf(ome, "version"); !stated.empty()) return stated;
  for (const JsonValue& multiscale : ItemsOf(ome, "multiscales")) {
    if (const std::string stated = TextOf(multiscale, "version"); !stated.empty()) return stated;
  }
  for (const std::string_view name : kVersioned) {
    const JsonValue* member = ome.Find(name);
    if (member == nullptr) continue;
    if (const std::string stated = TextOf(*member, "version"); !stated.empty()) return stated;
  }
  return "";
}

OmeShape OmeShapeOf(const JsonValue& multiscale) {
  if (multiscale.Find("coordinateSystems") != nullptr) return OmeShape::kSystems;
  const auto& axes = ItemsOf(multiscale, "axes");
  if (axes.empty()) return OmeShape::kNoAxes;
  const bool is_named = std::ranges::any_of(axes, &JsonValue::is_string);
  return is_named ? OmeShape::kAxisNames : OmeShape::kAxes;
}

JsonValue TakeOme(Dialect dialect, JsonValue& attributes) {
  JsonValue ome;
  if (dialect == Dialect::kZarr3 || dialect == Dialect::kN5) {
    ome = OmeOf(Dialect::kZarr3, attributes);
    if (!ome.is_null()) attributes.Erase("ome");
    if (dialect == Dialect::kN5 && ome.is_object()) ome.Erase("multiscales");
  } else if (!OmeOf(dialect, attributes).is_null()) {
    ome = JsonValue::Object();
    for (const std::string_view member : kMembers) {
      JsonValue* value = attributes.Find(member);
      if (value == nullptr) continue;
      ome.Set(member, std::move(*value));
      attributes.Erase(member);
    }
  }
  if (ome.is_null()) return ome;
  ome.Erase("version");
  SetVersions("", ome);
  return ome;
}

void PutOme(const OmeVersion& version, JsonValue ome, JsonValue& attributes) {
  if (version.dialect == Dialect::kZarr3) {
    JsonValue versioned =
        JsonValue::Object({{"version", JsonValue::String(std::string(version.name))}});
    for (auto& [name, value] : ome.mutable_members()) versioned.Set(name, std::move(value));
    attributes.Set("ome", std::move(versioned));
    return;
  }
  SetVersions(version.name, ome);
  for (auto& [name, value] : ome.mutable_members()) attributes.Set(name, std::move(value));
}

}  // namespace unshard
