// Whole-volume files over volumes on a disk: which bytes they have, and what they cost.
#include "store/volume_file/source_arrays.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "store/volume_file/voxel_content.h"
#include "tests/support/sharded_source.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

constexpr ShardingSpec kSpec{.preshift_bits = 0, .minishard_bits = 1, .shard_bits = 1};

// A volume of 10 × 7 × 5 voxels of one byte in chunks of 4 × 4 × 4; the value of a voxel is made of
// its place.
class SourceArraysTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kX = 10, kY = 7, kZ = 5, kChunk = 4;
  static constexpr std::uint64_t kVoxels = kX * kY * kZ;

  static char ValueAt(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
    return static_cast<char>(1 + x + kX * (y + kY * z) % 251);
  }
  // The chunk, clipped, with `add` added to each voxel.
  static std::string ChunkAt(const GridCell& cell, int add = 0) {
    std::string chunk;
    for (std::uint64_t z = cell[2] * kChunk; z < std::min(kZ, cell[2] * kChunk + kChunk); ++z) {
      for (std::uint64_t y = cell[1] * kChunk; y < std::min(kY, cell[1] * kChunk + kChunk); ++y) {
        for (std::uint64_t x = cell[0] * kChunk; x < std::min(kX, cell[0] * kChunk + kChunk); ++x) {
          chunk += static_cast<char>(ValueAt(x, y, z) + add);
        }
      }
    }
    return chunk;
  }
  // The whole body; the chunks in `absent`, by the index of their cell, are zeros.
  [[nodiscard]] std::string Body(const std::set<std::uint64_t>& absent = {}, int add = 0) const {
    std::string body;
    for (std::uint64_t z = 0; z < kZ; ++z) {
      for (std::uint64_t y = 0; y < kY; ++y) {
        for (std::uint64_t x = 0; x < kX; ++x) {
          const GridCell cell{x / kChunk, y / kChunk, z / kChunk};
          const std::uint64_t index = LinearIndex(volume_.grid_shape, cell);
          body += absent.contains(index) ? '\0' : static_cast<char>(ValueAt(x, y, z) + add);
        }
      }
    }
    return body;
  }

  void WriteVolume(const std::set<std::uint64_t>& absent = {}, int add = 0) {
    std::map<std::uint64_t, std::string> chunks;
    for (std::uint64_t i = 0; i < volume_.cell_count(); ++i) {
      if (!absent.contains(i)) chunks[i] = ChunkAt(volume_.CellAt(i), add);
    }
    source_.Write("info", volume_.document);
    for (const auto& [key, bytes] : volume_.Encode(chunks)) {
      source_.Replace(JoinPath(volume_.directory, key), bytes);
    }
  }

  void Open() {
    arrays_.reset();
    options_.source = source_.path();
    options_.read_only = true;
    options_.watch = WatchMode::kOff;
    auto opened = Volume::Open(options_, nullptr);
    ASSERT_TRUE(opened) << opened.error().message;
    opened_ = *std::move(opened);
    arrays_ = std::make_unique<SourceArrays>(opened_->parts(), options_);
  }

  ContentPtr File(const std::string& array, std::string_view format) {
    const auto found = arrays_->Find(array);
    EXPECT_TRUE(found) << found.error().message;
    if (!found || !*found) return nullptr;
    auto layout = FindVolumeFileFormat(format)->describe((*found)->described);
    EXPECT_TRUE(layout) << layout.error().message;
    return layout ? MakeVoxelContent(*std::move(layout), (*found)->chunks) : nullptr;
  }
  static Result<std::string> ReadAt(ChunkContent& content, std::uint64_t at, std::uint64_t size) {
    UNSHARD_ASSIGN_OR_RETURN(FilePiece piece, content.Read(at, size));
    UNSHARD_ASSIGN_OR_RETURN(const Bytes bytes, InMemory(std::move(piece)));
    return std::string(AsText(bytes.span()));
  }

  const ShardedSource volume_ =
      PrecomputedSource({kX, kY, kZ}, {kChunk, kChunk, kChunk}, kSpec, "raw");
  TemporaryDirectory source_;
  VolumeOptions options_;
  std::unique_ptr<Volume> opened_;
  std::unique_ptr<SourceArrays> arrays_;
};

