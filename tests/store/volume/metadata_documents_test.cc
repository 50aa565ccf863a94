// Edits of metadata documents and what they do to the chunks, without a mount.
#include "store/volume/metadata_documents.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <utility>

#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "store/object/time_now.h"
#include "store/volume/volume.h"
#include "tests/support/sharded_source.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

// Another process comes first, as often as it likes.
class Overtaken final : public ObjectReplacer {
 public:
  Overtaken(ObjectReplacer& store, std::function<void()> first)
      : store_(store), first_(std::move(first)) {}
  Status CanReplace(const std::string& key) override { return store_.CanReplace(key); }
  Result<std::unique_ptr<ObjectReplacement>> Begin(const ReplacedObject& object,
                                                   const Deadline& deadline) override {
    first_();
    return store_.Begin(object, deadline);
  }
  Status MakeDurable(const std::string& directory) override {
    return store_.MakeDurable(directory);
  }
  [[nodiscard]] std::string Describe(const std::string& key) const override {
    return store_.Describe(key);
  }

 private:
  ObjectReplacer& store_;
  const std::function<void()> first_;
};

class MetadataDocumentsTest : public testing::Test {
 protected:
  // An array "a" of eight chunks of one letter, in shards of four; both shards are there.
  MetadataDocumentsTest() {
    source_.Write("a/zarr.json", array_.document);
    for (const auto& [key, bytes] : array_.Encode({{0, "a"}, {3, "d"}, {5, "f"}})) {
      source_.Write("a/" + key, bytes);
    }
  }

  void SetUp() override {
    VolumeOptions options;
    options.source = source_.path();
    options.spool = spool_.path();
    options.publish_after_milliseconds = 600'000;
    options.watch = WatchMode::kOff;
    auto opened = Volume::Open(options, nullptr);
    ASSERT_TRUE(opened) << opened.error().message;
    volume_ = *std::move(opened);
    StoreThrough(*volume_->parts().documents);
  }
  void StoreThrough(ObjectReplacer& replacer) {
    const VolumeParts& parts = volume_->parts();
    documents_ = std::make_unique<MetadataDocuments>(
        *parts.store, *parts.files, *parts.datasets, replacer, *volume_->writes(), std::nullopt,
        [this](const std::string& key) { refreshed_.push_back(key); });
  }

