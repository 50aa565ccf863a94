#include "codec/schema/new_dataset.h"

#include <algorithm>
#include <utility>

#include "codec/array/document_names.h"
#include "codec/schema/creation_steps.h"
#include "codec/schema/n5_creation.h"
#include "codec/schema/precomputed_creation.h"
#include "codec/schema/zarr2_creation.h"
#include "codec/schema/zarr3_creation.h"

namespace unshard {
namespace {

constexpr std::int64_t kMaxFactor = 1 << 20;
constexpr std::size_t kMaxScales = 64;

bool IsSpaceLabel(const std::string& label) { return label == "x" || label == "y" || label == "z"; }

// The labels of the dimensions; by position where the schema has none.
std::vector<std::string> LabelsOf(ArrayDialect format, const IndexDomain& domain) {
  const std::size_t rank = domain.rank();
  if (format == ArrayDialect::kPrecomputed) return {"x", "y", "z", "channel"};
  if (domain.labelled()) return domain.labels();
  // Fastest first; in the order of OME-Zarr.
  const std::vector<std::string> names = {"x", "y", "z", "c", "t"};
  std::vector<std::string> labels(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::string label = i < names.size() ? names[i] : "d" + std::to_string(i);
    labels[format == ArrayDialect::kN5 ? i : rank - 1 - i] = label;
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
Result<std::vector<std::vector<std::int64_t>>> TotalFactors(ArrayDialect format,
                                                            const IndexDomain& domain,
                                                            const NewScales& scales) {
  if (scales.count < 1 || scales.count > kMaxScales) {
    return CannotCreate("scales: expected 1 to 64 scales, found " + std::to_string(scales.count));
  }
  const std::vector<std::int64_t> usual = DefaultFactors(LabelsOf(format, domain));
  std::vector<std::vector<std::int64_t>> totals = {std::vector<std::int64_t>(domain.rank(), 1)};
  for (std::size_t level = 1; level < scales.count; ++level) {
    std::vector<std::int64_t> step = usual;
    if (!scales.factors.empty()) {
      step = scales.factors[std::min(level, scales.factors.size()) - 1];
      if (step.size() + 1 == domain.rank() && format == ArrayDialect::kPrecomputed) {
        step.push_back(1);
      }
    }
    if (step.size() != domain.rank()) {
      return CannotCreate("factors: expected one factor for each of the " +
                          std::to_string(domain.rank()) + " dimensions");
    }
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (step[i] < 1 || step[i] > kMaxFactor) {
        return CannotCreate("factors: expected numbers of 1 or more, found " +
                            std::to_string(step[i]));
      }
      const std::int64_t before = totals.back()[i];
      if (before > kInfiniteIndex / step[i])
        return CannotCreate("factors: their product is larger than 2^62");
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
    one.inclusive_min = FloorOf(one.inclusive_min, factors[i]);
    one.inclusive_max = one.inclusive_min + size - 1;
    if (i >= level.dimension_units.size()) continue;
    auto& unit = level.dimension_units[i];
    if (!unit && nanometres && i + 1 < factors.size()) unit = DimensionUnit{1, "nm"};
    if (unit) unit->multiplier *= static_cast<double>(factors[i]);
  }
  return level;
}

// The scales of several volumes with one scale each, as one volume.
Result<std::vector<DatasetDocument>> JoinScales(std::vector<JsonValue> infos) {
  JsonValue info = std::move(infos.front());
  std::vector<JsonValue>& scales = info.Find("scales")->mutable_items();
  for (std::size_t i = 1; i < infos.size(); ++i) {
    JsonValue scale = std::move(infos[i].Find("scales")->mutable_items().front());
    for (const JsonValue& other : scales) {
      if (TextOf(other, "key") != TextOf(scale, "key")) continue;
      return CannotCreate("two scales have the resolution " + TextOf(scale, "key") +
                          ": choose larger factors");
    }
    scales.push_back(std::move(scale));
  }
  return std::vector<DatasetDocument>{{"info", std::move(info)}};
}

Result<JsonValue> NewArray(ArrayDialect format, const Schema& schema) {
  switch (format) {
    case ArrayDialect::kPrecomputed:
      return NewPrecomputedVolume(schema);
    case ArrayDialect::kZarr3:
      return NewZarr3Array(schema);
    case ArrayDialect::kZarr2:
      return NewZarr2Array(schema);
    case ArrayDialect::kN5:
      break;
  }
  return NewN5Dataset(schema);
}

}  // namespace

Result<std::vector<DatasetDocument>> NewDataset(ArrayDialect format, const Schema& schema,
                                                const NewScales& scales) {
  Schema finest = schema;
  // The group of an OME-Zarr 0.4 pyramid has the units that a .zarray lacks.
  if (scales.count > 1 && format == ArrayDialect::kZarr2) finest.dimension_units.clear();
  UNSHARD_ASSIGN_OR_RETURN(JsonValue first, NewArray(format, finest));
  if (scales.count == 1) {
    return std::vector<DatasetDocument>{{ArrayDocumentName(format), std::move(first)}};
  }
  UNSHARD_ASSIGN_OR_RETURN(auto totals, TotalFactors(format, *schema.domain, scales));
  std::vector<JsonValue> levels = {std::move(first)};
  for (std::size_t i = 1; i < totals.size(); ++i) {
    const bool precomputed = format == ArrayDialect::kPrecomputed;
    UNSHARD_ASSIGN_OR_RETURN(JsonValue level,
                             NewArray(format, Coarser(finest, totals[i], precomputed)));
    levels.push_back(std::move(level));
  }
  if (format == ArrayDialect::kPrecomputed) return JoinScales(std::move(levels));
  return PyramidDocuments(format, {std::move(levels), LabelsOf(format, *schema.domain),
                                   schema.dimension_units, std::move(totals)});
}

}  // namespace unshard
