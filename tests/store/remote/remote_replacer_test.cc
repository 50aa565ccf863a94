// How an object is replaced: in which requests, through a service in memory.
#include "store/remote/remote_replacer.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/fake_object_writer.h"
#include "tests/support/memory_store.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

using Kind = WriteAnswer::Kind;
using Outcome = Committed::Outcome;
using Requests = std::vector<std::string>;

constexpr const char* kKey = "a/0.shard";

class RemoteReplacerTest : public testing::Test {
 protected:
  RemoteReplacerTest() {
    options_.scratch_directory = directory_.path();
    options_.least_delay = options_.most_delay = std::chrono::milliseconds(0);
  }
  void Use(const FakeManners& manners, const WriterTraits& traits = FakeObjectWriter::Traits()) {
    writer_ = std::make_shared<FakeObjectWriter>(manners, traits);
    replacer_ = MakeRemoteReplacer(writer_, std::make_shared<MemoryStore>(), options_);
  }
  // With the probe behind it.
  void UseProbed(const FakeManners& manners = {},
                 const WriterTraits& traits = FakeObjectWriter::Traits()) {
    Use(manners, traits);
    EXPECT_TRUE(replacer_->CanReplace(kKey));
    (void)writer_->TakeRequests();
  }
  std::unique_ptr<ObjectReplacement> Begin() {
    auto begun = replacer_->Begin({kKey, std::nullopt}, {});
    EXPECT_TRUE(begun) << begun.error().message;
    return *std::move(begun);
  }
  static Status Agree() { return {}; }
  static void ExpectCommit(ObjectReplacement& replacement, Outcome outcome = Outcome::kCommitted) {
    const auto committed = replacement.Commit(Agree);
    ASSERT_TRUE(committed) << committed.error().message;
    EXPECT_EQ(committed->outcome, outcome);
  }

  TemporaryDirectory directory_;
  RemoteOptions options_;
  std::shared_ptr<FakeObjectWriter> writer_;
  std::shared_ptr<ObjectReplacer> replacer_;
};

TEST_F(RemoteReplacerTest, AVersionWithoutBytesOfTheBaseCostsALookAndAPut) {
  UseProbed();
  writer_->Place(kKey, "base", {"00000000000000bb"});
  const auto replacement = Begin();
  ASSERT_TRUE(replacement->Write(0, AsBytes("new")));
  ExpectCommit(*replacement);
  EXPECT_TRUE(replacement->MakeDurable());
  EXPECT_EQ(writer_->TakeRequests(), (Requests{"LOOK a/0.shard", "PUT a/0.shard"}));
  EXPECT_EQ(writer_->Bytes(kKey), "new");
  EXPECT_EQ(writer_->Now(kKey)->attempts,
            (std::vector<std::string>{replacement->attempt(), "00000000000000bb"}));
}

TEST_F(RemoteReplacerTest, BytesOfTheBaseAreFetchedOnceForThePut) {
  UseProbed();
  writer_->Place(kKey, "0123456789");
  const auto replacement = Begin();
  ASSERT_TRUE(replacement->CopyBase({2, 3}, 0));
  ASSERT_TRUE(replacement->CopyBase({6, 3}, 3));
  ASSERT_TRUE(replacement->Write(6, AsBytes("new")));
  ExpectCommit(*replacement);
  EXPECT_EQ(writer_->TakeRequests(), (Requests{"LOOK a/0.shard", "GET 2+7", "PUT a/0.shard"}));
  EXPECT_EQ(writer_->Bytes(kKey), "234678new");
}

TEST_F(RemoteReplacerTest, TheLatestAttemptsAreNamedByTheirVersion) {
  UseProbed();
  std::vector<std::string> attempts;
  for (int i = 0; i < 18; ++i) {
    const auto replacement = Begin();
    ASSERT_TRUE(replacement->Write(0, AsBytes(std::to_string(i))));
    ExpectCommit(*replacement);
    attempts.push_back(replacement->attempt());
  }
  const std::vector<std::string> latest(attempts.rbegin(), attempts.rend() - 2);
  EXPECT_EQ(*replacer_->Attempts(kKey), latest);
  EXPECT_TRUE(replacer_->Attempts("missing")->empty());
  writer_->FailLooks(1);
  EXPECT_FALSE(replacer_->Attempts(kKey));
}

