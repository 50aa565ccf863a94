// Chunks that a program writes into a view become stored ones, and are presented as they were.
#include "codec/pyramid/chunk_mapping.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "codec/json/parser.h"
#include "codec/pyramid/array_documents.h"
#include "codec/pyramid/dataset_view.h"

namespace unshard {
namespace {

SourceDataset ArrayOf(Dialect dialect, const std::string& document) {
  SourceDataset dataset;
  dataset.dialect = dialect;
  dataset.kind = SourceDataset::Kind::kArray;
  auto array = ReadArray(dialect, *ParseJson(document), {});
  EXPECT_TRUE(array) << array.error().message;
  dataset.levels.push_back({"", *std::move(array)});
  return dataset;
}

std::string Zarr3(const std::string& codecs, const std::string& fill) {
  return R"({"zarr_format":3,"node_type":"array","shape":[5,6,7],"data_type":"uint16",)"
         R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,4,3]}},)"
         R"("chunk_key_encoding":{"name":"default"},"fill_value":)" +
         fill + R"(,"codecs":)" + codecs + "}";
}

constexpr const char* kLittle = R"([{"name":"bytes","configuration":{"endian":"little"}}])";
constexpr const char* kBigGzip = R"([{"name":"bytes","configuration":{"endian":"big"}},)"
                                 R"({"name":"gzip","configuration":{"level":1}}])";

std::string N5(const std::string& type) {
  return R"({"dimensions":[7,6,5],"blockSize":[3,4,2],"dataType":")" + type +
         R"(","compression":{"type":"raw"}})";
}

SourceDataset Volume() {
  SourceDataset dataset;
  dataset.dialect = Dialect::kPrecomputed;
  dataset.kind = SourceDataset::Kind::kPyramid;
  dataset.attributes = *ParseJson(
      R"({"type":"image","data_type":"uint16","num_channels":1,"scales":[{"key":"k",)"
      R"("size":[7,6,5],"voxel_offset":[1,2,3],"resolution":[1,1,1],"chunk_sizes":[[3,4,2]],)"
      R"("encoding":"raw"}]})");
  auto arrays = ReadScales(dataset.attributes);
  EXPECT_TRUE(arrays) << arrays.error().message;
  dataset.levels.push_back({"k", (*arrays)[0]});
  return dataset;
}

std::vector<SourceDataset> Sources() {
  return {ArrayOf(Dialect::kZarr3, Zarr3(kLittle, "0")),
          ArrayOf(Dialect::kZarr3, Zarr3(kLittle, "7")),
          ArrayOf(Dialect::kZarr3, Zarr3(kBigGzip, "7")),
          ArrayOf(Dialect::kN5, N5("uint16")),
          ArrayOf(Dialect::kN5, N5("uint8")),
          Volume()};
}

ChunkMapping Mapped(const SourceDataset& source, Dialect to) {
  auto presented = PresentDataset(source, to, {});
  EXPECT_TRUE(presented) << presented.error().message;
  auto made = ChunkMapping::ForView(presented->levels.front().array);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

void ForEachPair(const std::function<void(const ChunkMapping&)>& check) {
  for (const SourceDataset& source : Sources()) {
    for (const Dialect to :
         {Dialect::kPrecomputed, Dialect::kZarr3, Dialect::kZarr2, Dialect::kN5}) {
      if (to == source.dialect) continue;
      SCOPED_TRACE(std::string(DialectName(source.dialect)) + " as " +
                   std::string(DialectName(to)));
      check(Mapped(source, to));
    }
  }
}

void ForEachCell(const ChunkMapping& mapping, const std::function<void(const GridCell&)>& check) {
  const ChunkGrid& grid = mapping.to_grid();
  for (std::uint64_t i = 0; i < grid.cell_count(); ++i) {
    GridCell cell(grid.rank());
    CellOfLinearIndex(grid.grid_shape(), i, cell);
    check(cell);
  }
}

Voxels RandomVoxels(const Array& array, const ChunkGrid& grid, const GridCell& cell,
                    std::mt19937& random) {
  const Shape shape = ChunkShapeAt(array, grid, cell);
  ByteVector bytes(VoxelBytes(array.data_type, shape).value());
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return Voxels::Make(array.data_type, shape, std::move(bytes)).value();
}

TEST(PresentedChunks, AnArrayMayHaveNoAxes) {
  const std::string document =
      R"({"zarr_format":3,"node_type":"array","shape":[],"data_type":"uint16",)"
      R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},)"
      R"("chunk_key_encoding":{"name":"default"},"fill_value":7,"codecs":)";
  const SourceDataset scalar = ArrayOf(Dialect::kZarr3, document + kLittle + "}");
  for (const Dialect to : {Dialect::kZarr2, Dialect::kN5}) {
    const ChunkMapping mapping = Mapped(scalar, to);
    const auto shown = mapping.FromChunk(Bytes(ByteVector{1, 2}), GridCell());
    ASSERT_TRUE(shown) << shown.error().message;
    const auto restored = mapping.Restore(*shown, GridCell());
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(restored->front(), (ByteVector{1, 2}));
  }
}

