#include "codec/pyramid/ome_multiscale.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "codec/pyramid/ome_axes.h"

namespace unshard {
namespace {

using Shapes = std::vector<std::vector<std::uint64_t>>;

constexpr const char* kTransformations = "coordinateTransformations";
// The system that what is applied to every level leads to in version 0.6.
constexpr const char* kSystemOfAll = "output";

Result<JsonCursor> DatasetAt(const JsonCursor& multiscale, std::size_t index) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor datasets, multiscale.Member("datasets"));
  return JsonCursor(datasets.value().items()[index], ItemPath(datasets.path(), index));
}

bool HasTransformations(const JsonValue& dataset) {
  return !ItemsOf(dataset, kTransformations).empty();
}

// --- Levels

// How much coarser a level is along an axis than the one before it: most writers halve, and round
// up or down.
std::uint64_t StepBetween(std::uint64_t before, std::uint64_t extent) {
  if (extent == 0 || extent == before) return 1;
  if (extent == before / 2 || extent == before / 2 + before % 2) return 2;
  return std::max<std::uint64_t>((before + extent / 2) / extent, 1);
}

// How much coarser a level is than the first one.
std::vector<double> FactorsOfShapes(const Shapes& shapes, std::size_t level) {
  std::vector<double> factors(shapes.front().size(), 1);
  for (std::size_t i = 1; i <= level; ++i) {
    for (std::size_t axis = 0; axis < factors.size(); ++axis) {
      factors[axis] *= static_cast<double>(StepBetween(shapes[i - 1][axis], shapes[i][axis]));
    }
  }
  return factors;
}

Result<OmeTransform> OwnTransform(const JsonCursor& multiscale, std::size_t dataset,
                                  std::size_t rank) {
  OmeTransform transform = IdentityTransform(rank);
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor owner, DatasetAt(multiscale, dataset));
  UNSHARD_ASSIGN_OR_RETURN(const auto list, owner.OptionalMember(kTransformations));
  if (list) UNSHARD_RETURN_IF_ERROR(ApplyTransformations(*list, transform));
  return transform;
}

// A level without transformations is as coarse as its shape says; its first voxel has the centre of
// those of the first level that it was made of.
Result<OmeTransform> TransformOfShapes(const JsonCursor& dataset, const OmeTransform& finest,
                                       const Shapes& shapes, std::size_t level) {
  if (shapes.empty()) {
    return Fail(ErrorCode::kNotSupported, dataset.path(), ".", kTransformations,
                ": expected a scale");
  }
  const std::vector<double> factors = FactorsOfShapes(shapes, level);
  OmeTransform transform = finest;
  for (std::size_t axis = 0; axis < factors.size(); ++axis) {
    const auto whole = static_cast<double>(shapes.front()[axis]);
    const auto extent = static_cast<double>(shapes[level][axis]);
    if (std::abs(whole / factors[axis] - extent) >= 1) {
      return Fail(ErrorCode::kNotSupported, dataset.path(), ": ", shapes[level][axis],
                  " voxels along axis ", axis, ", where the first level has ", shapes.front()[axis],
                  ", are no whole number of times as coarse");
    }
    transform.translation[axis] += (factors[axis] - 1) / 2 * transform.scale[axis];
    transform.states_translation |= transform.translation[axis] != 0;
    transform.scale[axis] *= factors[axis];
  }
  return transform;
}

// Some writers give the time of a single moment the scale 0.
Status CheckScale(const JsonCursor& dataset, const std::vector<JsonValue>& axes,
                  const Shapes& shapes, OmeTransform& transform) {
  for (std::size_t axis = 0; axis < transform.rank(); ++axis) {
    const bool is_single =
        std::ranges::all_of(shapes, [&](const auto& shape) { return shape[axis] == 1; });
    if (transform.scale[axis] == 0 && is_single) transform.scale[axis] = 1;
    if (transform.scale[axis] > 0) continue;
    return Fail(ErrorCode::kNotSupported, dataset.path(),
                ": expected a scale above 0 along the axis ", TextOf(axes[axis], "name"));
  }
  return {};
}

// What is in the way of another reader.
void WarnOfInput(const JsonCursor& dataset, std::vector<std::string>& warnings) {
  const std::string path = TextOf(dataset.value(), "path");
  for (const JsonValue& one : ItemsOf(dataset.value(), kTransformations)) {
    const JsonValue* input = one.Find("input");
    if (input == nullptr) continue;
    const std::string named = input->is_string() ? input->text() : TextOf(*input, "path");
    if (named.empty() || named == path) continue;
    warnings.push_back(dataset.path() + "." + kTransformations + ": the input names the path " +
                       named + "; the path of the dataset holds");
  }
}

