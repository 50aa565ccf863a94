#include "fs/cli/copy_plan.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

#include "codec/array/document_names.h"
#include "codec/core/text.h"
#include "codec/json/parser.h"
#include "codec/pyramid/array_documents.h"
#include "codec/types/data_type.h"
#include "fs/common/readable.h"
#include "store/source/source.h"

namespace unshard {
namespace {

constexpr std::size_t kMostShown = 12;

// Counts of large grids stay at the largest number.
std::uint64_t Times(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return b != 0 && a > kMost / b ? kMost : a * b;
}

std::uint64_t BoxesIn(const std::vector<std::uint64_t>& shape,
                      const std::vector<std::uint64_t>& box) {
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    count = Times(count, shape[i] / box[i] + (shape[i] % box[i] != 0 ? 1 : 0));
  }
  return count;
}

std::uint64_t ChunksOf(const Array& array) {
  return array.rectilinear ? array.rectilinear->cell_count()
                           : BoxesIn(array.shape, array.chunk_shape);
}

bool IsSharded(const Array& array) {
  const bool is_zarr = array.dialect == Dialect::kZarr3;
  return array.shard_shape || (is_zarr ? !array.sharding.is_null() : array.sharding.is_object());
}

// At most: of volumes shards may be empty.
std::uint64_t FilesOf(const Array& array) {
  if (array.shard_shape) return BoxesIn(array.shape, *array.shard_shape);
  const JsonValue* bits = array.sharding.is_object() ? array.sharding.Find("shard_bits") : nullptr;
  if (bits == nullptr) return ChunksOf(array);
  const auto number = ParseNumber<unsigned>(bits->text());
  const std::uint64_t shards = number && *number < 63 ? std::uint64_t{1} << *number : 0;
  return shards == 0 ? ChunksOf(array) : std::min(shards, ChunksOf(array));
}

// 0 where the size of items is not known.
std::uint64_t VoxelBytesOf(const Array& array) {
  std::uint64_t bytes = array.voxels ? array.data_type.size : 0;
  for (const std::uint64_t extent : array.shape) bytes = Times(bytes, extent);
  return bytes;
}

std::string CodecText(const Array& array) {
  if (!array.codec) return Describe(array).encoding;
  std::string text = array.codec->text();
  if (TextOf(array.sharding, "data_encoding") == "gzip") text += ", gzip in the shards";
  return text;
}

// As the format lists it.
std::string ShapeIn(const Array& array, std::vector<std::uint64_t> shape) {
  if (ListsFastestAxisFirst(array.dialect)) std::reverse(shape.begin(), shape.end());
  return ShapeText(shape);
}

std::string FreeText(const std::string& destination) {
  if (IsUrl(destination)) return "";
  std::error_code failed;
  std::filesystem::path path = std::filesystem::absolute(destination, failed);
  while (path.has_relative_path() && !std::filesystem::exists(path, failed)) {
    path = path.parent_path();
  }
  const auto space = std::filesystem::space(path, failed);
  return failed ? "" : "; " + ReadableBytes(space.available) + " are free there";
}

// "4 shards and 64 chunks", "more than 4096 chunks".
std::string CountText(const PresentChunks& present) {
  std::string text = present.has_more ? "more than " : "";
  if (present.shards > 0) text += Counted(present.shards, "shard");
  if (present.shards > 0 && present.chunks > 0) text += " and ";
  if (present.chunks > 0) text += Counted(present.chunks, "chunk");
  return text;
}

// None where the document describes no arrays.
Result<std::vector<Array>> ArraysIn(std::string_view name, const JsonValue& document) {
  const auto dialect = DialectOfDocument(name);
  if (!dialect || !DescribesArrays(*dialect, document)) return std::vector<Array>();
  if (*dialect == Dialect::kPrecomputed) return ParseScales(document);
  UNSHARD_ASSIGN_OR_RETURN(Array array, ParseArray(*dialect, document, JsonValue()));
  return std::vector<Array>{std::move(array)};
}

}  // namespace

Result<std::vector<PlannedArray>> PlannedIn(const std::vector<NewDocument>& documents) {
  std::vector<PlannedArray> arrays;
  for (const NewDocument& one : documents) {
    const std::size_t slash = one.path.rfind('/');
    const std::string name = slash == one.path.npos ? one.path : one.path.substr(slash + 1);
    const std::string directory = slash == one.path.npos ? "" : one.path.substr(0, slash);
    const auto document = ParseJson(one.text);
    if (!document) return Forward(document.error(), one.path);
    auto found = ArraysIn(name, *document);
    if (!found) return Forward(std::move(found).error(), one.path);
    for (std::size_t i = 0; i < found->size(); ++i) {
      const std::string scale = name == "info" ? "scale " + std::to_string(i) : "";
      const std::string between = directory.empty() || scale.empty() ? "" : ", ";
      arrays.push_back({directory + between + scale, std::nullopt, std::move((*found)[i])});
    }
  }
  return arrays;
}

std::string StorageText(const Array& array) {
  const std::string chunks =
      array.rectilinear ? "of several shapes" : ShapeIn(array, array.chunk_shape);
  std::string text = std::string(DialectName(array.dialect)) + ", chunks " + chunks;
  if (array.shard_shape) text += ", shards " + ShapeIn(array, *array.shard_shape);
  if (!array.shard_shape && IsSharded(array)) {
    text += ", at most " + Counted(FilesOf(array), "shard");
  }
  const std::string codec = CodecText(array);
  return text + (codec.empty() ? "" : ", " + codec);
}

std::string PresentText(const PresentChunks& present, const CopyCommand& command) {
  if (present.shards + present.chunks == 0) return "";
  const std::string& source = command.source;
  const std::string& destination = command.create.destination;
  std::string text = destination + " has " + CountText(present) + " already: ";
  text += command.replaces ? "chunks that " + source + " has too are copied again\n"
                           : "chunks are kept, unless " + source +
                                 " has newer ones, or larger or smaller ones\n";
  if (!command.deletes) return text;
  text += "removes ";
  text += present.extra ? Counted(*present.extra, "chunk") : "the chunks";
  return text + " of " + destination + " that " + source + " lacks\n";
}

std::string PlanText(const std::vector<PlannedArray>& arrays, const std::string& destination) {
  std::string text;
  std::uint64_t chunks = 0, files = 0, bytes = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array& to = arrays[i].to;
    chunks += ChunksOf(to);
    files += FilesOf(to);
    bytes += VoxelBytesOf(to);
    if (i >= kMostShown) continue;
    text += (arrays[i].path.empty() ? destination : arrays[i].path) + ": " + ItemTypeName(to) +
            " " + ShapeIn(to, to.shape) + "\n";
    if (arrays[i].from) text += "  from " + StorageText(*arrays[i].from) + "\n";
    text += "  to   " + StorageText(to) + "\n";
  }
  if (arrays.size() > kMostShown) {
    text += "and " + Counted(arrays.size() - kMostShown, "array") + " more\n";
  }
  return text + "at most " + Counted(chunks, "chunk") + " in " + Counted(files, "file") + ", of " +
         ReadableBytes(bytes) + " of voxels before compression" + FreeText(destination) + "\n";
}

}  // namespace unshard