TEST_F(RemoteReplacerTest, AStoreThatIgnoresConditionsIsReadOnlyUnlessThereIsOneWriter) {
  FakeManners manners;
  manners.keeps_version = false;
  Use(manners);
  const Status refused = replacer_->CanReplace(kKey);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kReadOnly);
  EXPECT_NE(refused.error().message.find("If-Match"), std::string::npos);
  EXPECT_NE(refused.error().message.find("single_writer"), std::string::npos);
  const auto begun = replacer_->Begin({kKey, std::nullopt}, {});
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code, ErrorCode::kReadOnly);
  options_.single_writer = true;
  Use(manners);
  ASSERT_TRUE(replacer_->CanReplace(kKey));
  const auto replacement = Begin();
  ASSERT_TRUE(replacement->Write(0, AsBytes("new")));
  ExpectCommit(*replacement);
  EXPECT_EQ(writer_->Bytes(kKey), "new");
}

TEST_F(RemoteReplacerTest, OfAStoreThatIsAwayNothingIsKnown) {
  Use({});
  writer_->FailLooks(1000);
  for (int i = 0; i < 1000; ++i) writer_->Next({false, Kind::kNotSent});
  EXPECT_TRUE(replacer_->CanReplace(kKey));
  const auto begun = replacer_->Begin({kKey, std::nullopt}, {});
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code, ErrorCode::kUnavailable);
}

TEST_F(RemoteReplacerTest, BeginEndsAtItsDeadline) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::hours(1);
  for (const bool probed : {false, true}) {
    SCOPED_TRACE(probed);
    if (!probed) Use({});
    EXPECT_TRUE(replacer_->Begin({kKey, std::nullopt}, {until, {}}));
    EXPECT_EQ(writer_->last_look_until(), until);
    const ServedCaller earlier(until - std::chrono::minutes(1));
    EXPECT_TRUE(replacer_->Begin({kKey, std::nullopt}, {until, {}}));
    EXPECT_EQ(writer_->last_look_until(), until - std::chrono::minutes(1));
  }
}

// 10 parts of 4 bytes.
class PartedTest : public RemoteReplacerTest {
 protected:
  PartedTest() {
    options_.parts_above = 16;
    options_.part_bytes = 4;
    options_.copies_from = 8;
  }
  void Probed(const FakeManners& manners = {}) {
    UseProbed(manners);
    // The first version in parts probes what that takes.
    const auto replacement = Begin();
    EXPECT_TRUE(replacement->Write(0, AsBytes(kBase)));
    ExpectCommit(*replacement);
    (void)writer_->TakeRequests();
  }
  static constexpr std::string_view kBase = "0123456789abcdefghijklmnopqrstuvwxyz....";
};

TEST_F(PartedTest, ALargeVersionIsPutInParts) {
  Probed();
  const auto replacement = Begin();
  ASSERT_TRUE(replacement->Write(0, AsBytes(std::string(18, 'n'))));
  ExpectCommit(*replacement);
  EXPECT_EQ(writer_->Count("PUT"), 0);
  EXPECT_EQ(writer_->Count("PART"), 5);
  EXPECT_EQ(writer_->Count("ABORT"), 0);
  EXPECT_EQ(writer_->Bytes(kKey), std::string(18, 'n'));
  EXPECT_EQ(writer_->Now(kKey)->attempts.front(), replacement->attempt());
}

TEST_F(PartedTest, UnchangedPartsAreCopiedByTheService) {
  Probed();
  const auto replacement = Begin();
  ASSERT_TRUE(*replacement->StartFromBase());
  ASSERT_TRUE(replacement->Write(9, AsBytes("NEW")));
  ASSERT_TRUE(replacement->Write(kBase.size(), AsBytes("more")));
  ExpectCommit(*replacement);
  EXPECT_EQ(writer_->Count("COPY"), 9);
  EXPECT_EQ(writer_->Count("PART"), 2);
  EXPECT_EQ(writer_->Count("GET"), 1) << "the first byte of the part that changes";
  EXPECT_EQ(writer_->Bytes(kKey),
            std::string(kBase.substr(0, 9)) + "NEW" + std::string(kBase.substr(12)) + "more");
}

TEST_F(PartedTest, WhereCopiesIgnoreConditionsBytesAreMoved) {
  FakeManners manners;
  manners.keeps_copies = false;
  Probed(manners);
  const auto replacement = Begin();
  EXPECT_FALSE(*replacement->StartFromBase());
  ASSERT_TRUE(replacement->CopyBase({0, kBase.size()}, 0));
  ASSERT_TRUE(replacement->Write(0, AsBytes("NEW")));
  ExpectCommit(*replacement);
  EXPECT_EQ(writer_->Count("COPY"), 0);
  EXPECT_EQ(writer_->Count("PART"), 10);
  EXPECT_EQ(writer_->Bytes(kKey), "NEW" + std::string(kBase.substr(3)));
}

