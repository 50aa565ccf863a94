// Searching a source for datasets: how far, and what a look into one directory touches.
#include "store/dataset/dataset_tree.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <set>

#include "tests/support/counting_store.h"
#include "tests/support/faulty_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

const ShardedSource& Flat() {
  static const ShardedSource source = ZarrSource({8}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
  return source;
}

class DatasetTreeTest : public testing::Test {
 protected:
  DatasetTree Make(std::size_t max_directories = kSearchedAhead) {
    DatasetTreeOptions options;
    options.max_directories = max_directories;
    return {store_, nullptr, std::make_shared<IndexCache>(std::uint64_t{1} << 20), nullptr,
            options};
  }
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

TEST_F(DatasetTreeTest, ASourceThatIsNotSearchedToItsEndIsNotRefused) {
  for (const char* name : {"a", "b", "c"}) store_->Put(std::string(name) + "/notes", "text");
  store_->Put("d/array/zarr.json", Flat().document);
  DatasetTree tree = Make(3);
  const Status found = tree.Discover();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(tree.found().empty());
  ASSERT_TRUE(tree.Find("d/array"));
  EXPECT_EQ(tree.Find("d/array")->trees.size(), 1u);
  EXPECT_EQ(tree.found().size(), 1u);
}

TEST_F(DatasetTreeTest, ASourceThatWasSearchedToItsEndIsRefusedWithoutADataset) {
  store_->Put("a/notes", "text");
  DatasetTree tree = Make();
  const Status found = tree.Discover();
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("in 2 directories"), std::string::npos);
}

TEST_F(DatasetTreeTest, ALookIntoOneDirectoryLeavesWhatIsKnownOfOthersAsItIs) {
  store_->Put("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  store_->Put("a/zarr.json", Flat().document);
  store_->Put("b/zarr.json", Flat().document);
  DatasetTree tree = Make(2);
  ASSERT_TRUE(tree.Discover());
  const auto root = tree.Find("");
  const auto a = tree.Find("a");
  ASSERT_TRUE(root && a);
  ASSERT_TRUE(tree.Find("b"));
  EXPECT_EQ(tree.Find(""), root) << "made anew for each array below, mounting would be quadratic";
  EXPECT_EQ(tree.Find("a"), a);
  tree.Reload("b");
  EXPECT_EQ(tree.Find(""), root);
}

TEST_F(DatasetTreeTest, TreesAreFoundByWhatIsNearThem) {
  for (const char* name : {"a", "a.b", "ab", "c/d"}) {
    store_->Put(std::string(name) + "/zarr.json", Flat().document);
  }
  DatasetTree tree = Make();
  ASSERT_TRUE(tree.Discover());
  const auto near = [&](const std::string& key) {
    std::set<std::string> directories;
    for (const auto& one : tree.index().TreesNear(key)) directories.insert(one->directory());
    return directories;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(near("a/0"), Names{"a"});
  EXPECT_EQ(near("a"), Names{"a"});
  EXPECT_EQ(near("c"), Names{"c/d"});
  EXPECT_EQ(near("c/e"), Names{});
  EXPECT_EQ(near(""), (Names{"a", "a.b", "ab", "c/d"}));
  EXPECT_TRUE(tree.index().ServesTreesIn("c"));
  store_->Remove("c/d/zarr.json");
  tree.Reload("c/d");
  EXPECT_FALSE(tree.index().ServesTreesIn("c"));
}

TEST_F(DatasetTreeTest, WhatIsPrecomputedWithoutShardsIsADataset) {
  for (const char* type : {"neuroglancer_legacy_mesh", "neuroglancer_segment_properties"}) {
    store_->Put("info", R"({"@type":")" + std::string(type) + "\"}");
    DatasetTree tree = Make();
    const Status found = tree.Discover();
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(tree.found().size(), 1u);
  }
}

// What may be there cannot be seen there: each name is a request.
TEST(DatasetTree, AViewOfAStoreThatCannotListAsksForEachDocumentOnce) {
  const auto memory =
      std::make_shared<MemoryStore>(Capabilities{.lists = false, .keeps_replaced_versions = false});
  memory->Put(".zgroup", R"({"zarr_format":2})");
  memory->Put(
      ".zattrs",
      R"({"multiscales":[{"version":"0.4","axes":[{"name":"x","type":"space"}],)"
      R"("datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1]}]},)"
      R"({"path":"1","coordinateTransformations":[{"type":"scale","scale":[2]}]}]}]})");
  for (const auto& [level, size] : {std::pair("0", "8"), std::pair("1", "4")}) {
    memory->Put(std::string(level) + "/.zarray",
                R"({"zarr_format":2,"shape":[)" + std::string(size) +
                    R"(],"chunks":[4],"dtype":"|u1","compressor":null,)"
                    R"("fill_value":0,"order":"C","filters":null})");
  }
  const auto counting = std::make_shared<CountingStore>(memory);
  DatasetTreeOptions options;
  options.catalog = std::make_shared<CatalogStore>(counting);
  options.view = &Zarr3View();
  const auto cache = std::make_shared<IndexCache>(std::uint64_t{1} << 20);
  DatasetTree tree(options.catalog, nullptr, cache, nullptr, options);
  const Status found = tree.Discover();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(tree.trees().size(), 2u);
  for (const char* document : {".zgroup", ".zattrs", ".zmetadata", "0/.zarray", "1/.zarray"}) {
    EXPECT_EQ(counting->of(document).requests(), 1u) << document;
  }
}

