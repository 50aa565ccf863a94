// What store/object/object_replacement.h promises, of every store that keeps it.
#include "store/object/object_replacement.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "tests/support/replaceable_store.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

using Outcome = Committed::Outcome;
using Names = std::vector<std::string>;

class ObjectReplacementTest : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (!store_) GTEST_SKIP() << "the server is not installed";
    // A writer who would have to wait is told so at once.
    replacer_ = store_->Replacer({.total = std::chrono::milliseconds(0)});
  }
  // Where it is not promised, it fails and removes nothing.
  [[nodiscard]] bool Removes() const {
    return !IsRemote(GetParam()) || GetParam() == StoreKind::kVersitygw;
  }
  std::unique_ptr<ObjectReplacement> Begin() {
    auto begun = replacer_->Begin(object_, {});
    EXPECT_TRUE(begun) << begun.error().message;
    return begun ? *std::move(begun) : nullptr;
  }
  static Status Write(NewVersion& version, std::uint64_t at, std::string_view text) {
    return version.Write(at, AsBytes(text));
  }
  static std::string Read(ObjectVersion& object, std::uint64_t begin, std::uint64_t size) {
    const auto read = object.Read(RangeRequest::At(begin, size), Deadline::None());
    EXPECT_TRUE(read) << read.error().message;
    if (!read || read->state != ReadResult::State::kFound) return "not to be had";
    return std::string(AsText(read->value.span()));
  }
  static std::string ReadBack(NewVersion& version, std::uint64_t at, std::size_t size) {
    ByteVector bytes(size);
    const auto found = version.ReadBack(at, bytes);
    EXPECT_TRUE(found) << found.error().message;
    return std::string(AsText(ByteSpan(bytes).first(found.value_or(0))));
  }
  static Status Agree() { return {}; }
  void ExpectCommit(ObjectReplacement& replacement) {
    const auto committed = replacement.Commit(Agree);
    ASSERT_TRUE(committed) << committed.error().message;
    ASSERT_EQ(committed->outcome, Outcome::kCommitted);
    const auto info = store_->Info(kKey);
    ASSERT_TRUE(info && committed->object);
    EXPECT_EQ(committed->object->size, info->size);
    EXPECT_EQ(committed->object->generation, info->generation) << "not what readers are told";
    EXPECT_TRUE(replacement.MakeDurable());
  }

  static constexpr const char* kKey = "a/0.shard";
  static constexpr const char* kIndex = "a/0.index";
  static constexpr const char* kData = "a/0.data";
  TemporaryDirectory directory_;
  std::unique_ptr<ReplaceableStore> store_ = ReplaceableStore::Make(GetParam(), directory_.path());
  std::shared_ptr<ObjectReplacer> replacer_;
  ReplacedObject object_{kKey, std::nullopt};
};

INSTANTIATE_TEST_SUITE_P(Stores, ObjectReplacementTest,
                         testing::Values(StoreKind::kPosix, StoreKind::kSimulated,
                                         StoreKind::kCloning, StoreKind::kMemory,
                                         StoreKind::kMemoryAppended, StoreKind::kVersitygw,
                                         StoreKind::kRadosgw, StoreKind::kFakeGcs),
                         [](const auto& tested) { return NameOf(tested.param); });

TEST_P(ObjectReplacementTest, AMissingObjectIsMadeAndSeenByNobodyBefore) {
  auto replacement = Begin();
  EXPECT_FALSE(replacement->base());
  EXPECT_FALSE(replacement->base_is_pair());
  EXPECT_FALSE(*replacement->StartFromBase());
  EXPECT_EQ(*replacement->Size(), 0u);
  ASSERT_TRUE(Write(*replacement, 0, "new"));
  EXPECT_FALSE(store_->Text(kKey));
  ExpectCommit(*replacement);
  EXPECT_EQ(store_->Text(kKey), "new");
  replacement.reset();
  EXPECT_EQ(store_->Names("a"), Names{"0.shard"});
}

