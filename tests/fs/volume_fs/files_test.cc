// `files/` of a mount with files=: names, attributes, listings, and what the kernel is notified of.
#include <cerrno>

#include "fs/mount/mount.h"
#include "store/object/error_number.h"
#include "tests/support/mounted_volume.h"

namespace unshard {
namespace {

constexpr ShardingSpec kSpec{.preshift_bits = 0, .minishard_bits = 1, .shard_bits = 1};

class FilesTest : public MountedVolume {
 protected:
  // A volume of 8 × 4 × 4 voxels, "8_8_8", in two chunks.
  static ShardedSource Volume() { return PrecomputedSource({8, 4, 4}, {4, 4, 4}, kSpec, "raw"); }
  static std::string Chunk(char value) { return std::string(64, value); }

  void MountWith(std::vector<std::string> formats) {
    options_.files = std::move(formats);
    Mount();
  }
};

TEST_F(FilesTest, EachArrayIsAFileOfEachFormatThatCanHoldIt) {
  Write("em", Volume(), {{0, Chunk('a')}});
  source_.Write("half/.zarray",
                R"({"zarr_format":2,"shape":[4,4],"chunks":[4,4],"dtype":"<f2","compressor":null,)"
                R"("filters":null,"fill_value":0,"order":"C"})");
  MountWith({"npy", "raw", "nii"});
  EXPECT_EQ(NameSet(""), (std::set<std::string>{"em", "files", "half"}));
  for (const std::size_t piece : {1u, 2u, 1000u}) {
    EXPECT_EQ(Names("", piece).front(), "files");
    EXPECT_EQ(Names("", piece).size(), 3u);
    EXPECT_EQ(Names("files", piece), (std::vector<std::string>{"em", "half.npy", "half.raw"}));
    EXPECT_EQ(Names("files/em", piece),
              (std::vector<std::string>{"8_8_8.nii", "8_8_8.npy", "8_8_8.raw"}));
  }
  EXPECT_EQ(Text("files/em/8_8_8.raw"), "aaaa" + std::string(4, '\0') + "aaaa" +
                                            std::string(4, '\0') +
                                            Text("files/em/8_8_8.raw").substr(16));
  const auto raw = Find("files/em/8_8_8.raw");
  ASSERT_TRUE(raw);
  EXPECT_EQ(raw->attributes.size, 128u);
  EXPECT_FALSE(raw->attributes.directory);
  EXPECT_EQ(Find("files/em/8_8_8.nrrd")->node, 0u);
  EXPECT_EQ(Find("files/em/other.raw")->node, 0u);
  EXPECT_EQ(Find("files/em/8_8_8")->node, 0u);
  const auto refused = Find("files/half.nii");
  ASSERT_FALSE(refused);
  EXPECT_EQ(ErrnoOf(refused.error()), ENOENT);
  EXPECT_EQ(refused.error().message, "files/half.nii: nii has no type for float16");
}

TEST_F(FilesTest, AListingInPiecesLooksAtEachArrayOnceAndReadsTheirGroupOnce) {
  constexpr std::size_t kArrays = 50;
  source_.Write("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  for (std::size_t i = 0; i < kArrays; ++i) {
    source_.Write("a" + std::to_string(i) + "/zarr.json",
                  R"({"zarr_format":3,"node_type":"array","shape":[4,4],"data_type":"uint8",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4,4]}},"fill_value":0,
        "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}]})");
  }
  options_.ttl_milliseconds = 0;
  MountWith({"npy"});
  ASSERT_TRUE(Find("files"));
  store_->Reset();
  EXPECT_EQ(Names("files").size(), kArrays);
  EXPECT_EQ(store_->of("zarr.json").opens, 1U);
  for (std::size_t i = 0; i < kArrays; ++i) {
    EXPECT_EQ(store_->of("a" + std::to_string(i) + "/zarr.json").opens, 1U) << i;
  }
  store_->Reset();
  EXPECT_EQ(Names("files").size(), kArrays);
  const std::uint64_t in_one_piece = store_->total().requests();
  for (const std::size_t piece : {3U, 7U}) {
    store_->Reset();
    EXPECT_EQ(Names("files", piece).size(), kArrays);
    EXPECT_EQ(store_->total().requests(), in_one_piece) << piece;
  }
}

TEST_F(FilesTest, AnArrayThatIsTheSourceIsCalledVolume) {
  Write("", ZarrSource({8}, {4}, {2}), {{0, "abcd"}});
  MountWith({"raw", "npy"});
  EXPECT_EQ(Names("files"), (std::vector<std::string>{"volume.npy", "volume.raw"}));
  EXPECT_EQ(Text("files/volume.raw"), std::string("abcd\0\0\0\0", 8));
}

TEST_F(FilesTest, WithoutTheOptionThereIsNoSuchName) {
  Write("em", Volume(), {});
  Mount();
  EXPECT_EQ(Find("files")->node, 0u);
  EXPECT_EQ(NameSet(""), std::set<std::string>{"em"});
}

TEST_F(FilesTest, PagesOfAFileAreDroppedWhenAShardOfItChanges) {
  Write("em", Volume(), {{0, Chunk('a')}});
  Write("other", ZarrSource({8}, {4}, {2}), {{0, "abcd"}});
  MountWith({"raw"});
  const NodeId em = Find("files/em/8_8_8.raw")->node;
  const NodeId other = Find("files/other.raw")->node;
  EXPECT_EQ(*fs_->Load(em), PageUse::kKept);
  EXPECT_EQ(Text("files/em/8_8_8.raw").substr(0, 8), std::string("aaaa\0\0\0\0", 8));
  EXPECT_EQ(Text("files/other.raw").substr(0, 4), "abcd");
  Write("em", Volume(), {{0, Chunk('a')}, {1, Chunk('b')}});
  Changed("em/8_8_8/0.shard");
  Changed("em/8_8_8/1.shard");
  EXPECT_FALSE(notifier_.inodes.contains(other));
  EXPECT_EQ(Text("files/em/8_8_8.raw").substr(0, 8), "aaaabbbb");
  Changed("em");
  EXPECT_TRUE(notifier_.inodes.contains(em));
}

TEST_F(FilesTest, NothingIsWrittenOrRemoved) {
  Write("em", Volume(), {});
  MountWith({"raw"});
  const NodeId node = Find("files/em/8_8_8.raw")->node;
  const auto opened = fs_->Open(node, {.read = true, .write = true});
  ASSERT_FALSE(opened);
  EXPECT_EQ(ErrnoOf(opened.error()), EROFS);
  const NodeId directory = Find("files/em")->node;
  EXPECT_FALSE(fs_->Remove(directory, "8_8_8.raw"));
  EXPECT_FALSE(fs_->MakeDirectory(kRootNode, "files", 0777));
}

TEST_F(FilesTest, ASourceThatHasTheNameIsRefused) {
  Write("files", Volume(), {});
  options_.source = source_.path();
  options_.files = {"npy"};
  options_.read_only = true;
  ChangeQueue changes;
  const auto opened = OpenVolume(options_, changes);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(opened.error().message.find("option files=: "), std::string::npos);
}

}  // namespace
}  // namespace unshard