TEST_F(PartedTest, WhereCompletionsIgnoreConditionsEverythingIsOnePut) {
  FakeManners manners;
  manners.keeps_parts = false;
  Probed(manners);
  const auto replacement = Begin();
  EXPECT_FALSE(*replacement->StartFromBase());
  ASSERT_TRUE(replacement->CopyBase({0, kBase.size()}, 0));
  ASSERT_TRUE(replacement->Write(kBase.size(), AsBytes("more")));
  ExpectCommit(*replacement);
  EXPECT_EQ(writer_->TakeRequests(), (Requests{"LOOK a/0.shard", "GET 0+40", "PUT a/0.shard"}));
}

TEST_F(PartedTest, ALostCompletionIsLookedAtAndRepeated) {
  Probed();
  for (const bool applied : {false, true}) {
    const auto replacement = Begin();
    ASSERT_TRUE(replacement->Write(0, AsBytes(std::string(20, 'n'))));
    (void)writer_->TakeRequests();
    writer_->Next({applied, Kind::kLost});
    ExpectCommit(*replacement);
    EXPECT_EQ(writer_->Count("BEGIN"), 1) << "the parts are still there";
    EXPECT_EQ(writer_->Count("COMPLETE"), applied ? 1 : 2);
    EXPECT_EQ(writer_->Bytes(kKey), std::string(20, 'n'));
  }
}

// 409: the service has dropped the upload.
TEST_F(PartedTest, AnUploadThatIsGoneIsDoneAgain) {
  Probed();
  const auto replacement = Begin();
  ASSERT_TRUE(replacement->Write(0, AsBytes(std::string(20, 'n'))));
  writer_->Next({false, Kind::kConditionFailed});
  ExpectCommit(*replacement);
  EXPECT_EQ(writer_->Count("BEGIN"), 2);
  EXPECT_EQ(writer_->Count("PART"), 10);
  EXPECT_EQ(writer_->Bytes(kKey), std::string(20, 'n'));
}

TEST_F(PartedTest, AnUploadWithoutAllOfItsPartsIsNotCompleted) {
  Probed();
  const auto replacement = Begin();
  ASSERT_TRUE(replacement->Write(0, AsBytes(std::string(20, 'n'))));
  (void)writer_->TakeRequests();
  writer_->Next({false, Kind::kConditionFailed});
  writer_->FailPut(5 + 3);  // of the second upload
  ExpectCommit(*replacement);
  EXPECT_EQ(writer_->Count("BEGIN"), 3);
  EXPECT_EQ(writer_->Count("COMPLETE"), 2);
  EXPECT_EQ(writer_->Count("ABORT"), 2);
  EXPECT_EQ(writer_->Bytes(kKey), std::string(20, 'n'));
}

TEST_F(PartedTest, ABaseThatIsReplacedMeanwhileFailsTheConditionAndDropsTheParts) {
  Probed();
  for (const bool copies : {false, true}) {
    const auto replacement = Begin();
    if (copies) {
      ASSERT_TRUE(*replacement->StartFromBase());
    } else {
      ASSERT_TRUE(replacement->Write(0, AsBytes(std::string(20, 'n'))));
    }
    writer_->Place(kKey, "theirs, which is long enough");
    ExpectCommit(*replacement, Outcome::kConditionFailed);
    EXPECT_EQ(writer_->Bytes(kKey), "theirs, which is long enough");
    EXPECT_EQ(writer_->Count("ABORT"), 1);
    (void)writer_->TakeRequests();
  }
}