TEST_P(ObjectReplacementTest, BytesArePutInAnyOrderFromTheBaseAndFromTheCaller) {
  store_->Put(kKey, "0123456789");
  auto replacement = Begin();
  ASSERT_TRUE(replacement->base());
  EXPECT_EQ(replacement->base()->info().size, 10u);
  EXPECT_EQ(replacement->base()->info().generation, store_->Info(kKey)->generation);
  EXPECT_EQ(Read(*replacement->base(), 3, 4), "3456");
  EXPECT_EQ(Read(*replacement->base(), 8, 100), "89");
  ASSERT_TRUE(replacement->CopyBase({5, 5}, 6));
  ASSERT_TRUE(Write(*replacement, 0, "new"));
  ASSERT_TRUE(Write(*replacement, 1, "o"));
  const std::string put = "now" + std::string(3, '\0') + "56789";
  EXPECT_EQ(*replacement->Size(), put.size());
  EXPECT_EQ(ReadBack(*replacement, 0, put.size()), put);
  EXPECT_EQ(ReadBack(*replacement, 7, 100), "6789");
  EXPECT_EQ(ReadBack(*replacement, 100, 1), "");
  EXPECT_EQ(Read(*replacement->base(), 0, 10), "0123456789");
  EXPECT_EQ(store_->Text(kKey), "0123456789");
  ExpectCommit(*replacement);
  EXPECT_EQ(store_->Text(kKey), put);
}

TEST_P(ObjectReplacementTest, AVersionIsCutOffAndExtended) {
  auto replacement = Begin();
  ASSERT_TRUE(Write(*replacement, 0, "abcdef"));
  ASSERT_TRUE(replacement->SetSize(3));
  ASSERT_TRUE(replacement->SetSize(3));
  ASSERT_TRUE(replacement->SetSize(5));
  EXPECT_EQ(*replacement->Size(), 5u);
  ExpectCommit(*replacement);
  EXPECT_EQ(store_->Text(kKey), std::string("abc\0\0", 5));
}

TEST_P(ObjectReplacementTest, AVersionStartsAsTheWholeBaseOrEmpty) {
  store_->Put(kKey, "base");
  auto replacement = Begin();
  const auto started = replacement->StartFromBase();
  ASSERT_TRUE(started);
  const bool can = GetParam() == StoreKind::kCloning || GetParam() == StoreKind::kMemoryAppended;
  if (GetParam() != StoreKind::kPosix) {  // there it is up to the disk
    EXPECT_EQ(*started, can);
  }
  EXPECT_EQ(ReadBack(*replacement, 0, 100), *started ? "base" : "");
  ASSERT_TRUE(Write(*replacement, 4, " and more"));
  ASSERT_TRUE(replacement->SetSize(0));
  EXPECT_EQ(ReadBack(*replacement, 0, 100), "");
  ASSERT_TRUE(Write(*replacement, 0, "whole"));
  ExpectCommit(*replacement);
  EXPECT_EQ(store_->Text(kKey), "whole");
}

TEST_P(ObjectReplacementTest, ACopyBeyondTheBaseIsDataLoss) {
  for (const bool missing : {true, false}) {
    if (!missing) store_->Put(kKey, "base");
    auto replacement = Begin();
    for (const ByteRange& range : {ByteRange{2, 3}, ByteRange{4, 1}, ByteRange{100, 1}}) {
      const Status copied = replacement->CopyBase(range, 0);
      ASSERT_FALSE(copied);
      EXPECT_EQ(copied.error().code, ErrorCode::kDataLoss);
    }
  }
}

TEST_P(ObjectReplacementTest, WhatIsNotCommittedLeavesNothing) {
  Begin();
  EXPECT_EQ(store_->Names("a"), Names{});
  ASSERT_TRUE(Write(*Begin(), 0, "never"));
  EXPECT_EQ(store_->Names("a"), Names{});
  store_->Put(kKey, "base");
  ASSERT_TRUE(Write(*Begin(), 0, "never"));
  EXPECT_EQ(store_->Names("a"), Names{"0.shard"});
  EXPECT_EQ(store_->Text(kKey), "base");
}

// The last moment before the object is replaced, as seen by its writer.
TEST_P(ObjectReplacementTest, AWriterWhoDoesNotAgreeEndsTheAttempt) {
  const auto refuse = []() -> Status { return Fail(ErrorCode::kReadOnly, "not now"); };
  store_->Put(kKey, "base");
  auto replacement = Begin();
  ASSERT_TRUE(Write(*replacement, 0, "never"));
  const auto refused = replacement->Commit(refuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kReadOnly);
  const auto kept = replacement->Remove(refuse);
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Removes() ? ErrorCode::kReadOnly : ErrorCode::kNotSupported);
  EXPECT_EQ(store_->Text(kKey), "base");
}

