// The document of an array is changed to the wanted chunks and codec in these steps:
//
//   1. Data type and domain, and chunks as far as `wanted` does not constrain them, are taken from
//      the schema of the unsharded array that a view of the source presents.
//   2. A new array is created from both (codec/schema/new_array.h).
//   3. The array of the view is stored like the new one. Its codec stays if `wanted` does not
//      constrain it.
#include "codec/schema/copied_documents.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "codec/array/document_names.h"
#include "codec/json/meaning.h"
#include "codec/precomputed/scale.h"
#include "codec/pyramid/dataset_view.h"
#include "codec/pyramid/n5_pyramid.h"
#include "codec/pyramid/passed_chunks.h"
#include "codec/schema/array_schema.h"
#include "codec/schema/chunk_shape.h"
#include "codec/schema/new_array.h"

namespace unshard {
namespace {

// "2 numbers, but there are 3 dimensions (z, y, x); for example 32,64,64".
Status CheckRank(const Schema& wanted, const Schema& base) {
  const auto& rank = wanted.chunk_layout.rank;
  if (!rank || !base.domain || *rank == base.domain->rank()) return {};
  std::string names, example;
  const std::vector<std::string> labels = base.domain->labels();
  const Constraints<std::int64_t>& chunk = base.chunk_layout.read_chunk.shape;
  for (std::size_t i = 0; i < base.domain->rank(); ++i) {
    const char* comma = i == 0 ? "" : ",";
    if (base.domain->labelled()) names += (i == 0 ? " (" : ", ") + labels[i];
    if (i < chunk.size() && chunk[i].value) example += comma + std::to_string(*chunk[i].value);
  }
  return Fail(ErrorCode::kInvalidArgument, "chunk_layout: ", *rank,
              *rank == 1 ? " number" : " numbers", ", but there are ", base.domain->rank(),
              " dimensions", names, names.empty() ? "" : ")",
              example.empty() ? "" : "; for example " + example);
}

// The smallest divisor of `shard` from `extent` on; nothing where there is none.
std::optional<std::int64_t> DivisorFrom(std::int64_t shard, std::int64_t extent) {
  for (std::int64_t count = shard / extent; count > 0; --count) {
    if (shard % count == 0) return shard / count;
  }
  return std::nullopt;
}

// Shards of a shape that is asked for have whole chunks. `merged` has the chunks of the source as
// soft constraints, which would give way. They do so only along axes with one chunk, which stays
// one.
Status FitChunksToShards(const ChunkLayout& wanted, Schema& merged) {
  Constraints<std::int64_t>& chunks = merged.chunk_layout.read_chunk.shape;
  Constraints<std::int64_t>& shards = merged.chunk_layout.write_chunk.shape;
  const auto is_wanted = [](const Constraints<std::int64_t>& shape, std::size_t i) {
    return i < shape.size() && shape[i].value.has_value();
  };
  for (std::size_t i = 0; i < chunks.size() && i < shards.size(); ++i) {
    if (!is_wanted(wanted.write_chunk.shape, i) || is_wanted(wanted.read_chunk.shape, i)) continue;
    if (!chunks[i].value || *chunks[i].value <= 0 || !merged.domain) continue;
    const std::int64_t extent = std::max<std::int64_t>(merged.domain->dimensions[i].size(), 1);
    std::int64_t& chunk = *chunks[i].value;
    std::int64_t& shard = *shards[i].value;
    if (shard == -1) shard = (extent + chunk - 1) / chunk * chunk;
    if (shard % chunk == 0) continue;
    const auto divisor = chunk >= extent ? DivisorFrom(shard, extent) : std::nullopt;
    if (!divisor) return NoMultiple(shard, chunk, i);
    chunk = *divisor;
  }
  return {};
}

// Step 1.
Result<Schema> WithDefaults(const DescribedArray& array, Dialect format, const Schema& wanted) {
  const Schema& given = array.schema;
  if (given.dtype == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "dtype: there is no schema of ", array.dtype);
  }
  Schema base;
  base.dtype = given.dtype;
  base.domain = given.domain;
  if (format == Dialect::kPrecomputed && !wanted.codec) base.codec = given.codec;
  ChunkShapeConstraints& chunk = base.chunk_layout.read_chunk;
  chunk.shape = given.chunk_layout.read_chunk.shape;
  for (Constraint<std::int64_t>& extent : chunk.shape) extent.strength = Strength::kSoft;
  // Shards of a number of elements have a shape of their own.
  if (!wanted.chunk_layout.write_chunk.elements.value) base.chunk_layout.write_chunk = chunk;
  UNSHARD_RETURN_IF_ERROR(CheckRank(wanted, base));
  Schema merged = wanted;  // of soft constraints the first one wins
  UNSHARD_RETURN_IF_ERROR(merged.Merge(base));
  if (format != Dialect::kPrecomputed) {
    UNSHARD_RETURN_IF_ERROR(FitChunksToShards(wanted.chunk_layout, merged));
  }
  return merged;
}

// What `wanted` can say of an array whose chunks are passed on: only shards.
Schema ForPassedChunks(const Schema& wanted, const DescribedArray& array) {
  Schema shards;
  shards.rank = wanted.rank;
  shards.chunk_layout.rank = wanted.chunk_layout.rank;
  shards.chunk_layout.write_chunk = wanted.chunk_layout.write_chunk;
  const ChunkShapeConstraints& chunk = array.schema.chunk_layout.read_chunk;
  shards.chunk_layout.read_chunk.shape = chunk.shape;
  // Along an axis with one chunk a shard has that one.
  Constraints<std::int64_t>& shard = shards.chunk_layout.write_chunk.shape;
  for (std::size_t i = 0; i < shard.size() && i < chunk.shape.size(); ++i) {
    const bool is_one = *chunk.shape[i].value >= array.schema.domain->dimensions[i].size();
    if (is_one && shard[i].value) shard[i].value = chunk.shape[i].value;
  }
  return shards;
}

// Schemas have numbers of one byte for all types that they lack. Their size has no influence on
// shapes.
Array AsNumbers(Array array) {
  array.item_type = JsonValue();
  array.type_name.clear();
  if (OnlyPasses(array)) {
    array.data_type = kUint8;
    array.voxels = Status();
    array.fill_json = JsonValue();
    array.codec_json = JsonValue::Object({{"encoding", JsonValue::String("raw")}});
  }
  return array;
}

// "" unless `wanted` says more than shards of an array whose chunks are passed on.
std::string WarningOfPassedChunks(const Schema& wanted, const Array& array) {
  const ChunkShapeConstraints& chunk = wanted.chunk_layout.read_chunk;
  const bool has_chunk = !chunk.shape.empty() || chunk.elements.value.has_value();
  if (!OnlyPasses(array) || (!has_chunk && !wanted.codec)) return "";
  return "chunks that cannot be decoded keep their shape and codec: " +
         array.voxels.error().message;
}

// Stores `array` as `wanted` has it. `document`: its own, or its scale.
Status StoreAs(const Schema& wanted, Array array, JsonValue& document) {
  const Dialect dialect = array.dialect;
  const bool is_scale = dialect == Dialect::kPrecomputed;
  if (is_scale) array.axis_names = {"channel", "z", "y", "x"};
  // Schemas say nothing of such a grid, which the chunks keep.
  if (OnlyPasses(array) && array.rectilinear) return {};
  array.rectilinear.reset();  // what schemas say of chunks is said of regular grids
  const bool has_type = array.item_type.is_null() && !OnlyPasses(array);
  UNSHARD_ASSIGN_OR_RETURN(const DescribedArray described,
                           DescribeArray(has_type ? array : AsNumbers(array)));
  const Schema asked = OnlyPasses(array) ? ForPassedChunks(wanted, described) : wanted;
  UNSHARD_ASSIGN_OR_RETURN(const Schema constraints, WithDefaults(described, dialect, asked));
  UNSHARD_ASSIGN_OR_RETURN(const Array made, NewArray(dialect, constraints));
  array.chunk_shape = made.chunk_shape;
  array.shard_shape = made.shard_shape;
  if (is_scale) array.sharding = made.sharding;
  const bool has_codec = constraints.codec || constraints.chunk_layout.inner_order.value;
  if (has_codec && !OnlyPasses(array)) {
    array.codec_json = made.codec_json;
    array.sharding = made.sharding;
  } else if (is_scale && !array.sharding.is_null()) {
    // The encodings that a schema cannot ask for compress by themselves.
    array.sharding.Set("data_encoding", JsonValue::String("raw"));
  }
  if (is_scale) {
    SetEncoding(array, document);
    document.Set("chunk_sizes", *WriteScale(array).Find("chunk_sizes"));
  } else {
    UNSHARD_ASSIGN_OR_RETURN(auto documents, DocumentsOf(array));
    document = std::move(documents.front().content);
    QuoteBareNumbers(document);
  }
  return {};
}

Result<PresentedDataset> Present(const SourceDataset& source, Dialect to, const OmeVersion* ome) {
  return PresentDataset(source, to, {{}, true, false, ome});
}

}  // namespace