TEST_F(SourceArraysTest, EachRangeOfAFileHasTheVoxelsOfItsChunks) {
  WriteVolume({1});
  Open();
  EXPECT_EQ(arrays_->FoundIn(""), std::vector<std::string>{"8_8_8"});
  const ContentPtr npy = File("8_8_8", "npy");
  ASSERT_TRUE(npy);
  ASSERT_GT(npy->size(), kVoxels);
  const std::uint64_t header = npy->size() - kVoxels;
  const std::string whole = *ReadAt(*npy, 0, npy->size() + 100);
  ASSERT_EQ(whole.size(), npy->size());
  EXPECT_EQ(whole.substr(header), Body({1}));
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t at = random() % (whole.size() + 3);
    const std::uint64_t size = random() % 90;
    EXPECT_EQ(*ReadAt(*npy, at, size), at < whole.size() ? whole.substr(at, size) : "");
  }
  EXPECT_EQ(*ReadAt(*npy, ~std::uint64_t{0}, 10), "");
}

// Of the axes of each other, and of items of several bytes: ranges that begin inside of voxels.
TEST_F(SourceArraysTest, AxesAreThoseOfTheFileAndItemsAreCutAnywhere) {
  // A Zarr array of 3 × 2 × 4 voxels of two bytes, axes x, y, z, big-endian, in one plain chunk.
  source_.Write("zarr.json",
                R"({"zarr_format":3,"node_type":"array","shape":[3,2,4],"data_type":"uint16",)"
                R"("fill_value":258,"dimension_names":["x","y","z"],)"
                R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,2,4]}},)"
                R"("chunk_key_encoding":{"name":"default"},)"
                R"("codecs":[{"name":"bytes","configuration":{"endian":"big"}}]})");
  std::string chunk;
  for (char i = 0; i < 16; ++i) chunk += std::string("\1") + i;
  source_.Write("c/0/0/0", chunk);
  Open();
  EXPECT_EQ(arrays_->FoundIn(""), std::vector<std::string>{""});
  std::string in_c_order, x_fastest;
  for (char i = 0; i < 16; ++i) in_c_order += std::string(1, i) + "\1";
  for (int i = 0; i < 8; ++i) in_c_order += "\2\1";
  for (std::size_t z = 0; z < 4; ++z) {
    for (std::size_t y = 0; y < 2; ++y) {
      for (std::size_t x = 0; x < 3; ++x)
        x_fastest += in_c_order.substr(2 * (z + 4 * (y + 2 * x)), 2);
    }
  }
  const ContentPtr raw = File("", "raw");
  EXPECT_EQ(*ReadAt(*raw, 0, 1000), in_c_order);
  const ContentPtr nrrd = File("", "nrrd");
  const std::uint64_t header = nrrd->size() - x_fastest.size();
  EXPECT_EQ(*ReadAt(*nrrd, header, 1000), x_fastest);
  for (std::uint64_t at = 0; at < x_fastest.size(); ++at) {
    for (const std::uint64_t size : {1u, 2u, 5u, 11u}) {
      EXPECT_EQ(*ReadAt(*nrrd, header + at, size), x_fastest.substr(at, size));
    }
  }
}

TEST_F(SourceArraysTest, SequentialReadsDecodeEachChunkOnceAndRandomOnesOne) {
  WriteVolume();
  Open();
  const ContentPtr raw = File("8_8_8", "raw");
  EXPECT_EQ(*ReadAt(*raw, kX * kY + 5, 1), Body().substr(kX * kY + 5, 1));
  EXPECT_EQ(arrays_->chunks_decoded(), 1u);
  std::string read;
  for (std::uint64_t at = 0; at < kVoxels; at += 17) read += *ReadAt(*raw, at, 17);
  EXPECT_EQ(read, Body());
  EXPECT_EQ(arrays_->chunks_decoded(), volume_.cell_count());
}