TEST(PresentedChunks, WhatIsWrittenIsPresentedAsItWas) {
  std::mt19937 random(1);
  ForEachPair([&](const ChunkMapping& mapping) {
    ASSERT_TRUE(mapping.CanRestore());
    EXPECT_FALSE(mapping.is_lossy());
    const Array& stored = mapping.from();
    const auto stored_grid = GridOf(stored);
    ForEachCell(mapping, [&](const GridCell& cell) {
      // Of what lies beyond the array nothing is kept: a stored chunk is presented first.
      const GridCell stored_cell = mapping.FirstSourceCell(cell);
      const auto first =
          stored.codec->Encode(RandomVoxels(stored, *stored_grid, stored_cell, random));
      ASSERT_TRUE(first);
      const auto shown = mapping.FromChunk(Bytes(*first), cell);
      ASSERT_TRUE(shown) << shown.error().message;
      const auto restored = mapping.Restore(*shown, cell);
      ASSERT_TRUE(restored) << restored.error().message;
      ASSERT_EQ(restored->size(), 1U);
      const auto again = mapping.FromChunk(Bytes(restored->front()), cell);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(*again, *shown);
      if (const auto size = mapping.EncodedSize(cell)) {
        EXPECT_EQ(shown->size(), *size);
      }
    });
  });
}

TEST(PresentedChunks, WhatIsNoChunkIsRefused) {
  std::mt19937 random(2);
  ForEachPair([&](const ChunkMapping& mapping) {
    const Array& shown = mapping.to();
    const GridCell cell(shown.rank(), 0);
    const auto bytes = shown.codec->Encode(RandomVoxels(shown, mapping.to_grid(), cell, random));
    ASSERT_TRUE(bytes);
    const ByteSpan all(*bytes);
    for (const ByteSpan damaged : {all.first(all.size() - 1), all.first(1), all.first(0)}) {
      const auto restored = mapping.Restore(damaged, cell);
      ASSERT_FALSE(restored);
      EXPECT_EQ(restored.error().code, ErrorCode::kInvalidArgument) << restored.error().message;
    }
  });
}

// Whatever a program stored there.
TEST(PresentedChunks, VoxelsBeyondTheArrayAreMappedToTheFillValue) {
  const ChunkMapping mapping =
      Mapped(ArrayOf(Dialect::kZarr3, Zarr3(kBigGzip, "7")), Dialect::kZarr2);
  ASSERT_EQ(mapping.form(), BlockForm::kCopy) << "Zarr v2 has gzip and this byte order";
  const GridCell corner{2, 1, 2};
  const Voxels ones = Voxels::Filled(kUint16, {2, 4, 3}, ByteVector{1, 0}).value();
  Voxels expected = Voxels::Filled(kUint16, {2, 4, 3}, ByteVector{7, 0}).value();
  CopyBox(ones, SameAxes(3), {{0, 0, 0}, {0, 0, 0}, {1, 2, 1}}, expected);
  EXPECT_EQ(*mapping.Map(ones, corner, corner), expected);
  EXPECT_EQ(*mapping.Map(ones, {0, 0, 0}, {0, 0, 0}), ones);
  EXPECT_EQ(*mapping.Blank(corner), Voxels::Filled(kUint16, {2, 4, 3}, ByteVector{7, 0}).value());
}