Status ReadLevels(const JsonCursor& multiscale, const Shapes& shapes, OmeMultiscale& model) {
  const std::size_t rank = model.axes.size();
  for (const std::size_t dataset : OmeLevelOrder(multiscale)) {
    const std::size_t level = model.levels.size();
    UNSHARD_ASSIGN_OR_RETURN(const JsonCursor cursor, DatasetAt(multiscale, dataset));
    UNSHARD_ASSIGN_OR_RETURN(OmeTransform transform, OwnTransform(multiscale, dataset, rank));
    if (level > 0 && !HasTransformations(cursor.value())) {
      UNSHARD_ASSIGN_OR_RETURN(
          transform, TransformOfShapes(cursor, model.levels.front().transform, shapes, level));
    }
    UNSHARD_RETURN_IF_ERROR(CheckScale(cursor, model.axes, shapes, transform));
    if (!model.system.empty()) WarnOfInput(cursor, model.warnings);
    model.levels.push_back({TextOf(cursor.value(), "path"), dataset, std::move(transform)});
  }
  return {};
}

// Shapes of another number than there are datasets, or of another rank than there are axes.
Status CheckShapes(const JsonCursor& multiscale, std::size_t rank, const Shapes& shapes) {
  const auto& datasets = ItemsOf(multiscale.value(), "datasets");
  if (shapes.empty()) return {};
  if (datasets.size() != shapes.size()) {
    return Fail(ErrorCode::kDataLoss, multiscale.path(), ".datasets: expected ", shapes.size(),
                " levels, found ", datasets.size());
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].size() == rank) continue;
    return Fail(ErrorCode::kDataLoss, multiscale.path(), ".datasets[", i,
                "]: has another number of axes than the other levels");
  }
  return {};
}

// --- Writing

JsonValue Named(const char* member, const std::string& name) {
  return JsonValue::Object({{member, JsonValue::String(name)}});
}

// The members of axes that came with coordinate systems.
std::vector<JsonValue> WithoutNewMembers(std::vector<JsonValue> axes) {
  for (JsonValue& axis : axes) {
    for (const char* member : {"discrete", "longName"}) axis.Erase(member);
  }
  return axes;
}

// A transformation of 0.6 whose input and output are names alone, as before the final version.
JsonValue WithObjects(JsonValue transformation) {
  for (const char* member : {"input", "output"}) {
    JsonValue* end = transformation.Find(member);
    if (end != nullptr && end->is_string()) *end = Named("name", end->text());
  }
  return transformation;
}

// What is applied to every level is, in 0.6, a way to another system.
void AddSystemOfAll(const OmeMultiscale& model, const std::string& system,
                    std::vector<JsonValue>& systems, std::vector<JsonValue>& between) {
  if (!model.of_all) return;
  std::vector<JsonValue> axes = model.axes;
  for (JsonValue& axis : axes) axis.Erase("unit");
  systems.push_back(JsonValue::Object(
      {{"name", JsonValue::String(kSystemOfAll)}, {"axes", JsonValue::Array(std::move(axes))}}));
  JsonValue transformation = TransformationObject(*model.of_all);
  transformation.Set("input", Named("name", system));
  transformation.Set("output", Named("name", kSystemOfAll));
  between.push_back(std::move(transformation));
}

// The member that has the axes stays where it is.
void Rename(const char* from, const char* to, JsonValue& object) {
  if (object.Find(to) != nullptr) return void(object.Erase(from));
  for (auto& [name, value] : object.mutable_members()) {
    if (name == from) name = to;
  }
}

void WriteSystems(const OmeMultiscale& model, const std::string& system, JsonValue& multiscale) {
  std::vector<JsonValue> systems = {JsonValue::Object(
      {{"name", JsonValue::String(system)}, {"axes", JsonValue::Array(model.axes)}})};
  std::vector<JsonValue> between;
  for (const JsonValue& other : model.other_systems) systems.push_back(other);
  for (const JsonValue& one : model.between_systems.items()) between.push_back(WithObjects(one));
  AddSystemOfAll(model, system, systems, between);
  Rename("axes", "coordinateSystems", multiscale);
  multiscale.Set("coordinateSystems", JsonValue::Array(std::move(systems)));
  multiscale.Erase(kTransformations);
  if (!between.empty()) {
    multiscale.Set(kTransformations, JsonValue::Array(std::move(between)));
  }
}