Result<std::vector<std::string>> LevelsOfCopy(const SourceDataset& source, Dialect to) {
  UNSHARD_ASSIGN_OR_RETURN(const PresentedDataset presented, Present(source, to, nullptr));
  std::vector<std::string> paths;
  for (const PresentedDataset::Level& level : presented.levels) paths.push_back(level.path);
  return paths;
}

Result<std::vector<MetadataDocument>> DocumentsOfCopy(const SourceDataset& source, Dialect to,
                                                      const std::optional<Schema>& wanted,
                                                      std::vector<std::string>* warnings,
                                                      const OmeVersion* ome) {
  UNSHARD_ASSIGN_OR_RETURN(PresentedDataset presented, Present(source, to, ome));
  if (warnings != nullptr) {
    warnings->insert(warnings->end(), presented.warnings.begin(), presented.warnings.end());
  }
  const bool is_volume = to == Dialect::kPrecomputed;
  for (std::size_t level = 0; wanted && level < presented.levels.size(); ++level) {
    std::string kept = WarningOfPassedChunks(*wanted, presented.levels[level].array.stored);
    if (warnings != nullptr && !kept.empty()) warnings->push_back(std::move(kept));
    const std::string directory = is_volume ? std::string() : presented.levels[level].path;
    for (MetadataDocument& document : presented.documents) {
      if (document.directory != directory || document.name != ArrayDocumentName(to)) continue;
      JsonValue& content = document.content;
      Status stored = StoreAs(*wanted, presented.levels[level].array.presented,
                              is_volume ? content.Find("scales")->mutable_items()[level] : content);
      if (stored) continue;
      return Forward(std::move(stored).error(), "level " + std::to_string(level));
    }
  }
  for (MetadataDocument& document : presented.documents) {
    if (to == Dialect::kN5 && document.directory.empty()) SetN5Version(document.content);
  }
  return std::move(presented.documents);
}

}  // namespace unshard
