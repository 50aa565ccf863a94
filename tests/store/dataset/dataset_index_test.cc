// What is found by path, without a walk over all datasets.
#include "store/dataset/dataset_index.h"

#include <gtest/gtest.h>

#include "store/volume/volume.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

using ArrayPaths = std::vector<std::string>;

// A contribution with arrays at these paths.
std::shared_ptr<Contribution> Arrays(const ArrayPaths& paths) {
  auto contribution = std::make_shared<Contribution>();
  for (const std::string& path : paths) {
    FoundDataset found;
    found.path = path;
    found.shape = {4, 4};
    contribution->found.push_back(found);
  }
  return contribution;
}

TEST(DatasetIndexArrays, AreThoseInADirectoryAndBelowIt) {
  DatasetIndex index;
  EXPECT_FALSE(index.HasArraysBelow(""));
  index.Put("v", Arrays({"v/8_8_8", "v/16_16_16"}));
  index.Put("a/b", Arrays({"a/b"}));
  index.Put("a-b", Arrays({"a-b"}));
  index.Put("a", Arrays({"a"}));
  EXPECT_EQ(index.ArraysIn(""), (ArrayPaths{"a", "a-b", "a/b", "v/16_16_16", "v/8_8_8"}));
  EXPECT_EQ(index.ArraysIn("a"), (ArrayPaths{"a", "a/b"}));
  EXPECT_EQ(index.ArraysIn("v"), (ArrayPaths{"v/16_16_16", "v/8_8_8"}));
  EXPECT_EQ(index.ArraysIn("v/8"), ArrayPaths{});
  EXPECT_TRUE(index.HasArraysBelow("") && index.HasArraysBelow("a") && index.HasArraysBelow("v"));
  EXPECT_FALSE(index.HasArraysBelow("a-b") || index.HasArraysBelow("v/8_8_8"));
  EXPECT_TRUE(index.HasArray("a/b"));
  EXPECT_FALSE(index.HasArray("") || index.HasArray("v"));
}

TEST(DatasetIndexArrays, TheSourceItselfIsNotBelowIt) {
  DatasetIndex index;
  index.Put("", Arrays({""}));
  EXPECT_EQ(index.ArraysIn(""), ArrayPaths{""});
  EXPECT_TRUE(index.HasArray(""));
  EXPECT_FALSE(index.HasArraysBelow(""));
}

TEST(DatasetIndexArrays, FollowChangesAndEndWithTheLastThatHasThem) {
  DatasetIndex index;
  index.Put("a", Arrays({"a/0", "a/1"}));
  index.Put("a/1", Arrays({"a/1"}));
  index.Put("a", Arrays({"a/0", "a/2"}));
  EXPECT_EQ(index.ArraysIn(""), (ArrayPaths{"a/0", "a/1", "a/2"}));
  index.Put("a/1", Arrays({}));
  EXPECT_EQ(index.ArraysIn(""), (ArrayPaths{"a/0", "a/2"}));
  auto broken = Arrays({"a/0"});
  broken->found.front().fault = Error{ErrorCode::kDataLoss, "broken", 0};
  index.Put("a", broken);
  EXPECT_FALSE(index.HasArraysBelow(""));
}

TEST(DatasetIndexTrees, AreFoundByTheDirectoryOfTheirChunks) {
  constexpr const char* kSharded =
      R"({"zarr_format":3,"node_type":"array","shape":[8,8],"data_type":"uint8","fill_value":0,
      "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[8,8]}},
      "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"sharding_indexed",
      "configuration":{"chunk_shape":[4,4],"codecs":[{"name":"bytes"}],"index_codecs":[
      {"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]})";
  TemporaryDirectory source;
  for (const char* array : {"a", "a-b", "g/a"}) {
    source.Write(std::string(array) + "/zarr.json", kSharded);
  }
  for (const char* view : {"native", "n5"}) {
    VolumeOptions options;
    options.source = source.path();
    options.read_only = true;
    options.watch = WatchMode::kOff;
    options.view = view;
    const auto volume = Volume::Open(options, nullptr);
    ASSERT_TRUE(volume) << volume.error().message;
    const DatasetIndex& index = (*volume)->parts().datasets->index();
    for (const char* array : {"a", "a-b", "g/a"}) {
      const auto served = index.ServedIn(array);
      ASSERT_TRUE(served) << view << array;
      EXPECT_EQ(served->tree->directory(), array);
      EXPECT_EQ(served->stored->directory(), array);
      EXPECT_EQ(served->tree == served->stored, std::string(view) == "native");
      EXPECT_EQ(index.HomeOf(*served->tree), array);
    }
    for (const char* none : {"", "g", "a/c", "b"}) EXPECT_FALSE(index.ServedIn(none)) << none;
  }
}

}  // namespace
}  // namespace unshard
