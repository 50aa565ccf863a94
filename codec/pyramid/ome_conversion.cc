#include "codec/pyramid/ome_conversion.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codec/json/cursor.h"
#include "codec/pyramid/ome_multiscale.h"

namespace unshard {
namespace {

using Shapes = std::vector<std::vector<std::uint64_t>>;

// Whether a multiscale has the form of the version. One with coordinate systems may have a spelling
// from before the final version, and is written anew.
bool IsAsIn(const OmeVersion& version, const JsonValue& multiscale) {
  const auto& datasets = ItemsOf(multiscale, "datasets");
  if (datasets.empty()) return true;
  const bool is_complete = std::ranges::all_of(datasets, [](const JsonValue& dataset) {
    return !ItemsOf(dataset, "coordinateTransformations").empty();
  });
  return is_complete && version.shape == OmeShape::kAxes &&
         OmeShapeOf(multiscale) == OmeShape::kAxes;
}

Status ConvertMultiscales(const OmeVersion& version, const Shapes& shapes, JsonValue& ome,
                          std::vector<std::string>& warnings) {
  JsonValue* multiscales = ome.Find("multiscales");
  if (multiscales == nullptr || !multiscales->is_array()) return {};
  for (std::size_t i = 0; i < multiscales->items().size(); ++i) {
    JsonValue& one = multiscales->mutable_items()[i];
    if (!one.is_object() || IsAsIn(version, one)) continue;
    const std::string path = ItemPath("multiscales", i);
    const auto model = ReadOmeMultiscale(JsonCursor(one, path), i == 0 ? shapes : Shapes());
    if (!model && i > 0) {
      warnings.push_back(model.error().message + "; left as it is");
      continue;
    }
    if (!model) return tl::unexpected<Error>(model.error());
    warnings.insert(warnings.end(), model->warnings.begin(), model->warnings.end());
    WriteOmeMultiscale(*model, version, path, one, warnings);
  }
  return {};
}

// The place in a list of the object with this name.
std::optional<std::size_t> PlaceOf(const JsonValue& plate, const char* list,
                                   const std::string& name) {
  const auto& items = ItemsOf(plate, list);
  const auto found = std::ranges::find_if(
      items, [&](const JsonValue& item) { return TextOf(item, "name") == name; });
  if (found == items.end()) return std::nullopt;
  return static_cast<std::size_t>(found - items.begin());
}

// Versions before 0.4 say where a well is only by its path, "A/1".
void CompletePlate(JsonValue& ome) {
  JsonValue* plate = ome.Find("plate");
  JsonValue* wells = plate != nullptr ? plate->Find("wells") : nullptr;
  if (wells == nullptr || !wells->is_array()) return;
  for (JsonValue& well : wells->mutable_items()) {
    if (!well.is_object() || well.Find("rowIndex") != nullptr) continue;
    const std::string path = TextOf(well, "path");
    const std::size_t slash = path.find('/');
    if (slash == std::string::npos) continue;
    const auto row = PlaceOf(*plate, "rows", path.substr(0, slash));
    const auto column = PlaceOf(*plate, "columns", path.substr(slash + 1));
    if (!row || !column) continue;
    well.Set("rowIndex", JsonValue::Number(std::uint64_t{*row}));
    well.Set("columnIndex", JsonValue::Number(std::uint64_t{*column}));
  }
}

// A window has all four numbers. Programs are known that state only two: those of what is shown, or
// those of what the data may have.
void CompleteWindows(JsonValue& ome) {
  JsonValue* omero = ome.Find("omero");
  JsonValue* channels = omero != nullptr ? omero->Find("channels") : nullptr;
  if (channels == nullptr || !channels->is_array()) return;
  const std::pair<const char*, const char*> same[] = {
      {"min", "start"}, {"start", "min"}, {"max", "end"}, {"end", "max"}};
  for (JsonValue& channel : channels->mutable_items()) {
    JsonValue* window = channel.Find("window");
    if (window == nullptr || !window->is_object()) continue;
    for (const auto& [missing, given] : same) {
      const JsonValue* number = window->Find(given);
      if (window->Find(missing) == nullptr && number != nullptr) window->Set(missing, *number);
    }
    if (window->Find("min") == nullptr || window->Find("max") == nullptr) channel.Erase("window");
  }
}

}  // namespace

bool HasOtherOmeVersion(Dialect dialect, const JsonValue& attributes, const OmeVersion& version) {
  const JsonValue ome = OmeOf(dialect, attributes);
  return !ome.is_null() && (dialect != version.dialect || OmeVersionOf(ome) != version.name);
}

Status ConvertOme(Dialect from, const OmeVersion& version, const std::vector<PyramidLevel>& levels,
                  JsonValue& attributes, std::vector<std::string>& warnings) {
  JsonValue ome = TakeOme(from, attributes);
  if (ome.is_null()) return {};
  Shapes shapes;
  for (const PyramidLevel& level : levels) shapes.push_back(level.array.shape);
  UNSHARD_RETURN_IF_ERROR(ConvertMultiscales(version, shapes, ome, warnings));
  CompletePlate(ome);
  CompleteWindows(ome);
  if (version.shape != OmeShape::kSystems && ome.Erase("scene")) {
    warnings.push_back("scene: OME-Zarr " + std::string(version.name) + " has none; left out");
  }
  PutOme(version, std::move(ome), attributes);
  return {};
}

}  // namespace unshard