// 16M: of decoded chunks 4 MiB are kept. A layer of 64 chunks of 128 KiB takes twice as much; of
// its 32 planes of 256 KiB eight are kept.
class LargeLayerTest : public SourceArraysTest {
 protected:
  static constexpr std::uint64_t kSide = 512, kDepth = 32, kTile = 64;

  static char VoxelAt(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
    return static_cast<char>((x * 7 + y * 31 + z * 101 + (x >> 6) * (y >> 5)) % 251);
  }
  void SetUp() override {
    options_.memory_bytes = std::uint64_t{16} << 20;
    std::map<std::uint64_t, std::string> chunks;
    for (std::uint64_t i = 0; i < layer_.cell_count(); ++i) {
      const GridCell cell = layer_.CellAt(i);
      std::string& chunk = chunks[i];
      for (std::uint64_t z = 0; z < kDepth; ++z) {
        for (std::uint64_t y = 0; y < kTile; ++y) {
          for (std::uint64_t x = 0; x < kTile; ++x) {
            chunk += VoxelAt(cell[0] * kTile + x, cell[1] * kTile + y, z);
          }
        }
      }
    }
    source_.Write("info", layer_.document);
    for (const auto& [key, bytes] : layer_.Encode(chunks)) {
      source_.Write(JoinPath(layer_.directory, key), bytes);
    }
    Open();
  }
  // Of the body of the file.
  static bool IsRight(const std::string& read, std::uint64_t at) {
    for (std::uint64_t i = 0; i < read.size(); ++i) {
      const std::uint64_t voxel = at + i;
      if (read[i] != VoxelAt(voxel % kSide, voxel / kSide % kSide, voxel / kSide / kSide)) {
        return false;
      }
    }
    return true;
  }

  const ShardedSource layer_ =
      PrecomputedSource({kSide, kSide, kDepth}, {kTile, kTile, kDepth}, kSpec, "raw");
};

TEST_F(LargeLayerTest, EachOfItsChunksIsDecodedOnceForThePlanesThatAreKept) {
  const ContentPtr raw = File("8_8_8", "raw");
  for (std::uint64_t at = 0; at < raw->size(); at += 60000) {
    ASSERT_TRUE(IsRight(*ReadAt(*raw, at, 60000), at)) << at;
  }
  EXPECT_EQ(arrays_->chunks_decoded(), layer_.cell_count() * 4);
}

TEST_F(LargeLayerTest, ABlockIsDecodedOnce) {
  const ContentPtr raw = File("8_8_8", "raw");
  for (std::uint64_t z = 0; z < kDepth; ++z) {
    for (std::uint64_t y = 100; y < 200; ++y) {
      const std::uint64_t at = (z * kSide + y) * kSide + 50;
      ASSERT_TRUE(IsRight(*ReadAt(*raw, at, 100), at));
    }
  }
  EXPECT_EQ(arrays_->chunks_decoded(), 9u);
}

TEST_F(SourceArraysTest, ADamagedChunkFailsAloneAndIsNamed) {
  WriteVolume();
  std::map<std::uint64_t, std::string> chunks;
  for (std::uint64_t i = 0; i < volume_.cell_count(); ++i) {
    chunks[i] = i == 0 ? "short" : ChunkAt(volume_.CellAt(i));
  }
  for (const auto& [key, bytes] : volume_.Encode(chunks)) {
    source_.Replace(JoinPath(volume_.directory, key), bytes);
  }
  Open();
  const ContentPtr raw = File("8_8_8", "raw");
  const auto damaged = ReadAt(*raw, 0, kX);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::kDataLoss);
  EXPECT_TRUE(damaged.error().message.starts_with("8_8_8/0-4_0-4_0-4: "))
      << damaged.error().message;
  EXPECT_EQ(*ReadAt(*raw, kChunk, kX - kChunk), Body().substr(kChunk, kX - kChunk));
}

