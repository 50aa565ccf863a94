#include "store/source/catalog_store.h"

#include <gtest/gtest.h>

#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"

namespace unshard {
namespace {

class CatalogTest : public testing::Test {
 protected:
  std::string KindOf(const std::string& key) {
    const auto info = catalog_.Stat(key, Deadline::None());
    if (!info) return info.error().message;
    if (!*info) return "missing";
    return (*info)->kind == ObjectInfo::Kind::kFile ? "file" : "directory";
  }
  std::vector<std::string> Names(const std::string& key) {
    std::vector<std::string> names;
    EXPECT_TRUE(catalog_.List(key, Deadline::None(), [&](const ListEntry& entry) {
      names.push_back(std::string(entry.name) +
                      (entry.kind == ObjectInfo::Kind::kDirectory ? "/" : ""));
      return true;
    }));
    return names;
  }
  std::uint64_t Requests() {
    const std::uint64_t requests = counting_->total().requests();
    counting_->Reset();
    return requests;
  }

  const std::shared_ptr<MemoryStore> memory_ =
      std::make_shared<MemoryStore>(Capabilities{.lists = false, .keeps_replaced_versions = false});
  const std::shared_ptr<CountingStore> counting_ = std::make_shared<CountingStore>(memory_);
  CatalogStore catalog_{counting_};
};

TEST_F(CatalogTest, AddedDirectoriesAndThoseAboveCostNoRequest) {
  catalog_.AddDirectory("a/b/c");
  EXPECT_EQ(KindOf("") + KindOf("a") + KindOf("a/b/c"), "directorydirectorydirectory");
  EXPECT_EQ(Requests(), 0U);
  EXPECT_EQ(Names("a"), std::vector<std::string>{"b/"});
  EXPECT_EQ(Names("elsewhere"), std::vector<std::string>());
}

TEST_F(CatalogTest, AnUnknownNameIsAFileADatasetOrMissing) {
  memory_->Put("notes.txt", "text");
  memory_->Put("image/.zarray", "{}");
  EXPECT_EQ(KindOf("notes.txt"), "file");
  EXPECT_EQ(Requests(), 1U);
  EXPECT_EQ(KindOf("image"), "directory");
  EXPECT_LE(Requests(), 6U) << "the name itself and five documents";
  EXPECT_EQ(KindOf("image"), "directory");
  EXPECT_EQ(Requests(), 0U);
  EXPECT_EQ(catalog_.DocumentsIn("image"), std::vector<std::string>{".zarray"});
  EXPECT_EQ(KindOf("nothing"), "missing");
  EXPECT_EQ(KindOf(".Trash"), "missing");
  EXPECT_EQ(Names(""), std::vector<std::string>{"image/"}) << "other files are not remembered";
}

TEST_F(CatalogTest, ADataDirectoryHasDirectoriesOfChunksAndNoDatasets) {
  catalog_.SetDataDirectory("array", {"c", 2});
  EXPECT_EQ(KindOf("array/c") + KindOf("array/c/0/17"), "directorydirectory");
  EXPECT_EQ(Requests(), 0U);
  memory_->Put("array/c/0/17/3", "chunk");
  EXPECT_EQ(KindOf("array/c/0/17/3"), "file");
  Requests();
  for (const char* absent : {"array/c/0/17/4", "array/c/x", "array/d", "array/c/0/01"}) {
    EXPECT_EQ(KindOf(absent), "missing") << absent;
    EXPECT_EQ(Requests(), 1U) << absent << ": the documents of a dataset are not asked for";
  }
}

TEST_F(CatalogTest, ADocumentIsListedFromItsReadToItsEnd) {
  memory_->Put("zarr.json", "{}");
  EXPECT_EQ(Names(""), std::vector<std::string>());
  ASSERT_TRUE(catalog_.Open("zarr.json", RangeRequest::At(0, 2), Deadline::None()));
  EXPECT_EQ(Names(""), std::vector<std::string>{"zarr.json"});
  memory_->Remove("zarr.json");
  ASSERT_TRUE(catalog_.Open("zarr.json", RangeRequest::At(0, 2), Deadline::None()));
  EXPECT_EQ(Names(""), std::vector<std::string>());
}

}  // namespace
}  // namespace unshard
