// A mount of a store that cannot list and does not keep replaced versions, as one behind HTTP: what
// is found, what is listed, and how many requests it costs.
#include <gtest/gtest.h>

#include <algorithm>

#include "fs/common/request_failures.h"
#include "fs/volume_fs.h"
#include "store/chunks/shard_probe.h"
#include "store/local/inotify_watcher.h"
#include "store/source/catalog_store.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

constexpr std::size_t kCache = std::size_t{1} << 24;
const ChunkKeyEncoding kFlat{ChunkKeyEncoding::Kind::kV2, '.'};

class Remote : public testing::Test {
 protected:
  void Put(const std::string& path, const ShardedSource& source,
           const std::map<std::uint64_t, std::string>& chunks) {
    memory_->Put(JoinPath(path, source.document_name), source.document);
    for (const auto& [key, bytes] : source.Encode(chunks)) {
      memory_->Put(JoinPath(JoinPath(path, source.directory), key), bytes);
    }
  }

  void Mount(std::uint64_t ttl_milliseconds = 600'000, ListMode mode = ListMode::kPresent) {
    MountOptions options;
    options.read_only = true;
    options.list = mode;
    options.ttl_milliseconds = ttl_milliseconds;
    VolumeParts parts;
    DatasetTreeOptions tree;
    parts.store = tree.catalog = std::make_shared<CatalogStore>(store_);
    parts.watcher = std::make_shared<WatchMonitor>(MakeNullWatcher());
    parts.indexes = std::make_shared<IndexCache>(kCache);
    parts.decoded = std::make_shared<ByteBudgetCache>(kCache);
    parts.reader = std::make_shared<ChunkReader>(parts.decoded, kCache, parts.reads,
                                                 parts.store->capabilities());
    tree.morton = MortonChoice::kStandard;
    tree.max_directories = 1;
    tree.shards.ttl_milliseconds = ttl_milliseconds;
    parts.datasets = std::make_shared<DatasetTree>(parts.store, parts.watcher, parts.indexes,
                                                   parts.reader, tree);
    const Status found = parts.datasets->Discover();
    ASSERT_TRUE(found) << found.error().message;
    fs_ = std::make_unique<VolumeFs>(std::make_unique<Volume>(std::move(parts), options), options);
  }

  // Node 0: missing.
  NodeId Find(const std::string& path) {
    NodeId node = kRootNode;
    for (std::size_t begin = 0; begin < path.size() && node != 0;) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const auto entry = fs_->Lookup(node, path.substr(begin, end - begin));
      EXPECT_TRUE(entry) << path << ": " << entry.error().message;
      node = entry ? entry->node : 0;
      begin = end + 1;
    }
    return node;
  }

  std::string ReadAll(NodeId node) {
    const auto piece = fs_->Read(node, 0, 1000);
    if (!piece) return piece.error().message;
    return std::string(AsText(std::get<Bytes>(*piece).span()));
  }
  // What a program reads that opens `path`; "ENOENT" where it is missing.
  std::string Text(const std::string& path) {
    const NodeId node = Find(path);
    return node == 0 ? "ENOENT" : ReadAll(node);
  }

  // Names in the order of the listing, a few at a time as the kernel asks for them.
  std::vector<std::string> Names(const std::string& path, std::size_t piece = 3) {
    std::vector<std::string> names;
    const NodeId node = Find(path);
    std::uint64_t cookie = 0;
    for (std::size_t got = piece; got == piece;) {
      got = 0;
      const Status listed = fs_->ReadDirectory(node, cookie, false, [&](const DirectoryName& name) {
        if (got == piece) return false;
        ++got;
        cookie = name.next_cookie;
        if (name.name != "." && name.name != "..") names.emplace_back(name.name);
        return true;
      });
      EXPECT_TRUE(listed) << listed.error().message;
      if (!listed) break;
    }
    return names;
  }

  // Requests since the last call.
  std::uint64_t Requests() {
    const std::uint64_t requests = store_->total().requests();
    store_->Reset();
    return requests;
  }

  const std::shared_ptr<MemoryStore> memory_ =
      std::make_shared<MemoryStore>(Capabilities{.lists = false, .keeps_replaced_versions = false});
  const std::shared_ptr<CountingStore> store_ = std::make_shared<CountingStore>(memory_);
  std::unique_ptr<VolumeFs> fs_;
};