// Views as N5 and precomputed show them as uint8.
TEST(PresentedChunks, AnArrayOfBoolTakesNoOtherValues) {
  const SourceDataset bools = ArrayOf(
      Dialect::kZarr3,
      R"({"zarr_format":3,"node_type":"array","shape":[2,3],"data_type":"bool",)"
      R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,3]}},)"
      R"("chunk_key_encoding":{"name":"default"},"fill_value":true,"codecs":[{"name":"bytes"}]})");
  for (const Dialect to : {Dialect::kPrecomputed, Dialect::kN5, Dialect::kZarr2}) {
    const ChunkMapping mapping = Mapped(bools, to);
    const GridCell cell(mapping.to_grid().rank(), 0);
    ByteVector shown = *mapping.FromChunk(Bytes(ByteVector{0, 1, 1, 0, 0, 1}), cell);
    EXPECT_EQ(mapping.Restore(shown, cell)->front(), (ByteVector{0, 1, 1, 0, 0, 1}));
    shown.back() = 2;
    const auto refused = mapping.Restore(shown, cell);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("found 2"), std::string::npos);
  }
}

// Readers of N5 and precomputed volumes take an absent chunk for zeros, those of Zarr for the fill
// value.
TEST(PresentedChunks, ARemovedChunkIsWhatReadersSeeOfAnAbsentOne) {
  ForEachPair([&](const ChunkMapping& mapping) {
    const Array& shown = mapping.to();
    ForEachCell(mapping, [&](const GridCell& cell) {
      const auto stored = mapping.RestoreRemoved(cell);
      ASSERT_TRUE(stored) << stored.error().message;
      ASSERT_EQ(stored->size(), 1U);
      const auto presented = mapping.FromChunk(Bytes(stored->front()), cell);
      ASSERT_TRUE(presented);
      const auto voxels =
          shown.codec->Decode(*presented, ChunkShapeAt(shown, mapping.to_grid(), cell));
      ASSERT_TRUE(voxels);
      ByteVector wanted = FillValueOf(shown);
      for (std::size_t i = 0; i < voxels->bytes().size(); ++i) {
        ASSERT_EQ(voxels->bytes()[i], wanted[i % wanted.size()]);
      }
    });
  });
}

// Three channels in chunks of two, the second of which reaches beyond the array.
SourceDataset Channels(const std::string& codecs, std::uint64_t channels = 3) {
  return ArrayOf(Dialect::kZarr3,
                 R"({"zarr_format":3,"node_type":"array","shape":[)" + std::to_string(channels) +
                     R"(,5,6,7],"data_type":"uint16","chunk_grid":{"name":"regular",)"
                     R"("configuration":{"chunk_shape":[2,2,4,3]}},"chunk_key_encoding":)"
                     R"({"name":"default"},"fill_value":7,"dimension_names":["c","z","y","x"],)"
                     R"("codecs":)" +
                     codecs + "}");
}

std::uint16_t ItemAt(const Voxels& voxels, const std::vector<std::uint64_t>& at) {
  std::uint64_t index = 0;
  for (std::size_t axis = 0; axis < at.size(); ++axis)
    index = index * voxels.shape()[axis] + at[axis];
  return static_cast<std::uint16_t>(voxels.bytes()[2 * index] | voxels.bytes()[2 * index + 1] << 8);
}

// `stored`: decoded; nothing: absent.
void ExpectChannelsOf(const Voxels& shown, const std::vector<std::optional<Voxels>>& stored) {
  const Shape& shape = shown.shape();
  for (std::uint64_t c = 0; c < shape[0]; ++c) {
    for (std::uint64_t z = 0; z < shape[1]; ++z) {
      for (std::uint64_t y = 0; y < shape[2]; ++y) {
        for (std::uint64_t x = 0; x < shape[3]; ++x) {
          const auto& part = stored[c / 2];
          const int wanted = part ? ItemAt(*part, {c % 2, z, y, x}) : 7;
          ASSERT_EQ(ItemAt(shown, {c, z, y, x}), wanted);
        }
      }
    }
  }
}