// What another writer does to the object after it was begun to be replaced: it stays.
TEST_P(ObjectReplacementTest, TheConditionFailsWhereTheBaseIsNotTheCurrentVersion) {
  for (const bool missing : {true, false}) {
    for (const bool removes : {false, true}) {
      for (const bool late : {false, true}) {
        if ((missing || !Removes()) && removes) continue;
        SCOPED_TRACE(missing ? "a missing base" : removes ? "a removal" : "a commit");
        if (missing) {
          store_->Remove(kKey);
        } else {
          store_->Put(kKey, "base");
        }
        auto replacement = Begin();
        ASSERT_TRUE(Write(*replacement, 0, "ours"));
        if (!late) store_->Put(kKey, "past");
        const auto committing = [&]() -> Status {
          if (late) store_->Put(kKey, "past");
          return {};
        };
        const auto ended =
            removes ? replacement->Remove(committing) : replacement->Commit(committing);
        ASSERT_TRUE(ended) << ended.error().message;
        EXPECT_EQ(ended->outcome, Outcome::kConditionFailed);
        replacement.reset();
        EXPECT_EQ(store_->Text(kKey), "past");
        EXPECT_EQ(store_->Names("a"), Names{"0.shard"});
      }
    }
  }
}

TEST_P(ObjectReplacementTest, TheConditionFailsWhereTheBaseWasRemoved) {
  for (const bool removes : {false, true}) {
    if (removes && !Removes()) continue;
    store_->Put(kKey, "base");
    auto replacement = Begin();
    ASSERT_TRUE(Write(*replacement, 0, "ours"));
    store_->Remove(kKey);
    const auto ended = removes ? replacement->Remove(Agree) : replacement->Commit(Agree);
    ASSERT_TRUE(ended) << ended.error().message;
    // S3 may answer as if it had removed what is not there.
    const bool tells = !removes || !IsRemote(GetParam());
    EXPECT_EQ(ended->outcome, tells ? Outcome::kConditionFailed : ended->outcome);
    EXPECT_FALSE(store_->Text(kKey));
  }
}

TEST_P(ObjectReplacementTest, ABaseThatWasReplacedIsReadAsItWasOrNotAtAll) {
  store_->Put(kKey, "base");
  auto replacement = Begin();
  store_->Put(kKey, "past");
  const std::string read = Read(*replacement->base(), 0, 4);
  EXPECT_TRUE(read == "base" || read == "not to be had") << read;
  const Status copied = replacement->CopyBase({0, 4}, 0);
  ByteVector bytes(4);
  const auto found = replacement->ReadBack(0, bytes);
  if (copied && found) {
    EXPECT_EQ(AsText(ByteSpan(bytes).first(*found)), "base");
  } else {
    EXPECT_EQ(copied ? found.error().code : copied.error().code, ErrorCode::kConflict);
  }
}

// Either the second one waits, or it finds that it came too late.
TEST_P(ObjectReplacementTest, OfTwoWritersNoneLosesTheOthersBytes) {
  store_->Put(kKey, "base");
  auto first = Begin();
  auto second = replacer_->Begin(object_, {});
  if (!second) {
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  }
  ASSERT_TRUE(Write(*first, 0, "first"));
  ExpectCommit(*first);
  first.reset();
  if (second) {
    ASSERT_TRUE(Write(**second, 0, "second"));
    EXPECT_EQ((*second)->Commit(Agree)->outcome, Outcome::kConditionFailed);
    second->reset();
  }
  auto again = Begin();
  EXPECT_EQ(Read(*again->base(), 0, 100), "first");
  ASSERT_TRUE(Write(*again, 0, "second"));
  ExpectCommit(*again);
  EXPECT_EQ(store_->Text(kKey), "second");
}

TEST_P(ObjectReplacementTest, AnObjectIsRemoved) {
  store_->Put(kKey, "base");
  auto replacement = Begin();
  const auto removed = replacement->Remove(Agree);
  if (!Removes()) {
    ASSERT_FALSE(removed);
    EXPECT_EQ(removed.error().code, ErrorCode::kNotSupported);
    EXPECT_EQ(store_->Text(kKey), "base");
    return;
  }
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->outcome, Outcome::kCommitted);
  EXPECT_FALSE(removed->object);
  EXPECT_TRUE(replacement->MakeDurable());
  replacement.reset();
  EXPECT_EQ(store_->Names("a"), Names{});
}

