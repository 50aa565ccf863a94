// Arbitrary bytes as the documents of arrays in all formats: what is accepted has chunks, and is
// written, except for precomputed volumes, and reads back as the same array.
#include <optional>

#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/n5/dataset.h"
#include "codec/precomputed/info.h"
#include "codec/zarr2/array.h"
#include "codec/zarr3/document.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/array_texts.h"
#include "tests/support/chunk_paths.h"

namespace unshard {
namespace {

// The cell of the last chunk; nothing where there are no chunks.
std::optional<GridCell> RequireChunks(const Array& array) {
  const auto grid = GridOf(array);
  Require(grid.has_value(), "an array has a grid");
  if (grid->cell_count() == 0) return std::nullopt;
  GridCell last;
  for (const std::uint64_t extent : grid->grid_shape()) last.push_back(extent - 1);
  Require(ChunkShapeAt(array, *grid, last).size() == array.rank(), "chunks have the array's axes");
  Require(!ChunkPathOf(array, last).empty(), "chunks have names");
  return last;
}

void RequireSame(const Array& a, const Array& b) {
  Require(a.data_type == b.data_type && a.fill_value == b.fill_value, "types and fills are kept");
  Require(a.shape == b.shape && a.chunk_shape == b.chunk_shape && a.origin == b.origin,
          "shapes are kept");
  Require(a.shard_shape == b.shard_shape && a.axis_names == b.axis_names, "axes are kept");
  Require(SameEncoding(*a.codec, *b.codec), "codecs are kept");
  const auto last = RequireChunks(a);
  if (last) Require(ChunkPathOf(a, *last) == ChunkPathOf(b, *last), "keys are kept");
}

// Names of axes that Zarr v2 has no form for, and units of it and of N5, may be lost.
void TryZarr2(std::string_view text) {
  const auto array = ParseZarr2Array(text);
  if (!array) return Require(!array.error().message.empty(), "refusals say why");
  const auto documents = WriteZarr2Array(*array);
  if (!documents) return Require(!documents.error().message.empty(), "refusals say why");
  const auto again = ParseZarr2Array(WriteJson(documents->zarray));
  Require(again.has_value(), "what is written is read");
  RequireSame(*array, *again);
}

void TryZarr3(std::string_view text) {
  const auto array = ParseZarr3Array(text);
  if (!array) return Require(!array.error().message.empty(), "refusals say why");
  const auto document = WriteZarr3Array(*array);
  Require(document.has_value(), "what was read is written");
  const auto again = ParseZarr3Array(WriteJson(*document));
  Require(again.has_value(), "what is written is read");
  RequireSame(*array, *again);
}

void TryN5(std::string_view text) {
  auto array = ParseN5Dataset(text);
  if (!array) return Require(!array.error().message.empty(), "refusals say why");
  const auto document = WriteN5Dataset(*array);
  Require(document.has_value(), "what was read is written");
  const auto again = ParseN5Dataset(WriteJson(*document));
  Require(again.has_value(), "what is written is read");
  for (auto& name : array->axis_names) name = name.value_or("");
  RequireSame(*array, *again);
}

void TryInfo(std::string_view text) {
  const auto info = ParseNeuroglancerInfo(text);
  if (!info) return Require(!info.error().message.empty(), "refusals say why");
  for (const VolumeScale& scale : info->scales) {
    if (scale.array.voxels) {
      RequireChunks(scale.array);
    } else {
      Require(!scale.array.voxels.error().message.empty(), "refusals say why");
    }
  }
}

}  // namespace

void FuzzArrayDocument(ByteSpan input) {
  TryZarr2(AsText(input));
  TryZarr3(AsText(input));
  TryN5(AsText(input));
  TryInfo(AsText(input));
}

}  // namespace unshard
