#include "codec/schema/new_dataset.h"

#include <algorithm>
#include <utility>

#include "codec/array/document_names.h"
#include "codec/precomputed/scale.h"
#include "codec/pyramid/n5_pyramid.h"
#include "codec/pyramid/pyramid.h"
#include "codec/schema/new_array.h"

namespace unshard {
namespace {

constexpr std::int64_t kMaxFactor = 1 << 20;
constexpr std::size_t kMaxScales = 64;

bool IsSpaceLabel(const std::string& label) { return label == "x" || label == "y" || label == "z"; }

// The labels of the dimensions; by position where the schema has none.
std::vector<std::string> LabelsOf(Dialect dialect, const IndexDomain& domain) {
  const std::size_t rank = domain.rank();
  if (dialect == Dialect::kPrecomputed) return {"x", "y", "z", "channel"};
  if (domain.labelled()) return domain.labels();
  // Fastest first; in the order of OME-Zarr.
  const std::vector<std::string> names = {"x", "y", "z", "c", "t"};
  std::vector<std::string> labels(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::string label = i < names.size() ? names[i] : "d" + std::to_string(i);
    labels[dialect == Dialect::kN5 ? i : rank - 1 - i] = label;
  }
  return labels;
}

std::vector<std::int64_t> DefaultFactors(const std::vector<std::string>& labels) {
  const bool named = std::any_of(labels.begin(), labels.end(), IsSpaceLabel);
  std::vector<std::int64_t> factors;
  for (const std::string& label : labels) factors.push_back(!named || IsSpaceLabel(label) ? 2 : 1);
  return factors;
}

// The factors of every level with respect to the first one.
Result<std::vector<std::vector<std::int64_t>>> TotalFactors(Dialect dialect,
                                                            const IndexDomain& domain,
                                                            const NewScales& scales) {
  if (scales.count < 1 || scales.count > kMaxScales) {
    return Fail(ErrorCode::kInvalidArgument, "scales: expected 1 to 64 scales, found ",
                scales.count);
  }
  const std::vector<std::int64_t> usual = DefaultFactors(LabelsOf(dialect, domain));
  std::vector<std::vector<std::int64_t>> totals = {std::vector<std::int64_t>(domain.rank(), 1)};
  for (std::size_t level = 1; level < scales.count; ++level) {
    std::vector<std::int64_t> step = usual;
    if (!scales.factors.empty()) {
      step = scales.factors[std::min(level, scales.factors.size()) - 1];
      if (step.size() + 1 == domain.rank() && dialect == Dialect::kPrecomputed) {
        step.push_back(1);
      }
    }
    if (step.size() != domain.rank()) {
      return Fail(ErrorCode::kInvalidArgument, "factors: expected one factor for each of the ",
                  domain.rank(), " dimensions");
    }
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (step[i] < 1 || step[i] > kMaxFactor) {
        return Fail(ErrorCode::kInvalidArgument, "factors: expected numbers of 1 or more, found ",
                    step[i]);
      }
      const std::int64_t before = totals.back()[i];
      if (before > kInfiniteIndex / step[i])
        return Fail(ErrorCode::kInvalidArgument, "factors: their product is larger than 2^62");
      step[i] *= before;
    }
    totals.push_back(std::move(step));
  }
  return totals;
}

std::int64_t FloorOf(std::int64_t value, std::int64_t factor) {
  return value / factor - (value % factor < 0 ? 1 : 0);
}

// ⌈size / factor⌉, one factor after the other: rounding up twice is rounding up once.
std::int64_t CoarserSize(std::int64_t size, std::int64_t factor) {
  return size / factor + (size % factor != 0 ? 1 : 0);
}

// The schema of a level that is `factors` times as coarse as the first one.
Schema Coarser(const Schema& schema, const std::vector<std::int64_t>& factors, bool nanometres) {
  Schema level = schema;
  level.chunk_layout.grid_origin.clear();
  if (nanometres) level.dimension_units.resize(level.domain->rank());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    DomainDimension& one = level.domain->dimensions[i];
    const std::int64_t size = CoarserSize(one.size(), factors[i]);
    one.lower.value = FloorOf(one.lower.value, factors[i]);
    one.upper.value = one.lower.value + size - 1;
    if (i >= level.dimension_units.size()) continue;
    auto& unit = level.dimension_units[i];
    if (!unit && nanometres && i + 1 < factors.size()) unit = DimensionUnit{1, "nm"};
    if (unit) unit->multiplier *= static_cast<double>(factors[i]);
  }
  return level;
}

// Several levels of one volume, but not a precomputed one. Lists are in the order of the arrays.
struct Pyramid {
  Dialect dialect;
  std::vector<Array> levels;                       // the finest first
  std::vector<std::string> labels;                 // of the axes
  DimensionUnits units;                            // of the first level; empty: none
  std::vector<std::vector<std::int64_t>> factors;  // of each level, relative to the first one
};