TEST_P(ObjectReplacementTest, WhatStandsThereIsMadeDurableWithoutACommit) {
  EXPECT_TRUE(Begin()->MakeDurable());
  EXPECT_EQ(store_->Names("a"), Names{});
  store_->Put(kKey, "base");
  EXPECT_TRUE(Begin()->MakeDurable());
  EXPECT_EQ(store_->Text(kKey), "base");
}

TEST_P(ObjectReplacementTest, ADirectoryIsMadeDurableWhereItIsThere) {
  EXPECT_TRUE(replacer_->MakeDurable("a"));
  store_->Put(kKey, "base");
  EXPECT_TRUE(replacer_->MakeDurable("a"));
  EXPECT_EQ(store_->Names("a"), Names{"0.shard"});
}

TEST_P(ObjectReplacementTest, APairIsOneBaseAndGoesWhenItsSuccessorIsDurable) {
  object_.obsolete = ShardKeys::Pair{kIndex, kData};
  store_->Put(kIndex, "index");
  store_->Put(kData, "data");
  auto replacement = Begin();
  ASSERT_TRUE(replacement->base());
  EXPECT_TRUE(replacement->base_is_pair());
  EXPECT_EQ(Read(*replacement->base(), 3, 4), "exda");
  EXPECT_FALSE(*replacement->StartFromBase());
  ASSERT_TRUE(replacement->CopyBase({2, 7}, 0));
  EXPECT_EQ(ReadBack(*replacement, 0, 100), "dexdata");
  EXPECT_TRUE(replacement->MakeDurable());
  // With the lock file, and the new version.
  EXPECT_EQ(store_->Names("a").size(), GetParam() < StoreKind::kMemory ? 4u : 2u);
  ExpectCommit(*replacement);
  replacement.reset();
  EXPECT_EQ(store_->Names("a"), Names{"0.shard"});
  EXPECT_EQ(store_->Text(kKey), "dexdata");
}

TEST_P(ObjectReplacementTest, APairIsRemovedByWayOfAnObject) {
  object_.obsolete = ShardKeys::Pair{kIndex, kData};
  store_->Put(kIndex, "index");
  store_->Put(kData, "data");
  auto replacement = Begin();
  ASSERT_TRUE(Write(*replacement, 0, "empty"));
  ExpectCommit(*replacement);
  if (!Removes()) return;
  const auto removed = replacement->Remove(Agree);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->outcome, Outcome::kCommitted);
  EXPECT_TRUE(replacement->MakeDurable());
  replacement.reset();
  EXPECT_EQ(store_->Names("a"), Names{});
}

// A process has ended before it removed the pair.
TEST_P(ObjectReplacementTest, APairBesideTheObjectIsNoBaseAndDoesNotOutliveIt) {
  if (!Removes()) GTEST_SKIP() << "nothing is removed there";
  object_.obsolete = ShardKeys::Pair{kIndex, kData};
  for (const bool removes : {false, true}) {
    for (const char* key : {kKey, kIndex, kData}) store_->Put(key, key);
    auto replacement = Begin();
    EXPECT_FALSE(replacement->base_is_pair());
    EXPECT_EQ(Read(*replacement->base(), 0, 100), kKey);
    if (removes) {
      EXPECT_EQ(replacement->Remove(Agree)->outcome, Outcome::kCommitted);
    }
    EXPECT_TRUE(replacement->MakeDurable());
    replacement.reset();
    // A remote store is not asked each time for a pair that nobody reads any more.
    const Names kept =
        IsRemote(GetParam()) ? Names{"0.data", "0.index", "0.shard"} : Names{"0.shard"};
    EXPECT_EQ(store_->Names("a"), removes ? Names{} : kept);
  }
}

TEST_P(ObjectReplacementTest, HalfAPairIsDataLossAndThePairThatChangesFailsTheCondition) {
  object_.obsolete = ShardKeys::Pair{kIndex, kData};
  store_->Put(kData, "data");
  const auto half = replacer_->Begin(object_, {});
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(half.error().message.find("0.index"), std::string::npos) << half.error().message;
  EXPECT_EQ(store_->Names("a"), Names{"0.data"});
  store_->Put(kIndex, "index");
  auto replacement = Begin();
  ASSERT_TRUE(Write(*replacement, 0, "ours"));
  store_->Put(kKey, "past");
  EXPECT_EQ(replacement->Commit(Agree)->outcome, Outcome::kConditionFailed);
  EXPECT_EQ(store_->Text(kKey), "past");
}