const char* const kFlatZarr2 =
    R"({"zarr_format":2,"shape":[8],"chunks":[4],"dtype":"|u1","compressor":null,)"
    R"("fill_value":0,"order":"C","filters":null})";

TEST(DatasetTree, WhatLiesBesideALevelIsThereInViewsOfOtherFormats) {
  const auto memory = std::make_shared<MemoryStore>();
  memory->Put(".zgroup", R"({"zarr_format":2})");
  memory->Put(".zattrs", R"({"multiscales":[{"version":"0.4","axes":[{"name":"y","type":"space"},)"
                         R"({"name":"x","type":"space"}],"datasets":[{"path":"scale0/image",)"
                         R"("coordinateTransformations":[{"type":"scale","scale":[1,1]}]}]}]})");
  memory->Put("scale0/.zgroup", R"({"zarr_format":2})");
  memory->Put("scale0/.zattrs", R"({"of":"scale0"})");
  memory->Put("scale0/x/.zarray", kFlatZarr2);
  memory->Put("scale0/image/.zarray",
              R"({"zarr_format":2,"shape":[8,8],"chunks":[4,4],"dtype":"|u1","compressor":null,)"
              R"("fill_value":0,"order":"C","filters":null})");
  memory->Put("scale0/notes.txt", "x");
  const auto cache = std::make_shared<IndexCache>(std::uint64_t{1} << 20);
  for (const View* view : {&Zarr3View(), &N5View(), &PrecomputedView()}) {
    DatasetTreeOptions options;
    options.view = view;
    DatasetTree tree(memory, nullptr, cache, nullptr, options);
    const Status found = tree.Discover();
    ASSERT_TRUE(found) << found.error().message;
    const auto between = tree.Find("scale0");
    ASSERT_TRUE(between) << view->name();
    EXPECT_FALSE(between->closed) << view->name();
    EXPECT_FALSE(between->Hides("notes.txt")) << view->name();
    EXPECT_FALSE(between->Hides("x")) << view->name();
    EXPECT_EQ(between->Hides("image"), view != &Zarr3View()) << view->name();
    EXPECT_FALSE(tree.Find("")->Hides("scale0")) << view->name();
    if (view != &Zarr3View()) continue;
    ASSERT_TRUE(between->FindComputed("zarr.json"));
    EXPECT_NE(between->FindComputed("zarr.json")->text->find("scale0"), std::string::npos)
        << "the group's own attributes";
    EXPECT_EQ(tree.Find("scale0/x")->trees.size(), 1u);
  }
}

TEST(DatasetTree, RefusalsOfViewsNameTheDocumentAtFault) {
  const auto fault_of = [](const std::vector<std::pair<const char*, std::string>>& documents) {
    const auto memory = std::make_shared<MemoryStore>();
    for (const auto& [name, text] : documents) memory->Put(name, text);
    DatasetTreeOptions options;
    options.view = &N5View();
    const auto cache = std::make_shared<IndexCache>(std::uint64_t{1} << 20);
    DatasetTree tree(memory, nullptr, cache, nullptr, options);
    const Status found = tree.Discover();
    EXPECT_FALSE(found);
    return found ? "" : found.error().message.substr(memory->Describe("").size());
  };
  const std::string image = R"({"multiscales":[{"axes":[{"name":"x"}],"datasets":[{"path":"0",)"
                            R"("coordinateTransformations":[{"type":"scale","scale":[-1]}]}]}]})";
  const std::string group = R"({"zarr_format":2})";
  EXPECT_EQ(fault_of({{".zgroup", group}, {".zattrs", image}, {"0/.zarray", kFlatZarr2}})
                .rfind(".zattrs: multiscales", 0),
            0u);
  EXPECT_EQ(fault_of({{".zgroup", group}, {".zattrs", image}, {"0/.zarray", "{}"}})
                .rfind("0/.zarray: ", 0),
            0u);
  EXPECT_EQ(fault_of({{"zarr.json", R"({"zarr_format":3})"}}).rfind("zarr.json: ", 0), 0u);
}

