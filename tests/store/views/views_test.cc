// The table of views, and the view that presents a dataset in its own format.
#include "store/views/views.h"

#include <gtest/gtest.h>

#include "store/dataset/dataset_tree.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

// Shows each array one directory deeper, under another document: that of a view in which nothing
// keeps its place.
class Deeper final : public View {
 public:
  [[nodiscard]] std::string_view name() const override { return "deeper"; }
  [[nodiscard]] Result<Presentation> Present(const StoredDataset& dataset,
                                             const TreeParts&) const override {
    if (dataset.arrays.empty()) return Fail(ErrorCode::kNotSupported, "no array is sharded");
    Presentation shown;
    shown.documents.push_back({dataset.path + "/deep", "array.json", "{}"});
    return shown;
  }
};

class ViewTest : public testing::Test {
 protected:
  void SetUp() override {
    const ShardedSource array = ZarrSource({4}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
    store_->Put("a/zarr.json", array.document);
    store_->Put("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  }
  DatasetTree Make(const View& view) {
    DatasetTreeOptions options;
    options.view = &view;
    return {store_, nullptr, std::make_shared<IndexCache>(std::uint64_t{1} << 20), nullptr,
            options};
  }
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

TEST_F(ViewTest, ViewsAreFoundByName) {
  EXPECT_EQ(FindView("native"), &NativeView());
  EXPECT_EQ(FindView("Native"), nullptr);
  EXPECT_EQ(FindView(""), nullptr);
  EXPECT_EQ(ViewNames().substr(0, 6), "native");
}

TEST_F(ViewTest, NativePresentsTheUnshardedDocumentAndTheStoredChunks) {
  DatasetTree tree = Make(NativeView());
  ASSERT_TRUE(tree.Discover());
  const auto overlay = tree.Find("a");
  ASSERT_TRUE(overlay && overlay->document);
  EXPECT_EQ(overlay->document->text->find("sharding_indexed"), std::string::npos);
  ASSERT_EQ(overlay->trees.size(), 1U);
  const auto contribution = tree.index().ContributionAt("a");
  ASSERT_EQ(contribution->trees.size(), 1U);
  EXPECT_EQ(contribution->trees[0].tree, contribution->trees[0].stored);
  const auto group = tree.Find("");
  EXPECT_FALSE(group && group->document) << "the document of a group is shown as it is stored";
}

TEST_F(ViewTest, AViewDecidesWhichDocumentsAndChunksAreShown) {
  const Deeper view;
  DatasetTree tree = Make(view);
  store_->Remove("zarr.json");
  ASSERT_TRUE(tree.Discover());
  const auto deep = tree.Find("a/deep");
  ASSERT_TRUE(deep && deep->document);
  EXPECT_EQ(deep->document->name, "array.json");
  EXPECT_TRUE(tree.trees().empty());
  ASSERT_EQ(tree.found().size(), 1U);
  EXPECT_NE(tree.found()[0].tree, nullptr) << "the stored array is still known";
}

TEST_F(ViewTest, WhatAViewCannotSayIsAFaultOfThatDataset) {
  const Deeper view;
  DatasetTree tree = Make(view);
  const Status found = tree.Discover();
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("no array is sharded"), std::string::npos);
}

}  // namespace
}  // namespace unshard