ChunkMapping::PartReader PartsOf(std::vector<std::optional<Bytes>> chunks) {
  return [chunks = std::move(chunks)](std::size_t part) { return chunks.at(part); };
}

TEST(PresentedChunks, AChunkOfAVolumeHasAllChannelsHoweverTheyAreStored) {
  std::mt19937 random(3);
  for (const char* codecs : {kLittle, kBigGzip}) {
    const ChunkMapping mapping = Mapped(Channels(codecs), Dialect::kPrecomputed);
    ASSERT_TRUE(!mapping.same_grid() && mapping.CanRestore());
    const Array& stored = mapping.from();
    const Array& shown = mapping.to();
    const auto stored_grid = GridOf(stored);
    ForEachCell(mapping, [&](const GridCell& cell) {
      const std::vector<GridCell> cells = mapping.SourceCells(cell);
      ASSERT_EQ(cells.size(), 2U);
      std::vector<std::optional<Voxels>> voxels;
      std::vector<std::optional<Bytes>> chunks;
      for (const GridCell& one : cells) {
        EXPECT_EQ(mapping.TargetCell(one), cell);
        voxels.emplace_back(RandomVoxels(stored, *stored_grid, one, random));
        if (random() % 3 == 0) {
          voxels.back().reset();
          chunks.emplace_back();
        } else {
          chunks.emplace_back(*stored.codec->Encode(*voxels.back()));
        }
      }
      const auto joined = mapping.FromChunks(PartsOf(chunks), cell);
      ASSERT_TRUE(joined) << joined.error().message;
      EXPECT_EQ(joined->size(), mapping.EncodedSize(cell));
      const auto decoded =
          shown.codec->Decode(*joined, ChunkShapeAt(shown, mapping.to_grid(), cell));
      ASSERT_TRUE(decoded);
      ExpectChannelsOf(*decoded, voxels);
      const auto restored = mapping.Restore(*joined, cell);
      ASSERT_TRUE(restored) << restored.error().message;
      ASSERT_EQ(restored->size(), 2U);
      EXPECT_EQ(
          *mapping.FromChunks(PartsOf({Bytes(restored->front()), Bytes(restored->back())}), cell),
          *joined);
      EXPECT_EQ(mapping.RestoreRemoved(cell)->size(), 2U);
    });
  }
}

// As arrays have whose chunks were chosen before their channels.
TEST(PresentedChunks, AChunkMayHaveRoomForMoreChannelsThanThereAre) {
  std::mt19937 random(4);
  const ChunkMapping mapping = Mapped(Channels(kLittle, 1), Dialect::kPrecomputed);
  EXPECT_TRUE(mapping.same_grid());
  const Array& stored = mapping.from();
  const Array& shown = mapping.to();
  const auto stored_grid = GridOf(stored);
  ForEachCell(mapping, [&](const GridCell& cell) {
    const Voxels voxels = RandomVoxels(stored, *stored_grid, mapping.FirstSourceCell(cell), random);
    const auto presented = mapping.FromChunk(Bytes(*stored.codec->Encode(voxels)), cell);
    ASSERT_TRUE(presented) << presented.error().message;
    const auto decoded =
        shown.codec->Decode(*presented, ChunkShapeAt(shown, mapping.to_grid(), cell));
    ASSERT_TRUE(decoded && decoded->shape()[0] == 1);
    ExpectChannelsOf(*decoded, {voxels});
    const auto restored = mapping.Restore(*presented, cell);
    ASSERT_TRUE(restored && restored->size() == 1);
    EXPECT_EQ(mapping.FromChunk(Bytes(restored->front()), cell), *presented);
  });
}

TEST(PresentedChunks, ChannelsInVeryManyChunksAreNotOneChunk) {
  auto presented = PresentDataset(Channels(kLittle, 4000), Dialect::kPrecomputed, {});
  ASSERT_TRUE(presented);
  const auto made = ChunkMapping::ForView(presented->levels.front().array);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(made.error().message.find("extent 4000"), std::string::npos) << made.error().message;
}

}  // namespace
}  // namespace unshard