TEST_F(DatasetTreeTest, OnlyAFileIsADocument) {
  store_->Put("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  store_->Put("info/zarr.json", Flat().document);
  store_->Put("zarr.json.d/zarr.json/zarr.json", Flat().document);
  DatasetTree tree = Make();
  const Status found = tree.Discover();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(tree.Find("")->fault);
  ASSERT_TRUE(tree.Find("info"));
  EXPECT_EQ(tree.Find("info")->trees.size(), 1u);
  ASSERT_TRUE(tree.Find("zarr.json.d/zarr.json"));
  EXPECT_EQ(tree.Find("zarr.json.d/zarr.json")->trees.size(), 1u);
}

TEST_F(DatasetTreeTest, ATreeStaysWhileItsChunksAreStoredAsBefore) {
  ShardingSpec spec;
  const ShardedSource volume = PrecomputedSource({8, 4, 4}, {4, 4, 4}, spec);
  store_->Put("info", volume.document);
  DatasetTree tree = Make();
  ASSERT_TRUE(tree.Discover());
  const auto before = tree.Find("8_8_8")->trees;
  ASSERT_EQ(before.size(), 1u);
  std::string more = volume.document;
  more.insert(more.find("\"scales\":[") + 10,
              R"({"key":"4_4_4","size":[16,8,8],"chunk_sizes":[[4,4,4]],"encoding":"raw",)"
              R"("resolution":[4,4,4]},)");
  store_->Put("info", more);
  tree.Reload("");
  EXPECT_EQ(tree.Find("8_8_8")->trees, before) << "another scale came";
  EXPECT_TRUE(tree.TakeChange(""));
  EXPECT_FALSE(tree.TakeChange(""));
  EXPECT_FALSE(before.front()->retired());
  store_->Put("info", PrecomputedSource({8, 8, 4}, {4, 4, 4}, spec).document);
  EXPECT_FALSE(tree.Serves(*before.front()).value());
  EXPECT_TRUE(before.front()->retired());
  EXPECT_EQ(tree.index().SuccessorOf(*before.front()), nullptr) << "ids follow the size";
}

// The watcher's thread has read a document that is replaced before its result stands.
TEST_F(DatasetTreeTest, WhatWasReadEarlierNeverReplacesWhatWasReadLater) {
  using std::chrono::milliseconds;
  const auto counting = std::make_shared<CountingStore>(store_);
  store_->Put("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  store_->Put("a/zarr.json", Flat().document);
  DatasetTree tree(counting, nullptr, std::make_shared<IndexCache>(std::uint64_t{1} << 20), nullptr,
                   {});
  ASSERT_TRUE(tree.Discover());
  store_->Remove("a/zarr.json");
  std::promise<void> has_read;
  std::promise<void> go_on;
  std::atomic<bool> pause = true;
  // After zarr.json was found missing, .zarray is asked for.
  counting->OnOpen([&](std::string_view key) {
    if (key != "a/.zarray" || !pause.exchange(false)) return;
    has_read.set_value();
    go_on.get_future().wait_for(milliseconds(10000));
  });
  auto earlier = std::async(std::launch::async, [&] { tree.Reload("a"); });
  has_read.get_future().wait();
  store_->Put("a/zarr.json", Flat().document);
  auto later = std::async(std::launch::async, [&] { tree.Reload("a"); });
  later.wait_for(milliseconds(200));  // for ever, where it waits for the earlier one
  go_on.set_value();
  earlier.get();
  later.get();
  ASSERT_TRUE(tree.Find("a"));
  EXPECT_EQ(tree.Find("a")->trees.size(), 1u);
}

// Counts what it is asked for. `has_watches`: whether it could give events, of which there are
// none.
class QuietWatcher final : public ChangeWatcher {
 public:
  explicit QuietWatcher(bool has_watches) : has_watches_(has_watches) {}
  bool Watch(std::string_view directory) override {
    watched.emplace(directory);
    return has_watches_;
  }
  std::set<std::string> watched;

 private:
  const bool has_watches_;
};

class DocumentFreshnessTest : public DatasetTreeTest {
 protected:
  std::unique_ptr<DatasetTree> Make(bool has_watches) {
    store_->Put("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
    store_->Put("a/b/notes", "text");
    watcher_ = std::make_shared<QuietWatcher>(has_watches);
    DatasetTreeOptions options;
    options.shards.ttl_milliseconds = 1000;
    options.shards.clock = [this] { return now_; };
    auto tree = std::make_unique<DatasetTree>(counting_, watcher_,
                                              std::make_shared<IndexCache>(std::uint64_t{1} << 20),
                                              nullptr, options);
    EXPECT_TRUE(tree->Discover());
    return tree;
  }
  static std::size_t TreesIn(DatasetTree& tree, const std::string& path) {
    const auto overlay = tree.Find(path);
    return overlay ? overlay->trees.size() : 0;
  }
  std::shared_ptr<CountingStore> counting_ = std::make_shared<CountingStore>(store_);
  std::shared_ptr<QuietWatcher> watcher_;
  std::chrono::steady_clock::time_point now_{std::chrono::hours(1)};
};

TEST_F(DocumentFreshnessTest, WhatCameBeforeADirectoryWasWatchedIsFoundAtTheFirstLook) {
  const auto tree = Make(true);
  EXPECT_FALSE(watcher_->watched.contains("a/b")) << "searching takes no watches";
  store_->Put("a/b/zarr.json", Flat().document);
  EXPECT_EQ(TreesIn(*tree, "a/b"), 1u);
  EXPECT_TRUE(watcher_->watched.contains("a/b"));
  counting_->Reset();
  now_ += std::chrono::hours(1);
  EXPECT_EQ(TreesIn(*tree, "a/b"), 1u);
  EXPECT_EQ(counting_->total().requests(), 0u) << "an event would come";
}

TEST_F(DocumentFreshnessTest, WithoutEventsDocumentsAreLookedAtOnceInTheTtl) {
  const auto tree = Make(false);
  EXPECT_EQ(TreesIn(*tree, "a/b"), 0u);
  store_->Put("a/b/zarr.json", Flat().document);
  counting_->Reset();
  now_ += std::chrono::milliseconds(999);
  EXPECT_EQ(TreesIn(*tree, "a/b"), 0u);
  EXPECT_EQ(counting_->total().requests(), 0u);
  now_ += std::chrono::milliseconds(1);
  EXPECT_EQ(TreesIn(*tree, "a/b"), 1u);
  const auto first = tree->Find("a/b")->trees.front();
  now_ += std::chrono::milliseconds(1000);
  EXPECT_EQ(tree->Find("a/b")->trees.front(), first) << "nothing has changed";
  store_->Put("a/b/zarr.json",
              ZarrSource({8}, {1}, {2}, {ChunkKeyEncoding::Kind::kV2, '.'}).document);
  now_ += std::chrono::milliseconds(1000);
  EXPECT_NE(tree->Find("a/b")->trees.front(), first);
  EXPECT_TRUE(first->retired());
  store_->Remove("a/b/zarr.json");
  now_ += std::chrono::milliseconds(1000);
  EXPECT_EQ(TreesIn(*tree, "a/b"), 0u);
}

TEST_F(DocumentFreshnessTest, ADirectoryOfChunksIsOneOnceADatasetIsAboveIt) {
  store_->Put("a/b/c/1", "a shard");
  const auto tree = Make(false);
  EXPECT_FALSE(tree->Find("a/b/c"));
  EXPECT_FALSE(tree->index().IsInTree("a/b/c"));
  store_->Put("a/b/zarr.json", ZarrSource({8}, {1}, {4}, {}).document);
  now_ += std::chrono::milliseconds(1000);
  EXPECT_FALSE(tree->Find("a/b/c")) << "looks at what is above it as well";
  EXPECT_TRUE(tree->index().IsInTree("a/b/c"));
  EXPECT_FALSE(tree->index().IsInTree("a/b"));
}

TEST_F(DocumentFreshnessTest, WhatCouldNotBeReadIsReadAgain) {
  for (const bool known : {false, true}) {
    store_ = std::make_shared<MemoryStore>();
    const auto faulty = std::make_shared<FaultyStore>(store_);
    counting_ = std::make_shared<CountingStore>(faulty);
    if (known) store_->Put("a/b/zarr.json", R"({"zarr_format":3,"node_type":"group"})");
    const auto tree = Make(true);
    EXPECT_EQ(TreesIn(*tree, "a/b"), 0u);
    store_->Put("a/b/zarr.json", Flat().document);
    counting_->OnOpen([&](std::string_view key) {
      if (key == "a/b/zarr.json") faulty->FailAfter(0, Fault::kError);
    });
    EXPECT_FALSE(tree->Reload("a/b"));
    counting_->OnOpen([](std::string_view) {});
    EXPECT_EQ(TreesIn(*tree, "a/b"), 1u) << "its version is the same";
    EXPECT_TRUE(tree->Reload("a/b"));
  }
}

}  // namespace
}  // namespace unshard
