#include "codec/zarr3/rectilinear.h"

#include <string>
#include <utility>

namespace unshard {
namespace {

constexpr std::uint64_t kMaxNumber = ~std::uint64_t{0} >> 1;
constexpr const char* kChunkShapes = "chunk_shapes";

// An item of a list: an extent, or [extent, count].
Result<CellRun> ParseRun(const JsonCursor& item) {
  CellRun run;
  if (!item.value().is_array()) {
    UNSHARD_ASSIGN_OR_RETURN(run.cell_extent, item.Unsigned(1, kMaxNumber));
    return run;
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto pair, item.UnsignedItems(1, kMaxNumber));
  if (pair.size() != 2) return item.Expected("an extent, or [extent, count]");
  return CellRun{pair[0], pair[1]};
}

Result<std::vector<CellRun>> ParseRuns(const JsonCursor& list) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, list.Items());
  std::vector<CellRun> runs;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(const CellRun run, ParseRun(item));
    runs.push_back(run);
  }
  return runs;
}

Result<GridAxis> ParseAxis(const JsonCursor& axis, std::uint64_t extent) {
  if (!axis.value().is_array()) {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t cell_extent, axis.Unsigned(1, kMaxNumber));
    return GridAxis::Regular(extent, cell_extent);
  }
  UNSHARD_ASSIGN_OR_RETURN(const std::vector<CellRun> runs, ParseRuns(axis));
  auto parsed = GridAxis::Make(extent, runs);
  if (!parsed) return Forward(std::move(parsed).error(), axis.path());
  return parsed;
}

JsonValue AxisJson(const GridAxis& axis) {
  if (axis.is_regular()) return JsonValue::Number(axis.max_cell_extent());
  std::vector<JsonValue> items;
  for (const CellRun& run : axis.Runs()) {
    const JsonValue extent = JsonValue::Number(run.cell_extent);
    items.push_back(run.count == 1 ? extent
                                   : JsonValue::Array({extent, JsonValue::Number(run.count)}));
  }
  return JsonValue::Array(std::move(items));
}

}  // namespace

Result<ChunkGrid> ParseRectilinearGrid(const JsonCursor& configuration,
                                       const std::vector<std::uint64_t>& shape) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor kind, configuration.Member("kind"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, kind.String());
  if (name != "inline") {
    return Fail(ErrorCode::kNotSupported, kind.path(), ": \"", name,
                "\" is not supported; expected \"inline\"");
  }
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor lists, configuration.Member(kChunkShapes));
  UNSHARD_ASSIGN_OR_RETURN(const auto items, lists.Items());
  if (items.size() != shape.size()) {
    return lists.Expected(std::to_string(shape.size()) + " axes, as many as `shape`");
  }
  std::vector<GridAxis> axes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    UNSHARD_ASSIGN_OR_RETURN(GridAxis axis, ParseAxis(items[d], shape[d]));
    axes.push_back(std::move(axis));
  }
  auto grid = ChunkGrid::OfAxes(std::move(axes));
  if (!grid) return Forward(std::move(grid).error(), lists.path());
  return grid;
}

JsonValue RectilinearConfiguration(const ChunkGrid& grid) {
  std::vector<JsonValue> lists;
  for (std::size_t d = 0; d < grid.rank(); ++d) lists.push_back(AxisJson(grid.axis(d)));
  return JsonValue::Object(
      {{"kind", JsonValue::String("inline")}, {kChunkShapes, JsonValue::Array(std::move(lists))}});
}

void ExtendRectilinearGrid(JsonValue& configuration, const std::vector<std::uint64_t>& shape,
                           const std::vector<std::uint64_t>& unit) {
  std::vector<JsonValue>& lists = configuration.Find(kChunkShapes)->mutable_items();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!lists[d].is_array()) continue;
    std::uint64_t end = 0;
    const auto runs = ParseRuns(JsonCursor(lists[d], ""));
    for (const CellRun& run : *runs) end += run.cell_extent * run.count;
    if (end >= shape[d]) continue;
    const std::uint64_t units = (shape[d] - end - 1) / unit[d] + 1;
    lists[d].mutable_items().push_back(JsonValue::Number(units * unit[d]));
  }
}

}  // namespace unshard