TEST_F(PartedTest, AWriterWhoDoesNotAgreeDropsTheParts) {
  Probed();
  auto replacement = Begin();
  ASSERT_TRUE(replacement->Write(0, AsBytes(std::string(20, 'n'))));
  const auto refused =
      replacement->Commit([]() -> Status { return Fail(ErrorCode::kReadOnly, "not now"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(writer_->Count("ABORT"), 1);
  EXPECT_EQ(writer_->Bytes(kKey), kBase);
}

// "key upload" of the uploads that are recorded.
class RecordedUploads final : public UploadRecords {
 public:
  Result<std::uint64_t> Begin(const std::string& key, const std::string& upload) override {
    if (fails) return Fail(ErrorCode::kResourceExhausted, "the disk is full");
    now[++last_] = key + ' ' + upload;
    return last_;
  }
  void End(std::uint64_t number) override { now.erase(number); }

  std::map<std::uint64_t, std::string> now;
  bool fails = false;

 private:
  std::uint64_t last_ = 0;
};

TEST_F(PartedTest, AnUploadIsRecordedAsLongAsSomethingIsLeftOfIt) {
  Probed();
  const auto records = std::make_shared<RecordedUploads>();
  replacer_->RecordUploads(records);
  const std::string recorded = std::string(kKey) + " upload of " + kKey;
  for (const bool agrees : {true, false}) {
    auto replacement = Begin();
    ASSERT_TRUE(replacement->Write(0, AsBytes(std::string(20, 'n'))));
    std::map<std::uint64_t, std::string> during;
    const auto committed = replacement->Commit([&]() -> Status {
      during = records->now;
      if (agrees) return {};
      return Fail(ErrorCode::kReadOnly, "not now");
    });
    EXPECT_EQ(committed.has_value(), agrees);
    ASSERT_EQ(during.size(), 1U);
    EXPECT_EQ(during.begin()->second, recorded);
    EXPECT_TRUE(records->now.empty()) << "it is completed, or dropped";
  }
  // An upload that the next process could not find is not begun.
  records->fails = true;
  (void)writer_->TakeRequests();
  const auto replacement = Begin();
  ASSERT_TRUE(replacement->Write(0, AsBytes(std::string(20, 'n'))));
  EXPECT_FALSE(replacement->Commit(Agree));
  EXPECT_EQ(writer_->Count("PART"), 0);
  EXPECT_EQ(writer_->Count("ABORT"), 1);
  EXPECT_TRUE(replacer_->DropUpload(kKey, "left"));
  EXPECT_EQ(writer_->Count("DROP a/0.shard left"), 1);
}

TEST_F(PartedTest, AVersionThatNoRequestTakesIsRefused) {
  FakeManners manners;
  manners.keeps_parts = false;
  WriterTraits traits = FakeObjectWriter::Traits();
  traits.most_single_bytes = 30;
  UseProbed(manners, traits);
  const auto replacement = Begin();
  ASSERT_TRUE(replacement->Write(30, AsBytes("x")));
  const auto refused = replacement->Commit(Agree);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(writer_->Bytes(kKey), "missing");
}

TEST_F(RemoteReplacerTest, VersionsOfOneObjectKeepTheIntervalOfTheService) {
  WriterTraits traits = FakeObjectWriter::Traits();
  traits.least_interval = std::chrono::milliseconds(50);
  UseProbed({}, traits);
  EXPECT_EQ(replacer_->least_interval(), traits.least_interval);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) {
    const auto replacement = Begin();
    ASSERT_TRUE(replacement->Write(0, AsBytes(std::to_string(i))));
    ExpectCommit(*replacement);
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 2 * traits.least_interval);
}

TEST_F(RemoteReplacerTest, RemovalsNeedTheirCondition) {
  FakeManners manners;
  manners.keeps_removal = false;
  UseProbed(manners);
  EXPECT_FALSE(replacer_->removes_atomically());
  writer_->Place(kKey, "base");
  const auto refused = Begin()->Remove(Agree);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(writer_->Bytes(kKey), "base");
  UseProbed();
  writer_->Place(kKey, "base");
  const auto removed = Begin()->Remove(Agree);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->outcome, Outcome::kCommitted);
  EXPECT_EQ(writer_->Bytes(kKey), "missing");
}

// For files, which programs remove: what can be seen of other writers is.
TEST_F(RemoteReplacerTest, RemovalsAfterALook) {
  options_.removals = Removals::kAfterALook;
  FakeManners manners;
  manners.keeps_removal = false;
  UseProbed(manners);
  writer_->Place(kKey, "base");
  auto late = Begin();
  const auto removed = Begin()->Remove(Agree);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->outcome, Outcome::kCommitted);
  EXPECT_EQ(writer_->Bytes(kKey), "missing");
  writer_->Place(kKey, "another writer's");
  const auto kept = late->Remove(Agree);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->outcome, Outcome::kConditionFailed);
  EXPECT_EQ(writer_->Bytes(kKey), "another writer's");
}

}  // namespace
}  // namespace unshard
