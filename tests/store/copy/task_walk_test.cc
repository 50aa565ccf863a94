// In which parts arrays are copied: every chunk is in one of them, once.
#include "store/copy/task_walk.h"

#include <gtest/gtest.h>

#include <set>

#include "store/copy/opened_dataset.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

class TaskWalkTest : public testing::Test {
 protected:
  // A dataset of this one document.
  StoredArray Open(const std::string& name, const std::string& text) {
    const std::string root = std::to_string(count_++);
    directory_.Write(root + "/" + name, text);
    VolumeOptions options;
    options.source = directory_.At(root);
    options.read_only = true;
    const auto opened = OpenedDataset::Open(options, {});
    EXPECT_TRUE(opened) << opened.error().message;
    return *opened->OpenLevel(opened->datasets().front(), 0);
  }

  StoredArray Volume(const std::string& size, const std::string& sharding) {
    return Open("info",
                R"({"type":"image","data_type":"uint8","num_channels":1,"scales":[{"key":"k",
        "size":)" + size +
                    R"(,"voxel_offset":[0,0,0],"resolution":[1,1,1],"chunk_sizes":[[8,8,8]],
        "encoding":"raw","sharding":{"@type":"neuroglancer_uint64_sharded_v1",)" +
                    sharding + "}}]}");
  }

  StoredArray Zarr(const std::string& shape, const std::string& chunk, const std::string& codecs) {
    return Open("zarr.json",
                R"({"zarr_format":3,"node_type":"array","shape":)" + shape +
                    R"(,"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{)"
                    R"("chunk_shape":)" +
                    chunk +
                    R"(}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":)" +
                    codecs + "}");
  }

  TemporaryDirectory directory_;
  int count_ = 0;
};

constexpr const char* kSharded = R"([{"name":"sharding_indexed","configuration":{
    "chunk_shape":[8,8,8],"codecs":[{"name":"bytes"}],
    "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}])";
constexpr const char* kPlain = R"([{"name":"bytes"}])";

// The number of tasks. Each is one shard, its slots ascend, and together they have every chunk.
std::size_t CheckShards(const StoredArray& array) {
  const ChunkGrid grid = *GridOf(array.array);
  const auto walk = WalkShards(array, grid);
  std::set<std::uint64_t> shards;
  std::set<GridCell> cells;
  std::uint64_t done = 0;
  while (const auto task = walk->Next()) {
    EXPECT_TRUE(shards.insert(task->shard).second) << task->shard;
    EXPECT_FALSE(task->slots.empty());
    done += task->cells;
    for (std::size_t i = 0; i < task->slots.size(); ++i) {
      const ShardSlot& slot = task->slots[i];
      EXPECT_EQ(slot.shard, task->shard);
      if (i > 0) {
        const ShardSlot& before = task->slots[i - 1];
        EXPECT_LT(std::make_pair(before.page, before.slot), std::make_pair(slot.page, slot.slot));
      }
      EXPECT_TRUE(cells.insert(array.tree->FileOf({slot, ChunkPart::kPlain})->cell).second);
    }
  }
  EXPECT_EQ(cells.size(), grid.cell_count());
  EXPECT_EQ(done, grid.cell_count());
  return shards.size();
}

TEST_F(TaskWalkTest, ShardsOfVolumes) {
  EXPECT_EQ(CheckShards(Volume("[50,33,20]", R"("preshift_bits":1,"hash":"identity",
      "minishard_bits":2,"shard_bits":3)")),
            8U);
  CheckShards(Volume("[50,33,20]", R"("preshift_bits":0,"hash":"murmurhash3_x86_128",
      "minishard_bits":1,"shard_bits":2)"));
  EXPECT_EQ(CheckShards(Volume("[50,33,20]", R"("preshift_bits":9,"hash":"identity",
      "minishard_bits":0,"shard_bits":0)")),
            1U);
}

TEST_F(TaskWalkTest, ShardsOfZarrArrays) {
  EXPECT_EQ(CheckShards(Zarr("[50,33,20]", "[16,32,16]", kSharded)), 4U * 2U * 2U);
  EXPECT_EQ(CheckShards(Zarr("[7,7,7]", "[16,32,16]", kSharded)), 1U);
}

void CheckBoxes(const StoredArray& from, const StoredArray& to, std::size_t boxes) {
  AxisMap axes;
  for (std::size_t axis = 0; axis < to.array.rank(); ++axis) {
    axes.emplace_back(axis + from.array.rank() - to.array.rank());
  }
  const auto copy = ChunkMapping::ForCopy(from.array, to.array, axes);
  ASSERT_TRUE(copy) << copy.error().message;
  const auto walk = WalkBoxes(*copy);
  std::set<std::uint64_t> chunks;
  std::size_t tasks = 0;
  while (const auto task = walk->Next()) {
    ++tasks;
    for (const ShardSlot& slot : task->slots) EXPECT_TRUE(chunks.insert(slot.shard).second);
  }
  EXPECT_EQ(chunks.size(), copy->to_grid().cell_count());
  EXPECT_EQ(*chunks.rbegin(), copy->to_grid().cell_count() - 1);
  EXPECT_EQ(tasks, boxes);
}

TEST_F(TaskWalkTest, BoxesAreTheShardsOfTheSource) {
  const StoredArray sharded = Zarr("[50,33,20]", "[16,32,16]", kSharded);
  CheckBoxes(sharded, Zarr("[50,33,20]", "[8,8,8]", kPlain), 4U * 2U * 2U);
  CheckBoxes(sharded, Zarr("[50,33,20]", "[64,64,64]", kPlain), 1);
  CheckBoxes(Zarr("[50,33,20]", "[8,8,8]", kPlain), Zarr("[50,33,20]", "[1,8,8]", kPlain), 1);
  const StoredArray volume = Volume("[20,33,50]", R"("preshift_bits":1,"hash":"identity",
      "minishard_bits":2,"shard_bits":3)");
  CheckBoxes(volume, Zarr("[50,33,20]", "[8,8,8]", kPlain), 1);
}

TEST_F(TaskWalkTest, BoxesAreBounded) {
  const StoredArray from = Zarr("[4096,4096,4096]", "[1024,1024,1024]", kSharded);
  const StoredArray to = Zarr("[4096,4096,4096]", "[8,8,8]", kPlain);
  const auto copy = *ChunkMapping::ForCopy(from.array, to.array, {0, 1, 2});
  std::uint64_t chunks = 1;
  for (const std::uint64_t extent : BoxShape(copy)) chunks *= extent;
  EXPECT_LE(chunks, 1U << 14);
  EXPECT_EQ(BoxShape(copy).back(), 128U);  // rows stay whole
}

}  // namespace
}  // namespace unshard