// Returns what is left out.
std::string WriteAxes(const OmeMultiscale& model, JsonValue& multiscale) {
  const bool had_systems = !model.system.empty();
  Rename("coordinateSystems", "axes", multiscale);
  multiscale.Set("axes",
                 JsonValue::Array(had_systems ? WithoutNewMembers(model.axes) : model.axes));
  if (!had_systems) return "";
  std::string lost;
  for (const JsonValue& other : model.other_systems) {
    lost += (lost.empty() ? "" : ", ") + TextOf(other, "name");
  }
  if (!multiscale.Erase(kTransformations)) return lost;
  return lost + (lost.empty() ? "" : ", ") + "the transformations between systems";
}

}  // namespace

std::vector<std::size_t> OmeLevelOrder(const JsonCursor& multiscale) {
  const auto& datasets = ItemsOf(multiscale.value(), "datasets");
  std::vector<std::size_t> order(datasets.size());
  std::iota(order.begin(), order.end(), 0);
  const auto axes = AxesOfOme(multiscale, 0);
  std::vector<double> volumes;
  for (std::size_t i = 0; axes && i < datasets.size(); ++i) {
    const auto transform = OwnTransform(multiscale, i, axes->axes.size());
    if (!transform || !HasTransformations(datasets[i])) return order;
    double volume = 1;
    for (const double scale : transform->scale) volume *= scale > 0 ? scale : 1;
    volumes.push_back(volume);
  }
  if (volumes.size() != order.size()) return order;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return volumes[i]; });
  return order;
}

Result<OmeMultiscale> ReadOmeMultiscale(const JsonCursor& multiscale, const Shapes& shapes) {
  const std::size_t rank = shapes.empty() ? 0 : shapes.front().size();
  UNSHARD_ASSIGN_OR_RETURN(OmeAxes axes, AxesOfOme(multiscale, rank));
  OmeMultiscale model;
  model.name = TextOf(multiscale.value(), "name");
  model.axes = std::move(axes.axes);
  model.system = std::move(axes.system);
  model.other_systems = std::move(axes.others);
  UNSHARD_RETURN_IF_ERROR(CheckShapes(multiscale, model.axes.size(), shapes));
  UNSHARD_RETURN_IF_ERROR(ReadLevels(multiscale, shapes, model));
  UNSHARD_ASSIGN_OR_RETURN(const auto list, multiscale.OptionalMember(kTransformations));
  if (!list || list->value().items().empty()) return model;
  if (!model.system.empty()) {
    model.between_systems = list->value();
    return model;
  }
  model.of_all = IdentityTransform(model.axes.size());
  UNSHARD_RETURN_IF_ERROR(ApplyTransformations(*list, *model.of_all));
  return model;
}

void WriteOmeMultiscale(const OmeMultiscale& model, const OmeVersion& version,
                        const std::string& path, JsonValue& multiscale,
                        std::vector<std::string>& warnings) {
  const bool has_systems = version.shape == OmeShape::kSystems;
  const std::string system = model.system.empty() ? kOmeSystem : model.system;
  const std::vector<JsonValue> before = ItemsOf(multiscale, "datasets");
  std::vector<JsonValue> datasets;
  for (const OmeMultiscale::Level& level : model.levels) {
    JsonValue dataset = level.dataset < before.size() ? before[level.dataset] : JsonValue::Object();
    dataset.Set("path", JsonValue::String(level.path));
    JsonValue list = TransformationList(level.transform);
    if (has_systems) {
      JsonValue one = TransformationObject(level.transform);
      one.Set("input", Named("path", level.path));
      one.Set("output", Named("name", system));
      list = JsonValue::Array({std::move(one)});
    }
    dataset.Set(kTransformations, std::move(list));
    datasets.push_back(std::move(dataset));
  }
  if (has_systems) {
    WriteSystems(model, system, multiscale);
  } else {
    const std::string lost = WriteAxes(model, multiscale);
    if (!lost.empty()) {
      warnings.push_back(path + ": OME-Zarr " + std::string(version.name) +
                         " has one coordinate system; left out: " + lost);
    }
  }
  multiscale.Set("datasets", JsonValue::Array(std::move(datasets)));
}

}  // namespace unshard