TEST_F(SourceArraysTest, ReplacedShardsAndPlainChunksAreSeen) {
  options_.ttl_milliseconds = 0;
  WriteVolume();
  source_.Write("plain/.zarray",
                R"({"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"|u1","compressor":null,)"
                R"("filters":null,"fill_value":0,"order":"C"})");
  source_.Write("plain/0", "ab");
  Open();
  const ContentPtr raw = File("8_8_8", "raw");
  EXPECT_EQ(*ReadAt(*raw, 0, kVoxels), Body());
  WriteVolume({}, 3);
  EXPECT_EQ(*ReadAt(*raw, 0, kVoxels), Body({}, 3));
  const ContentPtr plain = File("plain", "raw");
  EXPECT_EQ(*ReadAt(*plain, 0, 10), std::string("ab\0\0", 4));
  source_.Replace("plain/0", "cd");
  source_.Write("plain/1", "ef");
  EXPECT_EQ(*ReadAt(*plain, 0, 10), "cdef");
}

TEST_F(SourceArraysTest, WhatAnArrayIsFollowsItsMetadata) {
  options_.ttl_milliseconds = 0;
  WriteVolume();
  Open();
  const auto before = arrays_->Find("8_8_8");
  EXPECT_EQ(*arrays_->Find("8_8_8"), *before);
  std::string document = volume_.document;
  document.replace(document.find("[8,8,8]"), 7, "[8,8,9]");
  source_.Replace("info", document);
  const auto after = arrays_->Find("8_8_8");
  ASSERT_TRUE(after && *after);
  EXPECT_NE((*after)->serial, (*before)->serial);
  EXPECT_EQ((*after)->described.space->xyz[2].resolution, 9);
  EXPECT_EQ(*arrays_->Find("8_8_7"), nullptr);
  EXPECT_EQ(*arrays_->Find(""), nullptr);
  std::filesystem::remove(source_.path() + "/info");
  EXPECT_EQ(*arrays_->Find("8_8_8"), nullptr);
}

// One byte a voxel, 2^60 of them, and one chunk that exists.
TEST_F(SourceArraysTest, LargeVolumesCostNothing) {
  const std::uint64_t side = std::uint64_t{1} << 20;
  source_.Write("zarr.json",
                R"({"zarr_format":3,"node_type":"array","shape":[1048576,1048576,1048576],)"
                R"("data_type":"uint8","fill_value":9,)"
                R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4,4,4]}},)"
                R"("chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}]})");
  source_.Write("c/262143/262143/262143", std::string(64, 'x'));
  Open();
  const ContentPtr raw = File("", "raw");
  ASSERT_EQ(raw->size(), side * side * side);
  EXPECT_EQ(*ReadAt(*raw, raw->size() - 6, 100), "\t\txxxx");
  EXPECT_EQ(*ReadAt(*raw, 12345678901234567, 3), "\t\t\t");
  EXPECT_EQ(arrays_->chunks_decoded(), 1u);
}

TEST_F(SourceArraysTest, AChunkThatMemoryCannotHoldIsRefused) {
  source_.Write("zarr.json",
                R"({"zarr_format":3,"node_type":"array","shape":[67108864],"data_type":"uint8",)"
                R"("fill_value":0,"chunk_grid":{"name":"regular","configuration":)"
                R"({"chunk_shape":[67108864]}},"chunk_key_encoding":{"name":"default"},)"
                R"("codecs":[{"name":"bytes"}]})");
  source_.Write("c/0", "x");
  options_.memory_bytes = std::uint64_t{16} << 20;
  Open();
  const auto refused = ReadAt(*File("", "raw"), 0, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace unshard