TEST_F(Remote, AnArrayIsFoundListedAndRead) {
  Put("", ZarrSource({8}, {1}, {4}, kFlat), {{0, "a"}, {5, "f"}});
  Mount();
  EXPECT_EQ(Names(""), (std::vector<std::string>{"0", "5", "zarr.json"}));
  EXPECT_EQ(Text("0") + Text("5"), "af");
  EXPECT_EQ(Text("1"), "ENOENT");
  EXPECT_EQ(Text("8"), "ENOENT") << "outside of the grid";
}

TEST_F(Remote, ANestedArrayListsTheDirectoriesThatHoldChunks) {
  const ShardedSource array = ZarrSource({4, 6}, {1, 1}, {2, 2});
  Put("", array, {{1, "a"}, {6 * 3 + 5, "z"}});
  Mount();
  EXPECT_EQ(Names(""), (std::vector<std::string>{"c", "zarr.json"}));
  EXPECT_EQ(Names("c"), (std::vector<std::string>{"0", "3"}));
  EXPECT_EQ(Names("c/0"), std::vector<std::string>{"1"});
  EXPECT_EQ(Names("c/3"), std::vector<std::string>{"5"});
  EXPECT_EQ(Names("c/2"), std::vector<std::string>());
  EXPECT_EQ(Text("c/0/1") + Text("c/3/5"), "az");
}