// Lengths are in nanometres; other units, and none, stay. In N5, where none of them is a length,
// voxels are counted in pixels. Every level begins at 0.
PyramidGeometry GeometryOf(const Pyramid& pyramid) {
  PyramidGeometry geometry;
  std::vector<double> finest;
  for (std::size_t i = 0; i < pyramid.labels.size(); ++i) {
    PyramidAxis& axis = geometry.axes.emplace_back(AxisNamed(pyramid.labels[i]));
    const bool has_unit = i < pyramid.units.size() && pyramid.units[i];
    finest.push_back(has_unit ? TakeUnit(*pyramid.units[i], axis) : 1);
  }
  const bool has_length = std::any_of(geometry.axes.begin(), geometry.axes.end(),
                                      [](const PyramidAxis& axis) { return axis.unit == "nm"; });
  for (PyramidAxis& axis : geometry.axes) {
    if (pyramid.dialect == Dialect::kN5 && !has_length) axis.unit = "pixel";
  }
  for (const std::vector<std::int64_t>& factors : pyramid.factors) {
    LevelPosition level{finest, std::vector<double>(finest.size(), 0)};
    for (std::size_t i = 0; i < finest.size(); ++i) {
      level.resolution[i] *= static_cast<double>(factors[i]);
    }
    geometry.levels.push_back(std::move(level));
  }
  return geometry;
}

// The levels are 0, 1, …; in N5 s0, s1, ….
Result<std::vector<MetadataDocument>> DocumentsOf(Pyramid pyramid, const OmeVersion* ome) {
  const bool is_n5 = pyramid.dialect == Dialect::kN5;
  const PyramidGeometry geometry = GeometryOf(pyramid);
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < pyramid.levels.size(); ++i) {
    paths.push_back((is_n5 ? "s" : "") + std::to_string(i));
  }
  UNSHARD_ASSIGN_OR_RETURN(JsonValue attributes, PyramidAttributes(pyramid.dialect, ome, geometry,
                                                                   paths, JsonValue::Object()));
  if (is_n5) SetN5Version(attributes);
  auto documents = DocumentsOfGroup(pyramid.dialect, std::move(attributes));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    pyramid.levels[i].key_encoding.separator = '/';
    UNSHARD_ASSIGN_OR_RETURN(JsonValue level, DocumentOfNew(pyramid.levels[i]));
    if (is_n5) {
      UNSHARD_ASSIGN_OR_RETURN(const JsonValue members, N5LevelOf(geometry, i));
      for (const auto& [name, value] : members.members()) level.Set(name, value);
    }
    documents.push_back({paths[i], ArrayDocumentName(pyramid.dialect), std::move(level)});
  }
  return documents;
}

}  // namespace

Result<std::vector<MetadataDocument>> NewDataset(Dialect dialect, const Schema& schema,
                                                 const NewScales& scales, const OmeVersion* ome) {
  Schema finest = schema;
  // The group of an OME-Zarr 0.4 pyramid has the units that a .zarray lacks.
  if (scales.count > 1 && dialect == Dialect::kZarr2) finest.dimension_units.clear();
  UNSHARD_ASSIGN_OR_RETURN(Array first, NewArray(dialect, finest));
  if (scales.count == 1) {
    UNSHARD_ASSIGN_OR_RETURN(JsonValue document, DocumentOfNew(first));
    return std::vector<MetadataDocument>{{"", ArrayDocumentName(dialect), std::move(document)}};
  }
  UNSHARD_ASSIGN_OR_RETURN(auto totals, TotalFactors(dialect, *schema.domain, scales));
  const bool is_volume = dialect == Dialect::kPrecomputed;
  std::vector<Array> levels = {std::move(first)};
  for (std::size_t i = 1; i < totals.size(); ++i) {
    UNSHARD_ASSIGN_OR_RETURN(Array level, NewArray(dialect, Coarser(finest, totals[i], is_volume)));
    levels.push_back(std::move(level));
  }
  if (is_volume) {
    if (const auto key = SharedScaleKey(levels)) {
      return Fail(ErrorCode::kInvalidArgument, "two scales have the resolution ", *key,
                  ": choose larger factors");
    }
    return std::vector<MetadataDocument>{{"", ArrayDocumentName(dialect), WriteInfo(levels)}};
  }
  Pyramid pyramid{dialect, std::move(levels), LabelsOf(dialect, *schema.domain),
                  schema.dimension_units, std::move(totals)};
  if (ListsFastestAxisFirst(dialect)) {
    std::reverse(pyramid.labels.begin(), pyramid.labels.end());
    std::reverse(pyramid.units.begin(), pyramid.units.end());
    for (auto& factors : pyramid.factors) std::reverse(factors.begin(), factors.end());
  }
  return DocumentsOf(std::move(pyramid), ome);
}

}  // namespace unshard
