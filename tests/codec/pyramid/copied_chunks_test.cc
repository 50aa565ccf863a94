// From the chunks of one array to those of another one: views rules 3 and 18.
#include "codec/pyramid/chunk_mapping.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "codec/json/parser.h"
#include "codec/pyramid/array_documents.h"
#include "tests/support/folders.h"

namespace unshard {
namespace {

const char* const kLittle = R"({"name":"bytes","configuration":{"endian":"little"}})";
const char* const kBig = R"({"name":"bytes","configuration":{"endian":"big"}})";
const char* const kGzip = R"({"name":"gzip","configuration":{"level":3}})";
const char* const kHarderGzip = R"({"name":"gzip","configuration":{"level":9}})";

Array Read(Dialect dialect, const std::string& document) {
  auto array = ReadArray(dialect, *ParseJson(document), {});
  EXPECT_TRUE(array) << array.error().message;
  return *std::move(array);
}

std::string List(std::initializer_list<const char*> codecs) {
  std::string list;
  for (const char* codec : codecs) list += (list.empty() ? "" : ",") + std::string(codec);
  return "[" + list + "]";
}

Array Zarr3(const std::string& shape, const std::string& chunk, const std::string& codecs,
            const std::string& type = "uint16", const std::string& fill = "0",
            const std::string& more = "") {
  return Read(Dialect::kZarr3,
              R"({"zarr_format":3,"node_type":"array","shape":)" + shape + R"(,"data_type":")" +
                  type + R"(","chunk_grid":{"name":"regular","configuration":{"chunk_shape":)" +
                  chunk + R"(}},"chunk_key_encoding":{"name":"default"},"fill_value":)" + fill +
                  R"(,"codecs":)" + codecs + more + "}");
}

Array N5(const std::string& dimensions, const std::string& block,
         const std::string& type = "uint16") {
  return Read(Dialect::kN5, R"({"dimensions":)" + dimensions + R"(,"blockSize":)" + block +
                                R"(,"dataType":")" + type + R"(","compression":{"type":"raw"}})");
}

Array Scale(const std::string& size, const std::string& chunk, const std::string& type = "uint16",
            const std::string& encoding = R"("encoding":"raw")") {
  auto arrays =
      ReadScales(*ParseJson(R"({"type":"image","data_type":")" + type +
                            R"(","num_channels":1,"scales":[{"key":"k","size":)" + size +
                            R"(,"voxel_offset":[-3,0,7],"resolution":[1,1,1],"chunk_sizes":[)" +
                            chunk + "]," + encoding + "}]}"));
  EXPECT_TRUE(arrays) << arrays.error().message;
  return arrays->front();
}

std::vector<PyramidAxis> Named(std::initializer_list<const char*> names) {
  std::vector<PyramidAxis> axes;
  for (const char* name : names) axes.push_back(AxisNamed(name));
  return axes;
}

constexpr auto kNone = std::nullopt;

ChunkMapping Copy(const Array& from, const Array& to) {
  auto axes = MatchArrays(from, std::vector<PyramidAxis>(from.rank()), to);
  EXPECT_TRUE(axes) << axes.error().message;
  auto copy = ChunkMapping::ForCopy(from, to, *axes);
  EXPECT_TRUE(copy) << copy.error().message;
  return *std::move(copy);
}

TEST(MatchArrays, AxesAreMatchedByNameElseByOrder) {
  const std::string names = R"(,"dimension_names":["x","y","z"])";
  const auto to = Zarr3("[5,4,3]", "[2,2,2]", List({kLittle}), "uint16", "0", names);
  const auto from = Zarr3("[3,4,5]", "[2,2,2]", List({kLittle}));
  EXPECT_EQ(*MatchArrays(from, Named({"z", "y", "x"}), to), (AxisMap{2, 1, 0}));
  EXPECT_EQ(*MatchArrays(from, Named({"", "", ""}), from), (AxisMap{0, 1, 2}));
  EXPECT_EQ(*MatchArrays(from, Named({"z", "y", "x"}), Scale("[5,4,3]", "[2,2,2]")),
            (AxisMap{kNone, 0, 1, 2}));
}

TEST(MatchArrays, AxesOfExtentOneAreAddedAndDropped) {
  const auto volume = Scale("[5,4,3]", "[2,2,2]");
  const auto axes = Named({"c", "z", "y", "x"});
  EXPECT_EQ(*MatchArrays(volume, axes, Zarr3("[3,4,5]", "[2,2,2]", List({kLittle}))),
            (AxisMap{1, 2, 3}));
  EXPECT_EQ(*MatchArrays(volume, axes, Zarr3("[1,3,4,5]", "[1,2,2,2]", List({kLittle}))),
            (AxisMap{0, 1, 2, 3}));
  EXPECT_EQ(*MatchArrays(volume, axes, Zarr3("[1,1,3,4,5]", "[1,1,2,2,2]", List({kLittle}))),
            (AxisMap{0, kNone, 1, 2, 3}));
}

TEST(MatchArrays, AnotherShapeOrTypeIsRefusedByName) {
  const auto from = Zarr3("[3,4,5]", "[2,2,2]", List({kLittle}));
  const std::string names = R"(,"dimension_names":["z","y","x"])";
  const auto other =
      MatchArrays(from, Named({"z", "y", "x"}),
                  Zarr3("[3,6,5]", "[2,2,2]", List({kLittle}), "uint16", "0", names));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(other.error().message.find("axis y has 6 voxels instead of 4"), std::string::npos)
      << other.error().message;
  const auto type =
      MatchArrays(from, Named({"", "", ""}), Zarr3("[3,4,5]", "[2,2,2]", List({kLittle}), "int16"));
  ASSERT_FALSE(type);
  EXPECT_NE(type.error().message.find("int16"), std::string::npos);
  const auto flags = Zarr3("[3,4,5]", "[2,2,2]", List({kLittle}), "bool", "false");
  EXPECT_TRUE(MatchArrays(flags, Named({"", "", ""}), N5("[5,4,3]", "[2,2,2]", "uint8")));
}

TEST(CopiedChunks, BytesAreCopiedWhereTheChunksAreTheSame) {
  const auto plain = Zarr3("[4,4,4]", "[2,2,2]", List({kLittle, kGzip}));
  EXPECT_EQ(Copy(plain, Zarr3("[4,4,4]", "[2,2,2]", List({kLittle, kHarderGzip}))).form(),
            BlockForm::kCopy);
  EXPECT_EQ(Copy(plain, Zarr3("[4,4,4]", "[2,2,2]", List({kBig, kGzip}))).form(),
            BlockForm::kTranscode);
  EXPECT_EQ(Copy(plain, Zarr3("[4,4,4]", "[2,2,2]", List({kLittle}))).form(),
            BlockForm::kTranscode);
  EXPECT_EQ(Copy(plain, Zarr3("[4,4,4]", "[2,4,2]", List({kLittle, kGzip}))).form(),
            BlockForm::kTranscode);
  const auto raw = Zarr3("[4,4,4]", "[2,2,2]", List({kLittle}));
  EXPECT_EQ(Copy(raw, Scale("[4,4,4]", "[2,2,2]")).form(), BlockForm::kCopy);
  // What the only chunk has beyond the array is clipped in volumes, and encoded in Zarr.
  EXPECT_EQ(Copy(Scale("[4,4,4]", "[4,4,4]"), Scale("[4,4,4]", "[8,4,4]")).form(),
            BlockForm::kCopy);
  EXPECT_EQ(Copy(raw, Zarr3("[4,4,4]", "[2,2,8]", List({kLittle}))).form(), BlockForm::kTranscode);
  EXPECT_EQ(Copy(Zarr3("[4]", "[4]", List({kLittle})), Zarr3("[4]", "[8]", List({kLittle}))).form(),
            BlockForm::kTranscode);
  // Chunks at the end of the array are clipped in one of the two.
  EXPECT_EQ(Copy(Zarr3("[4,4,5]", "[2,2,2]", List({kLittle})), Scale("[5,4,4]", "[2,2,2]")).form(),
            BlockForm::kTranscode);
}

// Chunks of 8 × 8 × 4 voxels that other programs encoded.
ByteVector EncodedChunk(const std::string& name) {
  const auto file = std::filesystem::path(SourceFolder()) / "tests/fuzz/corpus" / name;
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream.good()) << file;
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

TEST(CopiedChunks, JpegsArePutIntoJpegXlAndTakenOutOfIt) {
  const auto scale = [](const char* size, const char* encoding) {
    return Scale(size, "[8,8,4]", "uint8", std::string(R"("encoding":")") + encoding + '"');
  };
  const auto jpeg = scale("[8,8,4]", "jpeg"), jxl = scale("[8,8,4]", "jxl");
  if (!jxl.codec->CanDecode()) GTEST_SKIP() << "not in this build: jxl";
  const ChunkMapping packing = Copy(jpeg, jxl), unpacking = Copy(jxl, jpeg);
  EXPECT_EQ(packing.form(), BlockForm::kRepack);
  EXPECT_EQ(unpacking.form(), BlockForm::kRepack);
  EXPECT_EQ(Copy(scale("[9,8,4]", "jpeg"), scale("[9,8,4]", "png")).form(), BlockForm::kTranscode);
  const GridCell cell = {0, 0, 0, 0};
  const ByteVector chunk = EncodedChunk("jpeg_decoding/gray");
  const auto packed = packing.FromBytes(chunk, cell);
  ASSERT_TRUE(packed);
  EXPECT_EQ(unpacking.FromBytes(*packed, cell), chunk);
  const auto before = *packing.Decode(chunk, cell), after = *packing.DecodeTarget(*packed, cell);
  for (std::size_t i = 0; i < before.bytes().size(); ++i) {
    EXPECT_LE(std::abs(before.bytes()[i] - after.bytes()[i]), 1) << i;
  }
  // Others are decoded: images from no JPEG, JPEGs that are no chunk of the array, damage.
  EXPECT_FALSE(unpacking.FromBytes(EncodedChunk("jpeg_xl_decoding/gray"), cell));
  EXPECT_FALSE(packing.FromBytes(EncodedChunk("jpeg_decoding/rgb"), cell));
  EXPECT_FALSE(packing.FromBytes(ByteSpan(chunk).first(chunk.size() / 2), cell));
  EXPECT_FALSE(unpacking.FromBytes(ByteSpan(*packed).first(packed->size() / 2), cell));
  const ChunkMapping other = Copy(scale("[7,8,4]", "jxl"), scale("[7,8,4]", "jpeg"));
  EXPECT_FALSE(other.FromBytes(*packed, cell));
}

TEST(CopiedChunks, N5BlocksGetAHeader) {
  const auto bytes = Scale("[5,4,4]", "[2,2,2]", "uint8");
  const auto blocks = N5("[5,4,4]", "[2,2,2]", "uint8");
  const ChunkMapping to_n5 = Copy(bytes, blocks);
  EXPECT_EQ(to_n5.form(), BlockForm::kAddHeader);
  const ByteVector chunk = {1, 2, 3, 4};
  const auto block = to_n5.FromBytes(chunk, {0, 0, 2});  // one voxel wide
  ASSERT_TRUE(block);
  EXPECT_EQ(*block, (ByteVector{0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4}));
  const ChunkMapping back = Copy(blocks, bytes);
  EXPECT_EQ(back.form(), BlockForm::kStripHeader);
  EXPECT_EQ(*back.FromBytes(*block, {0, 0, 0, 2}), chunk);
  EXPECT_FALSE(back.FromBytes(*block, {0, 0, 0, 0}));  // which is two voxels wide
  EXPECT_EQ(Copy(Scale("[5,4,4]", "[2,2,2]"), N5("[5,4,4]", "[2,2,2]")).form(),
            BlockForm::kTranscode);  // of two bytes a voxel, in another order
}

TEST(CopiedChunks, LabelsAreCopiedWhereTheirBlocksAreTheSame) {
  const auto encoded = [](const char* block) {
    return Scale("[4,4,4]", "[4,4,4]", "uint64",
                 R"("encoding":"compressed_segmentation","compressed_segmentation_block_size":)" +
                     std::string(block));
  };
  EXPECT_EQ(Copy(encoded("[2,2,2]"), encoded("[2,2,2]")).form(), BlockForm::kCopy);
  EXPECT_EQ(Copy(encoded("[2,2,2]"), encoded("[4,2,2]")).form(), BlockForm::kTranscode);
  const auto jpeg = [](const char* quality) {
    return Scale("[4,4,4]", "[4,4,4]", "uint8",
                 R"("encoding":"jpeg","jpeg_quality":)" + std::string(quality));
  };
  EXPECT_EQ(Copy(jpeg("75"), jpeg("90")).form(), BlockForm::kCopy);
}

// Copies voxels chunk by chunk as a copy does, and gives what the chunks of `to` hold together.
std::vector<std::uint16_t> CopyAll(const ChunkMapping& copy,
                                   const std::vector<std::uint16_t>& voxels,
                                   const std::vector<GridCell>& absent = {}) {
  const auto at = [](const std::vector<std::uint64_t>& shape, const GridCell& index) {
    return LinearIndex(shape, index);
  };
  std::vector<std::uint16_t> result(voxels.size(), 0xdead);
  for (std::uint64_t i = 0; i < copy.to_grid().cell_count(); ++i) {
    GridCell cell(copy.to().rank());
    CellOfLinearIndex(copy.to_grid().grid_shape(), i, cell);
    Voxels target = *copy.Blank(cell);
    for (const GridCell& source : copy.SourceCells(cell)) {
      if (std::find(absent.begin(), absent.end(), source) != absent.end()) continue;
      Voxels chunk = *Voxels::Filled(copy.from().data_type,
                                     ChunkShapeAt(copy.from(), copy.from_grid(), source),
                                     ByteVector{0xee, 0xee});
      for (std::size_t j = 0; j < chunk.bytes().size() / 2; ++j) {
        GridCell index(chunk.shape().size());
        CellOfLinearIndex(chunk.shape(), j, index);
        bool inside = true;
        for (std::size_t axis = 0; axis < index.size(); ++axis) {
          index[axis] += source[axis] * copy.from().chunk_shape[axis];
          inside = inside && index[axis] < copy.from().shape[axis];
        }
        if (!inside) continue;
        const std::uint16_t value = voxels[at(copy.from().shape, index)];
        chunk.mutable_bytes()[2 * j] = static_cast<std::uint8_t>(value);
        chunk.mutable_bytes()[2 * j + 1] = static_cast<std::uint8_t>(value >> 8);
      }
      copy.Paste(chunk, source, target, cell);
    }
    for (std::size_t j = 0; j < target.bytes().size() / 2; ++j) {
      GridCell index(target.shape().size());
      CellOfLinearIndex(target.shape(), j, index);
      const auto value =
          static_cast<std::uint16_t>(target.bytes()[2 * j] | target.bytes()[2 * j + 1] << 8);
      bool inside = true;
      for (std::size_t axis = 0; axis < index.size(); ++axis) {
        index[axis] += cell[axis] * copy.to().chunk_shape[axis];
        inside = inside && index[axis] < copy.to().shape[axis];
      }
      if (inside) {
        result[at(copy.to().shape, index)] = value;
      } else {
        EXPECT_EQ(value, copy.to().fill_value ? copy.to().fill_value->front() : 0);
      }
    }
  }
  return result;
}

TEST(CopiedChunks, VoxelsComeFromTheChunksOfAnotherGrid) {
  std::vector<std::uint16_t> voxels(std::size_t{7} * 6 * 5);
  std::iota(voxels.begin(), voxels.end(), 1);
  const auto from = Zarr3("[7,6,5]", "[3,2,4]", List({kLittle}));
  for (const char* chunk : {"[1,1,1]", "[7,6,5]", "[2,5,3]", "[4,4,4]"}) {
    EXPECT_EQ(CopyAll(Copy(from, Zarr3("[7,6,5]", chunk, List({kLittle}), "uint16", "9")), voxels),
              voxels)
        << chunk;
  }
  EXPECT_EQ(CopyAll(Copy(from, Scale("[5,6,7]", "[4,3,2]")), voxels), voxels);
  EXPECT_EQ(CopyAll(Copy(from, N5("[5,6,7]", "[2,4,3]")), voxels), voxels);
}

TEST(CopiedChunks, AxesAreRearrangedByTheirNames) {
  std::vector<std::uint16_t> voxels(std::size_t{3} * 4 * 5);
  std::iota(voxels.begin(), voxels.end(), 1);
  const auto from = Zarr3("[3,4,5]", "[2,3,2]", List({kLittle}));
  const auto to = Zarr3("[5,4,3]", "[3,2,2]", List({kLittle}), "uint16", "0",
                        R"(,"dimension_names":["x","y","z"])");
  const auto copy =
      *ChunkMapping::ForCopy(from, to, *MatchArrays(from, Named({"z", "y", "x"}), to));
  const auto turned = CopyAll(copy, voxels);
  for (std::size_t z = 0; z < 3; ++z) {
    for (std::size_t y = 0; y < 4; ++y) {
      for (std::size_t x = 0; x < 5; ++x) {
        EXPECT_EQ(turned[(x * 4 + y) * 3 + z], voxels[(z * 4 + y) * 5 + x]);
      }
    }
  }
}

TEST(CopiedChunks, AbsentChunksHaveTheFillValueOfTheSource) {
  const std::vector<std::uint16_t> voxels(25, 4);
  const auto from = Zarr3("[5,5]", "[2,2]", List({kLittle}), "uint16", "7");
  const auto copy = Copy(from, Zarr3("[5,5]", "[3,3]", List({kLittle}), "uint16", "9"));
  EXPECT_TRUE(copy.writes_absent());
  std::vector<std::uint16_t> wanted(25, 4);
  wanted[0] = wanted[1] = wanted[5] = wanted[6] = 7;
  EXPECT_EQ(CopyAll(copy, voxels, {{0, 0}}), wanted);
  EXPECT_FALSE(Copy(from, Zarr3("[5,5]", "[3,3]", List({kLittle}), "uint16", "7")).writes_absent());
}

TEST(CopiedChunks, ChunksOfOnlyTheFillValueAreFound) {
  const auto from = Zarr3("[4]", "[2]", List({kLittle}), "uint16", "258");
  const auto copy = Copy(from, from);
  const auto voxels = [](ByteVector bytes) {
    return *Voxels::Make(kUint16, {2}, std::move(bytes));
  };
  EXPECT_EQ(*copy.Blank({0}), voxels({2, 1, 2, 1}));
  EXPECT_TRUE(copy.IsFill(voxels({2, 1, 2, 1})));
  EXPECT_FALSE(copy.IsFill(voxels({1, 2, 1, 2})));
  EXPECT_FALSE(copy.IsFill(voxels({2, 1, 2, 2})));
}

TEST(CopiedChunks, ChunksThatCannotBeDecodedAreFound) {
  const auto raw = Zarr3("[4]", "[2]", List({kLittle}));
  const auto copy = Copy(raw, raw);
  EXPECT_TRUE(copy.Check(ByteVector(4), {0}));
  EXPECT_EQ(copy.Check(ByteVector(3), {0}).error().code, ErrorCode::kDataLoss);
  const auto packed = Zarr3("[4]", "[2]", List({kLittle, kGzip}));
  EXPECT_FALSE(Copy(packed, packed).Check(ByteVector(30), {0}));
}

}  // namespace
}  // namespace unshard