TEST_F(Remote, ListGridNamesEveryChunkAndAsksForNothing) {
  Put("", ZarrSource({2, 3}, {1, 1}, {2, 2}), {{1, "a"}});
  Put("flat", PrecomputedSource({8, 8, 4}, {4, 4, 4}, {}), {{1, "b"}});
  Mount(600'000, ListMode::kGrid);
  EXPECT_EQ(Names("c/0"), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(Names("c/1"), (std::vector<std::string>{"0", "1", "2"}));
}

TEST_F(Remote, APrecomputedScaleIsListedByItsShards) {
  ShardingSpec spec;
  spec.shard_bits = 2;
  const ShardedSource volume = PrecomputedSource({16, 4, 4}, {4, 4, 4}, spec);
  Put("", volume, {{0, "a"}, {3, "d"}});
  Mount();
  EXPECT_EQ(Names("8_8_8"), (std::vector<std::string>{"0-4_0-4_0-4", "12-16_0-4_0-4"}));
  Mount(600'000, ListMode::kGrid);
  EXPECT_EQ(Names("8_8_8").size(), 4U);
  EXPECT_EQ(Names("8_8_8", 1), Names("8_8_8", 100)) << "in whatever pieces it is listed";
}

TEST_F(Remote, MoreShardsThanAreAskedForMakeAGrid) {
  const std::uint64_t extent = 2 * (ShardProbe::kMostShards + 1);
  Put("", ZarrSource({extent}, {1}, {2}, kFlat), {{7, "h"}});
  Mount();
  Requests();
  EXPECT_EQ(Names("", 1000).size(), extent + 1) << "the chunks and zarr.json";
  EXPECT_EQ(Requests(), 0U);
  EXPECT_EQ(Text("7"), "h");
}

TEST_F(Remote, GroupsAndScalesAreKnownByTheirDocuments) {
  memory_->Put("zarr.json",
               R"({"zarr_format":3,"node_type":"group","attributes":{"ome":{"multiscales":[)"
               R"({"datasets":[{"path":"s0"},{"path":"s1"}]}]}}})");
  Put("s0", ZarrSource({2}, {1}, {2}, kFlat), {{0, "a"}});
  Put("s1", ZarrSource({1}, {1}, {1}, kFlat), {{0, "b"}});
  Put("other/deep", ZarrSource({1}, {1}, {1}, kFlat), {{0, "c"}});
  memory_->Put("other/zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  memory_->Put("notes.txt", "any file");
  Mount();
  EXPECT_EQ(Names(""), (std::vector<std::string>{"s0", "s1", "zarr.json"}));
  EXPECT_EQ(Text("s0/0") + Text("s1/0"), "ab");
  EXPECT_EQ(Text("notes.txt"), "any file") << "its name was not known";
  EXPECT_EQ(Find("nothing"), 0U);
  EXPECT_EQ(Text("other/deep/0"), "c") << "not mentioned, found by its documents";
  EXPECT_EQ(Names(""), (std::vector<std::string>{"other", "s0", "s1", "zarr.json"}));
}

TEST_F(Remote, UnshardedChunksAreFoundByTheirNames) {
  memory_->Put(".zgroup", R"({"zarr_format":2})");
  memory_->Put(".zmetadata", R"({"metadata":{".zgroup":{},"v2/.zarray":{},"flat/.zarray":{}}})");
  memory_->Put("v2/.zarray", R"({"shape":[4,4,4],"chunks":[2,2,2],"dtype":"|u1",)"
                             R"("compressor":null,"dimension_separator":"/"})");
  memory_->Put("v2/1/0/1", "nested");
  memory_->Put("flat/.zarray", R"({"shape":[4,4],"chunks":[2,2],"dtype":"|u1"})");
  memory_->Put("flat/1.0", "flat");
  memory_->Put("n5/attributes.json",
               R"({"dimensions":[4,4],"blockSize":[2,2],"dataType":"uint8"})");
  memory_->Put("n5/0/1", "block");
  Mount();
  EXPECT_EQ(Names(""), (std::vector<std::string>{".zgroup", ".zmetadata", "flat", "v2"}));
  EXPECT_EQ(Text("v2/1/0/1"), "nested");
  EXPECT_EQ(Text("v2/1/0/0"), "ENOENT");
  EXPECT_EQ(Text("flat/1.0"), "flat");
  EXPECT_EQ(Text("n5/0/1"), "block");
}

TEST_F(Remote, AnIndexThatIsCachedCostsOneRequestAChunk) {
  Put("", ZarrSource({64}, {1}, {64}, kFlat), {{0, "a"}, {1, "b"}, {2, "c"}});
  Mount();
  Requests();
  EXPECT_EQ(Text("0"), "a");
  EXPECT_EQ(Requests(), 2U) << "a cold Zarr chunk: its shard with the index, and its bytes";
  EXPECT_EQ(Text("1"), "b");
  EXPECT_EQ(Requests(), 1U);
  EXPECT_EQ(Text("5"), "ENOENT");
  EXPECT_EQ(Requests(), 0U) << "the index says so";
}

TEST_F(Remote, AColdPrecomputedChunkCostsThreeRequests) {
  Put("", PrecomputedSource({16, 4, 4}, {4, 4, 4}, {}), {{0, "a"}, {1, "b"}});
  Mount();
  Find("8_8_8");
  Requests();
  EXPECT_EQ(Text("8_8_8/0-4_0-4_0-4"), "a");
  EXPECT_EQ(Requests(), 3U);
  EXPECT_EQ(Text("8_8_8/4-8_0-4_0-4"), "b");
  EXPECT_EQ(Requests(), 1U);
}

TEST_F(Remote, AReadValidatesAGenerationWhoseTtlHasPassed) {
  Put("", ZarrSource({4}, {1}, {4}, kFlat), {{0, "a"}, {1, "b"}});
  Mount(0);
  EXPECT_EQ(Text("0"), "a");
  Requests();
  EXPECT_EQ(Text("1"), "b");
  EXPECT_EQ(Requests(), 1U) << "no request only to ask whether the shard is the same";
}

TEST_F(Remote, AMissingShardAnswersForAllItsChunks) {
  Put("", ZarrSource({8}, {1}, {4}, kFlat), {{0, "a"}});
  Mount();
  Requests();
  EXPECT_EQ(Text("4"), "ENOENT");
  EXPECT_EQ(Requests(), 1U);
  EXPECT_EQ(Text("5") + Text("6") + Text("7"), "ENOENTENOENTENOENT");
  EXPECT_EQ(Requests(), 0U);
}

TEST_F(Remote, AMissingPrecomputedShardCostsTwoRequestsOnceAnotherWasFound) {
  ShardingSpec spec;
  spec.shard_bits = 3;
  Put("", PrecomputedSource({32, 4, 4}, {4, 4, 4}, spec), {{0, "a"}});
  Mount();
  Find("8_8_8");
  Requests();
  EXPECT_EQ(Text("8_8_8/4-8_0-4_0-4"), "ENOENT");
  EXPECT_EQ(Requests(), 3U) << "the shard, and both halves of its obsolete form";
  EXPECT_EQ(Text("8_8_8/0-4_0-4_0-4"), "a");
  Requests();
  EXPECT_EQ(Text("8_8_8/8-12_0-4_0-4"), "ENOENT");
  EXPECT_EQ(Requests(), 3U) << "the shard, its end together with it, and one half";
  EXPECT_EQ(Text("8_8_8/12-16_0-4_0-4"), "ENOENT");
  EXPECT_EQ(Requests(), 2U) << "the end is not asked for after a shard that was missing";
}

TEST_F(Remote, TheObsoleteFormIsFoundBesideShardsOfThePresentOne) {
  ShardingSpec spec;
  spec.shard_bits = 3;
  const ShardedSource volume = PrecomputedSource({32, 4, 4}, {4, 4, 4}, spec);
  Put("", volume, {{0, "a"}});
  const std::string shard = volume.Encode({{1, "b"}}).begin()->second;
  memory_->Put("8_8_8/1.index", shard.substr(0, 16));
  memory_->Put("8_8_8/1.data", shard.substr(16));
  Mount();
  EXPECT_EQ(Text("8_8_8/0-4_0-4_0-4"), "a");
  EXPECT_EQ(Text("8_8_8/4-8_0-4_0-4"), "b");
}

TEST_F(Remote, AReplacedShardCostsOneWastedRequestAndNoError) {
  const ShardedSource array = ZarrSource({4}, {1}, {4}, kFlat);
  Put("", array, {{0, "a"}, {1, "b"}});
  Mount();
  EXPECT_EQ(Text("0"), "a");
  // Chunk 1 stands elsewhere now: its old range would give other bytes.
  Put("", array, {{0, "AAAA"}, {1, "BB"}});
  Requests();
  EXPECT_EQ(Text("1"), "BB");
  EXPECT_EQ(Requests(), 3U) << "a read of what was replaced, the new index, the bytes";
  EXPECT_EQ(Text("0"), "AAAA");
}

TEST_F(Remote, AShardThatIsReplacedAgainAndAgainAfterItsIndexWasReadIsReadInTheEnd) {
  const ShardedSource array = ZarrSource({4}, {1}, {4}, kFlat);
  Put("", array, {{0, "a"}});
  Mount();
  std::string latest = "a";
  store_->OnOpened([&](std::string_view key) {
    if (key != "0" || latest.size() == 12) return;
    latest += "a";
    Put("", array, {{0, latest}});
  });
  EXPECT_EQ(Text("0"), std::string(12, 'a'));
}

TEST_F(Remote, AFileThatIsOpenNeverMixesGenerations) {
  const ShardedSource array = ZarrSource({4}, {1}, {4}, kFlat);
  Put("", array, {{0, "old0"}, {1, "old1"}});
  Mount();
  const NodeId node = Find("0");
  const auto begin = fs_->Read(node, 0, 2);
  ASSERT_TRUE(begin);
  EXPECT_EQ(AsText(std::get<Bytes>(*begin).span()), "ol");
  Put("", array, {{0, "NEW0"}, {1, "NEW1"}});
  EXPECT_EQ(Text("1"), "NEW1") << "from here on the shard is known to be another";
  const auto rest = fs_->Read(node, 2, 2);
  ASSERT_TRUE(rest) << "the look-up has read the chunk";
  EXPECT_EQ(AsText(std::get<Bytes>(*rest).span()), "d0");
}

TEST_F(Remote, LookUpsWithoutReadsStopReadingChunks) {
  std::map<std::uint64_t, std::string> chunks;
  for (std::uint64_t i = 0; i < 64; ++i) chunks[i] = "x";
  Put("", ZarrSource({64}, {1}, {64}, kFlat), chunks);
  Mount();
  Requests();
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_NE(Find(std::to_string(i)), 0U);
  EXPECT_LE(Requests(), 20U) << "as ls -l does: sizes are in the index";
  EXPECT_EQ(Text("63"), "x");
  EXPECT_EQ(Requests(), 1U);
}

TEST_F(Remote, AMountIsUsableAfterOneRequestForEachDocument) {
  Put("", ZarrSource({4}, {1}, {4}, kFlat), {{0, "a"}});
  Mount();
  EXPECT_EQ(Requests(), 7U) << "at once: the root may be of any format";
}

}  // namespace
}  // namespace unshard
