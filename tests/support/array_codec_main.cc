// Reads and writes whole unsharded arrays as unshard does, so that other libraries can judge
// documents, chunk keys, fill values and chunk codecs of Zarr v3, Zarr v2 and N5 in both
// directions.
//
//   array_codec read DIRECTORY >voxels
//   array_codec write DIRECTORY NEW <voxels
//
// `read` takes the array that stands in DIRECTORY. `write` makes one in NEW with the metadata of
// that in DIRECTORY and the voxels of its standard input. Voxels are little-endian, in C order with
// the slowest axis first: in N5 the last dimension. A failure ends it with 1 and a line on stderr.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/json/writer.h"
#include "codec/n5/dataset.h"
#include "codec/zarr2/array.h"
#include "codec/zarr3/document.h"
#include "tests/support/array_texts.h"
#include "tests/support/chunk_paths.h"

namespace unshard {
namespace {

namespace fs = std::filesystem;
using Position = std::vector<std::uint64_t>;

ByteVector ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void WriteFile(const fs::path& path, std::string_view bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string TextAt(const fs::path& path) { return std::string(AsText(ReadFile(path))); }

Result<Array> Parse(const fs::path& directory) {
  if (fs::exists(directory / "zarr.json")) return ParseZarr3Array(TextAt(directory / "zarr.json"));
  if (fs::exists(directory / ".zarray")) {
    return ParseZarr2Array(TextAt(directory / ".zarray"), TextAt(directory / ".zattrs"));
  }
  return ParseN5Dataset(TextAt(directory / "attributes.json"));
}

Status WriteDocuments(const Array& array, const fs::path& directory) {
  if (array.dialect == Dialect::kZarr2) {
    UNSHARD_ASSIGN_OR_RETURN(const Zarr2Documents documents, WriteZarr2Array(array));
    WriteFile(directory / ".zarray", WriteJson(documents.zarray));
    WriteFile(directory / ".zattrs", WriteJson(documents.zattrs));
  } else if (array.dialect == Dialect::kN5) {
    UNSHARD_ASSIGN_OR_RETURN(const JsonValue document, WriteN5Dataset(array));
    WriteFile(directory / "attributes.json", WriteJson(document));
  } else {
    UNSHARD_ASSIGN_OR_RETURN(const JsonValue document, WriteZarr3Array(array));
    WriteFile(directory / "zarr.json", WriteJson(document));
  }
  return {};
}

// Calls visit(in_chunk, in_array) with the item offsets of every voxel of the chunk at `cell` that
// lies within the array.
template <class Visit>
void VisitVoxels(const Array& array, const GridCell& cell, const Position& chunk_shape,
                 const Visit& visit) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : chunk_shape) count *= extent;
  Position position(array.rank());
  for (std::uint64_t item = 0; item < count; ++item) {
    CellOfLinearIndex(chunk_shape, item, position);
    std::uint64_t offset = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < array.rank(); ++axis) {
      const std::uint64_t at = cell[axis] * array.chunk_shape[axis] + position[axis];
      inside = inside && at < array.shape[axis];
      offset = offset * array.shape[axis] + at;
    }
    if (inside) visit(item, offset);
  }
}

Result<ByteVector> Read(const fs::path& directory) {
  UNSHARD_ASSIGN_OR_RETURN(const Array array, Parse(directory));
  UNSHARD_ASSIGN_OR_RETURN(const ChunkGrid grid, GridOf(array));
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, VoxelBytes(array.data_type, array.shape));
  const std::size_t item_size = array.data_type.size;
  const ByteVector fill_value = FillValueOf(array);
  ByteVector voxels(size);
  for (std::uint64_t at = 0; at < size; at += item_size) {
    std::copy(fill_value.begin(), fill_value.end(), voxels.data() + at);
  }
  GridCell cell(array.rank());
  for (std::uint64_t index = 0; index < grid.cell_count(); ++index) {
    CellOfLinearIndex(grid.grid_shape(), index, cell);
    const std::string key = ChunkPathOf(array, cell);
    if (!fs::exists(directory / key)) continue;
    const auto shape = ChunkShapeAt(array, grid, cell);
    auto chunk = array.codec->Decode(ReadFile(directory / key), shape);
    if (!chunk) return Forward(std::move(chunk).error(), key);
    VisitVoxels(array, cell, shape, [&](std::uint64_t in_chunk, std::uint64_t in_array) {
      std::copy_n(chunk->bytes().data() + in_chunk * item_size, item_size,
                  voxels.data() + in_array * item_size);
    });
  }
  return voxels;
}

Result<ByteVector> Write(const fs::path& directory, const fs::path& target,
                         const ByteVector& voxels) {
  UNSHARD_ASSIGN_OR_RETURN(const Array array, Parse(directory));
  UNSHARD_ASSIGN_OR_RETURN(const ChunkGrid grid, GridOf(array));
  UNSHARD_RETURN_IF_ERROR(WriteDocuments(array, target));
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, VoxelBytes(array.data_type, array.shape));
  if (voxels.size() != size) return Fail(ErrorCode::kInvalidArgument, "expected other voxels");
  const std::size_t item_size = array.data_type.size;
  GridCell cell(array.rank());
  for (std::uint64_t index = 0; index < grid.cell_count(); ++index) {
    CellOfLinearIndex(grid.grid_shape(), index, cell);
    const Shape shape = ChunkShapeAt(array, grid, cell);
    UNSHARD_ASSIGN_OR_RETURN(Voxels chunk,
                             Voxels::Filled(array.data_type, shape, FillValueOf(array)));
    VisitVoxels(array, cell, shape, [&](std::uint64_t in_chunk, std::uint64_t in_array) {
      std::copy_n(voxels.data() + in_array * item_size, item_size,
                  chunk.mutable_bytes().data() + in_chunk * item_size);
    });
    UNSHARD_ASSIGN_OR_RETURN(const ByteVector encoded, array.codec->Encode(std::move(chunk)));
    const auto announced = array.codec->EncodedSize(shape);
    if (announced && *announced != encoded.size()) {
      return Fail(ErrorCode::kInternal, "the size of a chunk is not what was announced");
    }
    WriteFile(target / ChunkPathOf(array, cell), AsText(encoded));
  }
  return ByteVector();
}

Result<ByteVector> Run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "read") return Read(arguments[1]);
  if (arguments.size() == 3 && arguments[0] == "write") {
    return Write(arguments[1], arguments[2],
                 {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()});
  }
  return Fail(ErrorCode::kInvalidArgument, "expected read DIRECTORY, or write DIRECTORY NEW");
}

}  // namespace
}  // namespace unshard

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const auto output = unshard::Run({argv + 1, argv + argc});
  if (!output) {
    std::cerr << unshard::ErrorCodeName(output.error().code) << ": " << output.error().message
              << '\n';
    return 1;
  }
  const std::string_view text = unshard::AsText(*output);
  std::cout.write(text.data(), static_cast<std::streamsize>(text.size())).flush();
  return std::cout.good() ? 0 : 1;
}