TEST_P(ObjectReplacementTest, AWholeObjectIsReplacedOrMade) {
  for (const char* text : {"first", "2nd", ""}) {
    const Status replaced = ReplaceObject(*replacer_, kKey, AsBytes(text));
    ASSERT_TRUE(replaced) << replaced.error().message;
    EXPECT_EQ(store_->Text(kKey), text);
    EXPECT_EQ(store_->Names("a"), Names{"0.shard"});
  }
}

TEST_P(ObjectReplacementTest, TheVersionThatWasReadIsReplacedAndNoOther) {
  const auto replace = [&](const std::optional<WholeObject>& read, const char* text) {
    const auto replaced = ReplaceVersion(*replacer_, kKey, read, AsBytes(text));
    EXPECT_TRUE(replaced) << replaced.error().message;
    return replaced.value_or(false);
  };
  const auto present = [&] { return WholeObject{*store_->Text(kKey), *store_->Info(kKey)}; };
  EXPECT_TRUE(replace(std::nullopt, "first"));
  EXPECT_FALSE(replace(std::nullopt, "made although it is there"));
  const WholeObject first = present();
  EXPECT_TRUE(replace(first, "second version"));
  EXPECT_FALSE(replace(first, "over another one"));
  EXPECT_EQ(store_->Text(kKey), "second version");
  store_->Put(kKey, "as long, other");
  EXPECT_FALSE(replace(WholeObject{"second version", first.info}, "over others' bytes"));
  EXPECT_TRUE(replace(WholeObject{"as long, other", first.info}, "over the same bytes"));
  const WholeObject last = present();
  store_->Remove(kKey);
  EXPECT_FALSE(replace(last, "in place of none"));
  EXPECT_EQ(store_->Names("a"), Names{});
}

TEST(ReplaceObjectTest, AnUnknownOutcomeIsAFailure) {
  const auto store = ReplaceableStore::Make(StoreKind::kMemory, "");
  store->Put("document", "old");
  for (const auto lost : {MemoryReplacer::Lost::kRequest, MemoryReplacer::Lost::kAnswer}) {
    store->memory()->LoseNext(lost);
    const Status replaced = ReplaceObject(*store->memory(), "document", AsBytes("new"));
    ASSERT_FALSE(replaced);
    EXPECT_EQ(replaced.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(replaced.error().message.find("document"), std::string::npos);
    EXPECT_EQ(store->Text("document"), lost == MemoryReplacer::Lost::kRequest ? "old" : "new");
  }
}

// Another writer comes between each time a version has been put together.
TEST(ReplaceObjectTest, WhoIsFasterEachTimeKeepsItsBytes) {
  class Overtaken final : public ObjectReplacer {
   public:
    explicit Overtaken(ReplaceableStore& store) : store_(store) {}
    Status CanReplace(const std::string& key) override { return store_.memory()->CanReplace(key); }
    Result<std::unique_ptr<ObjectReplacement>> Begin(const ReplacedObject& object,
                                                     const Deadline& deadline) override {
      auto begun = store_.memory()->Begin(object, deadline);
      if (times > 0) store_.Put(object.key, "theirs " + std::to_string(times--));
      return begun;
    }
    Status MakeDurable(const std::string& directory) override {
      return store_.memory()->MakeDurable(directory);
    }
    std::string Describe(const std::string& key) const override { return key; }
    int times = 0;

   private:
    ReplaceableStore& store_;
  };
  const auto store = ReplaceableStore::Make(StoreKind::kMemory, "");
  Overtaken overtaken(*store);
  overtaken.times = 3;
  ASSERT_TRUE(ReplaceObject(overtaken, "document", AsBytes("ours")));
  EXPECT_EQ(store->Text("document"), "ours");
  overtaken.times = 100;
  const Status never = ReplaceObject(overtaken, "document", AsBytes("ours again"));
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, ErrorCode::kConflict);
  EXPECT_TRUE(store->Text("document")->starts_with("theirs"));
}

}  // namespace
}  // namespace unshard
