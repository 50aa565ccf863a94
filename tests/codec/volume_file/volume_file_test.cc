// Headers of whole-volume files, byte by byte, and the chunks that their ranges come from. That the
// programs of each format read them is shown by tests/mount/test_volume_files.py.
#include "codec/volume_file/volume_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "codec/volume_file/body.h"

namespace unshard {
namespace {

// A precomputed volume of 100 × 80 × 20 voxels.
VolumeFileSource Image(std::uint64_t channels = 1) {
  VolumeFileSource source;
  source.type = {DataType::Kind::kUnsigned, 2};
  source.shape = {channels, 20, 80, 100};
  source.fastest_first = true;
  SpatialAxes space;
  space.xyz = {{{3, 8, 16}, {2, 8.5, 0}, {1, 30, -2}}};
  if (channels > 1) space.channel = 0;
  source.space = space;
  return source;
}

VolumeFileLayout Describe(std::string_view format, const VolumeFileSource& source) {
  auto layout = FindVolumeFileFormat(format)->describe(source);
  EXPECT_TRUE(layout) << layout.error().message;
  return layout ? *std::move(layout) : VolumeFileLayout();
}

std::string TextOf(const VolumeFileLayout& layout) { return std::string(AsText(layout.header)); }

template <class T>
T FieldAt(const VolumeFileLayout& layout, std::size_t at) {
  T value{};
  EXPECT_LE(at + sizeof value, layout.header.size());
  std::memcpy(&value, layout.header.data() + at, sizeof value);
  return value;
}

TEST(VolumeFileTest, NpyListsAxesAsTheSourceDoes) {
  const VolumeFileLayout layout = Describe("npy", Image());
  EXPECT_EQ(layout.header.size() % 64, 0u);
  EXPECT_EQ(TextOf(layout).substr(0, 8), std::string("\x93NUMPY\x01\0", 8));
  EXPECT_EQ(FieldAt<std::uint16_t>(layout, 8) + 10u, layout.header.size());
  EXPECT_EQ(TextOf(layout).substr(10, 72),
            "{'descr': '<u2', 'fortran_order': True, 'shape': (100, 80, 20, 1), }    ");
  EXPECT_EQ(TextOf(layout).back(), '\n');
  EXPECT_EQ(layout.body_bytes, 100u * 80 * 20 * 2);

  VolumeFileSource line;
  line.type = {DataType::Kind::kBool, 1};
  line.shape = {7};
  EXPECT_NE(TextOf(Describe("npy", line)).find("'|b1', 'fortran_order': False, 'shape': (7,), }"),
            std::string::npos);
}

TEST(VolumeFileTest, AHeaderOfManyAxesIsOfVersion2) {
  VolumeFileSource source;
  source.shape.assign(30000, 1);
  const VolumeFileLayout layout = Describe("npy", source);
  EXPECT_EQ(layout.header[6], 2);
  EXPECT_EQ(FieldAt<std::uint32_t>(layout, 8) + 12u, layout.header.size());
  EXPECT_EQ(layout.header.size() % 64, 0u);
}

TEST(VolumeFileTest, Nifti1HasMicrometresAndPlacesTheFirstVoxel) {
  const VolumeFileLayout layout = Describe("nii", Image());
  ASSERT_EQ(layout.header.size(), 352u);
  EXPECT_EQ(FieldAt<std::int32_t>(layout, 0), 348);
  EXPECT_EQ(TextOf(layout).substr(344, 4), std::string("n+1\0", 4));
  const std::array<std::int16_t, 8> dim = {3, 100, 80, 20, 1, 1, 1, 1};
  for (std::size_t i = 0; i < dim.size(); ++i) {
    EXPECT_EQ(FieldAt<std::int16_t>(layout, 40 + 2 * i), dim[i]);
  }
  EXPECT_EQ(FieldAt<std::int16_t>(layout, 70), 512);
  EXPECT_EQ(FieldAt<std::int16_t>(layout, 72), 16);
  EXPECT_EQ(FieldAt<float>(layout, 80), 0.008f);
  EXPECT_EQ(FieldAt<float>(layout, 108), 352.0f);
  EXPECT_EQ(layout.header[123], 3);
  EXPECT_EQ(FieldAt<float>(layout, 280), 0.008f);       // srow_x[0]
  EXPECT_EQ(FieldAt<float>(layout, 280 + 12), 0.128f);  // srow_x[3]
  EXPECT_EQ(FieldAt<float>(layout, 312 + 12), -0.06f);  // srow_z[3]
  EXPECT_EQ(layout.order, (std::vector<std::size_t>{1, 2, 3}));
}

TEST(VolumeFileTest, ALargeVolumeIsNifti2AndChannelsAreVectors) {
  VolumeFileSource source = Image(3);
  source.shape[3] = 32768;
  const VolumeFileLayout layout = Describe("nii", source);
  ASSERT_EQ(layout.header.size(), 544u);
  EXPECT_EQ(FieldAt<std::int32_t>(layout, 0), 540);
  EXPECT_EQ(TextOf(layout).substr(4, 8), std::string("n+2\0\r\n\032\n", 8));
  EXPECT_EQ(FieldAt<std::int64_t>(layout, 16), 5);
  EXPECT_EQ(FieldAt<std::int64_t>(layout, 24), 32768);
  EXPECT_EQ(FieldAt<std::int64_t>(layout, 48), 1);
  EXPECT_EQ(FieldAt<std::int64_t>(layout, 56), 3);
  EXPECT_EQ(FieldAt<std::int32_t>(layout, 504), 1007);
  EXPECT_EQ(FieldAt<std::int64_t>(layout, 168), 544);
  EXPECT_EQ(FieldAt<double>(layout, 432 + 8), 0.0085);  // srow_y[1]
  EXPECT_EQ(layout.order, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(VolumeFileTest, NrrdHasMillimetresWhichItkTakesForGranted) {
  const VolumeFileLayout layout = Describe("nrrd", Image(2));
  const std::string text = TextOf(layout);
  EXPECT_EQ(text.rfind("NRRD0005\n", 0), 0u);
  for (const char* line :
       {"type: uint16", "dimension: 4", "space dimension: 3", "sizes: 100 80 20 2",
        "space directions: (8e-06,0,0) (0,8.5e-06,0) (0,0,3e-05) none",
        "kinds: domain domain domain vector", "endian: little", "encoding: raw",
        "space origin: (0.000128,0,-6e-05)", "space units: \"mm\" \"mm\" \"mm\""}) {
    EXPECT_NE(text.find("\n" + std::string(line) + "\n"), std::string::npos) << line;
  }
  EXPECT_EQ(text.find("\n\n"), text.size() - 2);
  EXPECT_EQ(text.size() % 16, 0u);
}

TEST(VolumeFileTest, RawIsTheVoxelsAlone) {
  const VolumeFileLayout layout = Describe("raw", Image());
  EXPECT_TRUE(layout.header.empty());
  EXPECT_EQ(layout.order, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(VolumeFileTest, WhatAFormatCannotSayIsRefusedByName) {
  const auto refused = [](std::string_view format, const VolumeFileSource& source) {
    const auto layout = FindVolumeFileFormat(format)->describe(source);
    if (layout) return std::string("not refused");
    EXPECT_EQ(layout.error().code, ErrorCode::kNotSupported);
    return layout.error().message;
  };
  VolumeFileSource source = Image();
  for (const char* name : {"bool", "float16", "bfloat16"}) {
    source.type = *FindDataType(DataTypeDialect::kZarr, name);
    EXPECT_EQ(refused("nii", source), "nii has no type for " + std::string(name));
    EXPECT_EQ(refused("nrrd", source), "nrrd has no type for " + std::string(name));
  }
  EXPECT_EQ(refused("npy", source), "npy has no type for bfloat16");
  source.type = {DataType::Kind::kComplex, 8};
  EXPECT_EQ(refused("nii", source), "not refused");
  EXPECT_EQ(refused("nrrd", source), "nrrd has no type for complex64");
  source = Image();
  source.shape.insert(source.shape.begin(), 2);
  source.space->xyz = {{{4, 8, 0}, {3, 8, 0}, {2, 8, 0}}};
  EXPECT_EQ(
      refused("nii", source),
      "nii files have only the axes x, y, z and channel; axis 0 of this array is none of them");
  source.space = VolumeFileSource().space;
  EXPECT_NE(refused("nrrd", source).find("none of the axes"), std::string::npos);
  source.shape = {std::uint64_t{1} << 31, std::uint64_t{1} << 31};
  EXPECT_EQ(refused("raw", source), "one file would have more than 2^62 bytes");
  source.shape.push_back(0);
  EXPECT_EQ(Describe("raw", source).body_bytes, 0u);
}

// Each voxel of random ranges of random grids, against arithmetic on single voxels.
TEST(VolumeBodyTest, RunsCoverARangeInTheOrderOfTheFile) {
  std::mt19937_64 random(7);
  const auto between = [&](std::uint64_t low, std::uint64_t high) {
    return low + random() % (high - low + 1);
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<GridAxis> axes;
    const std::size_t rank = between(1, 4);
    std::vector<std::size_t> order(rank);
    std::uint64_t voxels = 1;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::vector<CellRun> runs = {{between(1, 5), between(1, 2)}, {between(1, 5), 9}};
      axes.push_back(*GridAxis::Make(between(1, 9), runs));
      order[axis] = axis;
      voxels *= axes.back().extent();
    }
    const ChunkGrid grid = *ChunkGrid::OfAxes(axes);
    std::shuffle(order.begin(), order.end(), random);
    const std::uint64_t first = between(0, voxels - 1);
    const std::uint64_t count = between(0, voxels - first);
    std::uint64_t next = first;
    const Status visited = ForEachRun(grid, order, first, count, [&](const VolumeRun& run) {
      EXPECT_EQ(run.at, next);
      EXPECT_GT(run.count, 0u);
      for (std::uint64_t i = 0; i < run.count; ++i) {
        std::uint64_t number = 0;
        for (const std::size_t axis : order) {
          std::uint64_t at = axes[axis].Begin(run.cell[axis]) + run.position[axis];
          if (axis == run.axis) at += i;
          EXPECT_LT(at, axes[axis].extent());
          number = number * axes[axis].extent() + at;
        }
        EXPECT_EQ(number, next++);
        EXPECT_LT(run.position[run.axis] + i, axes[run.axis].CellExtent(run.cell[run.axis]));
      }
      return Status();
    });
    EXPECT_TRUE(visited);
    EXPECT_EQ(next, first + count);
  }
}

TEST(VolumeBodyTest, AFailureOfTheVisitorEndsTheWalk) {
  const ChunkGrid grid = *ChunkGrid::Make({4, 4}, {2, 2});
  int calls = 0;
  const Status visited =
      ForEachRun(grid, std::vector<std::size_t>{0, 1}, 0, 16, [&](const VolumeRun&) -> Status {
        ++calls;
        return Fail(ErrorCode::kDataLoss, "damaged");
      });
  EXPECT_FALSE(visited);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace unshard
