#include "codec/pyramid/ome_axes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "codec/pyramid/ome_version.h"

namespace unshard {
namespace {

// The axes of versions 0.1 and 0.2, which do not list them.
constexpr std::array<std::string_view, 5> kImpliedAxes = {"t", "c", "z", "y", "x"};

// The types of axes.
constexpr std::array<std::pair<PyramidAxis::Kind, std::string_view>, 3> kTypes = {
    {{PyramidAxis::Kind::kSpace, "space"},
     {PyramidAxis::Kind::kChannel, "channel"},
     {PyramidAxis::Kind::kTime, "time"}}};

// The objects of a list of names, or of objects.
Result<std::vector<JsonValue>> ObjectsOf(const JsonCursor& list) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, list.Items());
  std::vector<JsonValue> axes;
  for (const JsonCursor& axis : items) {
    if (!axis.value().is_string()) UNSHARD_RETURN_IF_ERROR(axis.ExpectObject());
    axes.push_back(axis.value().is_string() ? OmeAxisJson(AxisNamed(axis.value().text()))
                                            : axis.value());
  }
  return axes;
}

// The names of the systems that the transformations of the levels lead to; versions before the
// final 0.6 have the name alone.
std::set<std::string> OutputsOf(const JsonValue& multiscale) {
  std::set<std::string> names;
  for (const JsonValue& dataset : ItemsOf(multiscale, "datasets")) {
    for (const JsonValue& one : ItemsOf(dataset, "coordinateTransformations")) {
      const JsonValue* output = one.Find("output");
      if (output == nullptr) continue;
      const std::string name = output->is_string() ? output->text() : TextOf(*output, "name");
      if (!name.empty()) names.insert(name);
    }
  }
  return names;
}

Result<OmeAxes> AxesOfSystems(const JsonCursor& multiscale) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor list, multiscale.Member("coordinateSystems"));
  UNSHARD_ASSIGN_OR_RETURN(const auto systems, list.Items());
  const std::set<std::string> outputs = OutputsOf(multiscale.value());
  if (outputs.size() > 1) {
    return Fail(ErrorCode::kNotSupported, multiscale.path(),
                ".datasets: the levels lead to several coordinate systems, ", *outputs.begin(),
                " and ", *outputs.rbegin(), "; expected one");
  }
  if (outputs.empty() && systems.size() != 1) {
    return Fail(ErrorCode::kNotSupported, multiscale.path(),
                ".datasets: no level has an output, which says which of the ", systems.size(),
                " coordinate systems it leads to");
  }
  std::optional<OmeAxes> found;
  std::vector<JsonValue> others;
  for (const JsonCursor& system : systems) {
    UNSHARD_ASSIGN_OR_RETURN(std::string name, system.StringMember("name"));
    if (found || (!outputs.empty() && name != *outputs.begin())) {
      others.push_back(system.value());
      continue;
    }
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor axes, system.Member("axes"));
    found.emplace();
    UNSHARD_ASSIGN_OR_RETURN(found->axes, ObjectsOf(axes));
    found->system = std::move(name);
  }
  if (!found || found->system.empty()) {
    return Fail(ErrorCode::kNotSupported, list.path(), ": there is no system ",
                outputs.empty() ? "with a name" : *outputs.begin(), ", which the levels lead to");
  }
  found->others = std::move(others);
  return *std::move(found);
}

}  // namespace

Result<OmeAxes> AxesOfOme(const JsonCursor& multiscale, std::size_t rank) {
  const OmeShape shape = OmeShapeOf(multiscale.value());
  OmeAxes axes;
  if (shape == OmeShape::kSystems) {
    UNSHARD_ASSIGN_OR_RETURN(axes, AxesOfSystems(multiscale));
  } else if (shape != OmeShape::kNoAxes) {
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor list, multiscale.Member("axes"));
    UNSHARD_ASSIGN_OR_RETURN(axes.axes, ObjectsOf(list));
  } else if (rank == 0 || rank == kImpliedAxes.size()) {
    for (const std::string_view name : kImpliedAxes) {
      axes.axes.push_back(OmeAxisJson(AxisNamed(std::string(name))));
    }
  }
  if (rank == 0 || axes.axes.size() == rank) return axes;
  const std::string owner =
      axes.system.empty() ? "" : ".coordinateSystems, those of " + axes.system;
  return Fail(ErrorCode::kDataLoss, multiscale.path(), owner.empty() ? ".axes" : owner,
              ": expected ", rank, " axes, found ", axes.axes.size());
}

JsonValue OmeAxisJson(const PyramidAxis& axis) {
  JsonValue json = JsonValue::Object({{"name", JsonValue::String(axis.name)}});
  for (const auto& [kind, type] : kTypes) {
    if (axis.kind == kind) json.Set("type", JsonValue::String(std::string(type)));
  }
  const std::string& unit = axis.unit == "nm" ? "nanometer" : axis.unit;
  if (!unit.empty()) json.Set("unit", JsonValue::String(unit));
  return json;
}

PyramidAxis PyramidAxisOf(const JsonValue& axis) {
  PyramidAxis made = AxisNamed(TextOf(axis, "name"));
  const std::string type = TextOf(axis, "type");
  for (const auto& [kind, name] : kTypes) {
    if (type == name) made.kind = kind;
  }
  made.unit = TextOf(axis, "unit");
  return made;
}

}  // namespace unshard