  [[nodiscard]] std::string FileText(const std::string& key) const {
    std::ifstream file(source_.At(key), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The document as it is shown, without sharding.
  JsonValue Shown() {
    const auto overlay = volume_->parts().datasets->Find("a");
    EXPECT_TRUE(overlay && overlay->document);
    return overlay && overlay->document ? *ParseJson(*overlay->document->text) : JsonValue();
  }
  Status Commit(const EditedDocument& document, const std::string& text) {
    UNSHARD_ASSIGN_OR_RETURN(const auto staged, volume_->writes()->spool()->Stage());
    UNSHARD_RETURN_IF_ERROR(staged->Write(0, AsBytes(text)));
    return documents_->Commit(document, *staged, TimeNow());
  }
  Status CommitArray(const JsonValue& edited) {
    return Commit({"a", "zarr.json"}, WriteJson(edited));
  }

  std::shared_ptr<ChunkTree> Tree() {
    const auto overlay = volume_->parts().datasets->Find("a");
    return overlay && !overlay->trees.empty() ? overlay->trees.front() : nullptr;
  }
  // Of the chunks that readers see now: "a..d.f..".
  std::string Chunks() {
    std::string text;
    for (int i = 0; i < 8; ++i) {
      const auto tree = Tree();
      const auto match = tree->Resolve({}, std::to_string(i));
      if (match.kind != NameKind::kChunk) break;
      const auto content = volume_->writes()->current().Current(tree, match.chunk);
      EXPECT_TRUE(content) << content.error().message;
      const auto bytes = content && *content ? ReadAll(**content, 1) : Result<Bytes>(Bytes());
      text += bytes && bytes->size() == 1 ? static_cast<char>(bytes->span()[0]) : '.';
    }
    return text;
  }
  Status RemoveChunk(const std::string& name) {
    WritePipeline::Commit removal;
    removal.tree = Tree();
    removal.chunk = removal.tree->Resolve({}, name).chunk;
    UNSHARD_RETURN_IF_ERROR(volume_->writes()->CommitRemoval(removal));
    return {};
  }
  Status CompleteInPlace(const std::string& path) {
    UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file,
                             volume_->parts().files->Open(path, {}));
    return documents_->CompleteInPlace(path, *file);
  }

  const ShardedSource array_ = ZarrSource({8}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
  TemporaryDirectory source_;
  TemporaryDirectory spool_;
  std::unique_ptr<Volume> volume_;
  std::vector<std::string> refreshed_;
  std::unique_ptr<MetadataDocuments> documents_;
};

TEST_F(MetadataDocumentsTest, AnEditOfTheShownDocumentKeepsTheShardsOfTheStoredOne) {
  JsonValue edited = Shown();
  JsonValue attributes = JsonValue::Object();
  attributes.Set("unit", JsonValue::String("nm"));
  edited.Set("attributes", attributes);
  const auto tree = Tree();
  const Status committed = CommitArray(edited);
  ASSERT_TRUE(committed) << committed.error().message;
  const std::string stored = FileText("a/zarr.json");
  EXPECT_NE(stored.find("sharding_indexed"), std::string::npos) << stored;
  EXPECT_NE(stored.find("\"nm\""), std::string::npos) << stored;
  EXPECT_EQ(Shown(), edited);
  EXPECT_EQ(Tree(), tree) << "chunks are stored as before";
  EXPECT_EQ(refreshed_, std::vector<std::string>{"a/zarr.json"});
}

TEST_F(MetadataDocumentsTest, AnEditIsMergedIntoWhatAnotherProcessHasStoredMeanwhile) {
  JsonValue edited = Shown();
  edited.Set("attributes", *ParseJson(R"({"unit": "nm"})"));
  const ShardedSource anew = ZarrSource({8}, {1}, {2}, {ChunkKeyEncoding::Kind::kV2, '.'});
  std::size_t left = 2;
  Overtaken overtaken(*volume_->parts().documents, [&] {
    if (left > 0) source_.Replace("a/zarr.json", anew.document + std::string(left--, '\n'));
  });
  StoreThrough(overtaken);
  const Status committed = CommitArray(edited);
  ASSERT_TRUE(committed) << committed.error().message;
  const auto stored = ParseJson(FileText("a/zarr.json"));
  ASSERT_TRUE(stored) << FileText("a/zarr.json");
  EXPECT_EQ(*stored->Find("chunk_grid"), *ParseJson(anew.document)->Find("chunk_grid"));
  EXPECT_EQ(*stored->Find("attributes"), *edited.Find("attributes"));
}

TEST_F(MetadataDocumentsTest, AnEditThatIsOvertakenAgainAndAgainChangesNothing) {
  JsonValue edited = Shown();
  edited.Set("attributes", *ParseJson(R"({"unit": "nm"})"));
  std::size_t times = 0;
  Overtaken overtaken(*volume_->parts().documents, [&] {
    source_.Replace("a/zarr.json", array_.document + std::string(++times, '\n'));
  });
  StoreThrough(overtaken);
  const Status refused = CommitArray(edited);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_EQ(FileText("a/zarr.json").find("nm"), std::string::npos);
}

TEST_F(MetadataDocumentsTest, AnEditOfHowChunksAreStoredIsRefused) {
  JsonValue edited = Shown();
  edited.Set("data_type", JsonValue::String("int8"));
  const Status refused = CommitArray(edited);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, EPERM);
  EXPECT_NE(refused.error().message.find("a/zarr.json"), std::string::npos);
  EXPECT_EQ(FileText("a/zarr.json"), array_.document);
  EXPECT_EQ(Chunks(), "a..d.f..");
}

TEST_F(MetadataDocumentsTest, ASmallerArrayLosesTheChunksOutsideOfIt) {
  JsonValue edited = Shown();
  edited.Set("shape", JsonValue::Array({JsonValue::Number(3)}));
  const Status committed = CommitArray(edited);
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(Chunks(), "a..");
  EXPECT_FALSE(std::filesystem::exists(source_.At("a/1"))) << "no chunk of this shard is left";
  edited.Set("shape", JsonValue::Array({JsonValue::Number(8)}));
  ASSERT_TRUE(CommitArray(edited));
  EXPECT_EQ(Chunks(), "a.......") << "they do not come back";
}

TEST_F(MetadataDocumentsTest, AGreaterArrayKeepsItsChunks) {
  JsonValue edited = Shown();
  edited.Set("shape", JsonValue::Array({JsonValue::Number(100)}));
  ASSERT_TRUE(CommitArray(edited));
  EXPECT_EQ(Chunks(), "a..d.f..");
}

TEST_F(MetadataDocumentsTest, ADocumentStaysWhileAChunkIsStored) {
  const Status refused = documents_->Remove("a/zarr.json");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, EPERM);
  for (const char* name : {"0", "3", "5"}) ASSERT_TRUE(RemoveChunk(name));
  source_.Write("a/1.__lock", "");
  const Status removed = documents_->Remove("a/zarr.json");
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(Tree(), nullptr);
  EXPECT_TRUE(std::filesystem::is_empty(source_.At("a"))) << "no lock or empty shard is left";
}

TEST_F(MetadataDocumentsTest, ADocumentThatIsGoneFromTheSourceIsNotMadeAnew) {
  const JsonValue edited = Shown();
  source_.Remove("a/zarr.json");
  const Status refused = CommitArray(edited);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, EPERM);
  EXPECT_FALSE(std::filesystem::exists(source_.At("a/zarr.json")));
}

TEST_F(MetadataDocumentsTest, ANewDocumentThatIsRefusedDoesNotStay) {
  source_.Write("new/zarr.json", array_.document);
  const Status refused = CompleteInPlace("new/zarr.json");
  ASSERT_FALSE(refused) << "it is sharded itself";
  EXPECT_EQ(refused.error().system_errno, EPERM);
  EXPECT_FALSE(std::filesystem::exists(source_.At("new/zarr.json")));
  const std::string group = R"({"zarr_format":3,"node_type":"group"})";
  source_.Write("new/zarr.json", group);
  const Status complete = CompleteInPlace("new/zarr.json");
  EXPECT_TRUE(complete) << complete.error().message;
  EXPECT_EQ(FileText("new/zarr.json"), group);
}

TEST_F(MetadataDocumentsTest, ADocumentAboveTheLimitIsRefusedUnread) {
  const auto staged = volume_->writes()->spool()->Stage();
  ASSERT_TRUE(staged);
  ASSERT_TRUE((*staged)->Truncate(kMaxDocumentBytes + 1));
  const Status refused = documents_->Commit({"a", "zarr.json"}, **staged, TimeNow());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, EFBIG);
  EXPECT_EQ(FileText("a/zarr.json"), array_.document);
}

}  // namespace
}  // namespace unshard
