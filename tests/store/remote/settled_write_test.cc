// Each row of the table of what may become of a conditional write, with a service in memory.
#include "store/remote/settled_write.h"

#include <gtest/gtest.h>

#include "store/http/bodies.h"
#include "tests/support/fake_object_writer.h"

namespace unshard {
namespace {

using Kind = WriteAnswer::Kind;
using Outcome = Committed::Outcome;
using Requests = std::vector<std::string>;

constexpr const char* kWrittenKey = "a/0.shard";
constexpr const char* kAttempt = "00000000000000aa";
// Answers, or none, that do not tell what became of the write.
constexpr Kind kUnclear[] = {Kind::kConditionFailed, Kind::kFailed, Kind::kLost};

class SettledWriteTest : public testing::Test {
 protected:
  SettledWriteTest() {
    tries_.wait = [this](std::chrono::milliseconds delay) {
      waited_ += delay;
      ++waits_;
      return waits_ <= most_waits_;
    };
  }
  // Over a base of this text; nothing: the object is missing.
  Result<SettledWrite> Commit(const char* base_text = "base") {
    base_.reset();
    writer_.Erase(kWrittenKey);
    if (base_text != nullptr) base_ = writer_.Place(kWrittenKey, base_text, {"00000000000000bb"});
    const NewObject object{
        kWrittenKey, WriteCondition::Of(base_), {kAttempt, "00000000000000bb"}, {}};
    (void)writer_.TakeRequests();
    waits_ = 0;
    return SettleCommit(
        writer_, kWrittenKey, base_, kAttempt, 4,
        [&] { return writer_.Put(object, BodyOf("ours")); }, tries_);
  }
  Result<SettledWrite> Remove() {
    base_ = writer_.Place(kWrittenKey, "base");
    (void)writer_.TakeRequests();
    waits_ = 0;
    return SettleRemoval(
        writer_, kWrittenKey, *base_,
        [&] { return writer_.Delete(kWrittenKey, WriteCondition::Of(base_)); }, tries_);
  }
  static void ExpectOutcome(const Result<SettledWrite>& settled, Outcome outcome) {
    ASSERT_TRUE(settled) << settled.error().message;
    EXPECT_EQ(settled->committed.outcome, outcome);
  }

  FakeObjectWriter writer_;
  WriteTries tries_;
  std::optional<RemoteObject> base_;
  std::chrono::milliseconds waited_{0};
  int waits_ = 0;
  int most_waits_ = 1000;
};

TEST_F(SettledWriteTest, ASuccessIsBelieved) {
  for (const char* base : {"base", static_cast<const char*>(nullptr)}) {
    const auto settled = Commit(base);
    ExpectOutcome(settled, Outcome::kCommitted);
    EXPECT_EQ(writer_.TakeRequests(), Requests{"PUT a/0.shard"});
    EXPECT_EQ(writer_.Bytes(kWrittenKey), "ours");
    EXPECT_EQ(settled->committed.object->generation, writer_.Now(kWrittenKey)->info.generation);
    EXPECT_EQ(settled->now->validator, writer_.Now(kWrittenKey)->validator);
  }
}

TEST_F(SettledWriteTest, ASuccessWithoutAValidatorIsLookedAt) {
  writer_.Next({true, Kind::kApplied});
  const auto settled = Commit();
  ExpectOutcome(settled, Outcome::kCommitted);
  EXPECT_EQ(writer_.TakeRequests(), (Requests{"PUT a/0.shard", "LOOK a/0.shard"}));
  EXPECT_EQ(settled->committed.object->generation, writer_.Now(kWrittenKey)->info.generation);
}

TEST_F(SettledWriteTest, ASuccessThatIsNoneIsTriedAgain) {
  writer_.Next({false, Kind::kApplied});
  ExpectOutcome(Commit(), Outcome::kCommitted);
  EXPECT_EQ(writer_.Count("PUT"), 2);
  EXPECT_EQ(writer_.Bytes(kWrittenKey), "ours");
}

TEST_F(SettledWriteTest, AnUnclearAnswerToWhatWasAppliedIsASuccess) {
  for (const char* base : {"base", static_cast<const char*>(nullptr)}) {
    for (const Kind kind : kUnclear) {
      writer_.Next({true, kind});
      const auto settled = Commit(base);
      ExpectOutcome(settled, Outcome::kCommitted);
      EXPECT_EQ(writer_.TakeRequests(), (Requests{"PUT a/0.shard", "LOOK a/0.shard"}));
      EXPECT_EQ(settled->committed.object->generation, writer_.Now(kWrittenKey)->info.generation);
    }
  }
}

TEST_F(SettledWriteTest, WhatWasNotAppliedIsSentAgain) {
  for (const char* base : {"base", static_cast<const char*>(nullptr)}) {
    for (const Kind kind : kUnclear) {
      writer_.Next({false, kind});
      writer_.Next({false, kind});
      ExpectOutcome(Commit(base), Outcome::kCommitted);
      EXPECT_EQ(writer_.TakeRequests(),
                (Requests{"PUT a/0.shard", "LOOK a/0.shard", "PUT a/0.shard", "LOOK a/0.shard",
                          "PUT a/0.shard"}));
      EXPECT_EQ(waits_, 2);
      EXPECT_EQ(writer_.Bytes(kWrittenKey), "ours");
    }
  }
}

// The first try was applied, its answer lost, and the second one fails its own condition.
TEST_F(SettledWriteTest, TheOwnWriteIsNoConflict) {
  writer_.Next({false, Kind::kLost});
  writer_.Next({true, Kind::kConditionFailed});
  ExpectOutcome(Commit(), Outcome::kCommitted);
  EXPECT_EQ(writer_.Bytes(kWrittenKey), "ours");
}

TEST_F(SettledWriteTest, AnotherWritersVersionIsAConflict) {
  for (const char* base : {"base", static_cast<const char*>(nullptr)}) {
    for (const Kind kind : kUnclear) {
      writer_.Next(
          {false, kind, [&] { writer_.Place(kWrittenKey, "theirs", {"00000000000000cc"}); }});
      ExpectOutcome(Commit(base), Outcome::kConditionFailed);
      EXPECT_EQ(writer_.Bytes(kWrittenKey), "theirs");
      EXPECT_EQ(writer_.Count("PUT"), 1);
    }
  }
}

TEST_F(SettledWriteTest, ARemovedBaseIsAConflict) {
  for (const Kind kind : kUnclear) {
    writer_.Next({false, kind, [&] { writer_.Erase(kWrittenKey); }});
    ExpectOutcome(Commit(), Outcome::kConditionFailed);
    EXPECT_EQ(writer_.Bytes(kWrittenKey), "missing");
  }
}

TEST_F(SettledWriteTest, AVersionThatNamesTheAttemptAmongThoseBeforeItProvesThatItWasApplied) {
  for (const Kind kind : kUnclear) {
    writer_.Next({true, kind, [&] {
                    writer_.Place(kWrittenKey, "theirs", {"00000000000000cc", kAttempt});
                  }});
    const auto settled = Commit();
    ExpectOutcome(settled, Outcome::kCommitted);
    EXPECT_EQ(writer_.Bytes(kWrittenKey), "theirs");
    EXPECT_EQ(settled->committed.object->size, 4u);
    EXPECT_NE(settled->committed.object->generation, writer_.Now(kWrittenKey)->info.generation)
        << "readers would take their index for ours";
  }
}

TEST_F(SettledWriteTest, WhatCannotBeLookedAtIsUnknown) {
  for (const bool applied : {false, true}) {
    for (const Kind kind : kUnclear) {
      writer_.Next({applied, kind});
      writer_.FailLooks(1);
      const auto settled = Commit();
      ExpectOutcome(settled, Outcome::kUnknown);
      EXPECT_EQ(settled->committed.reason.message, "the store is away");
      EXPECT_EQ(writer_.Bytes(kWrittenKey), applied ? "ours" : "base");
    }
  }
}

TEST_F(SettledWriteTest, ARefusalIsAnErrorAtOnce) {
  writer_.Next({false, Kind::kRefused});
  const auto settled = Commit();
  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().message, "a fault");
  EXPECT_EQ(writer_.TakeRequests(), Requests{"PUT a/0.shard"});
}

TEST_F(SettledWriteTest, ARefusalAfterALostAnswerLeavesTheOutcomeUnknown) {
  writer_.Next({false, Kind::kLost});
  writer_.Next({false, Kind::kRefused});
  ExpectOutcome(Commit(), Outcome::kUnknown);
}

TEST_F(SettledWriteTest, WithoutAConnectionNothingHappensAndNothingIsLookedAt) {
  for (int i = 0; i < 3; ++i) writer_.Next({false, Kind::kNotSent});
  ExpectOutcome(Commit(), Outcome::kCommitted);
  EXPECT_EQ(writer_.Count("LOOK"), 0);
  for (int i = 0; i < tries_.most; ++i) writer_.Next({false, Kind::kNotSent});
  const auto away = Commit();
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(writer_.Count("PUT"), tries_.most);
}

TEST_F(SettledWriteTest, TriesEndAndALostOneMayStillBeApplied) {
  for (int i = 0; i < tries_.most; ++i) writer_.Next({false, Kind::kFailed});
  EXPECT_FALSE(Commit());
  EXPECT_EQ(writer_.Count("PUT"), tries_.most);
  writer_.Next({false, Kind::kLost});
  for (int i = 1; i < tries_.most; ++i) writer_.Next({false, Kind::kFailed});
  ExpectOutcome(Commit(), Outcome::kUnknown);
}

TEST_F(SettledWriteTest, WhereTheMountEndsThereIsOneTry) {
  most_waits_ = 0;
  writer_.Next({false, Kind::kFailed});
  EXPECT_FALSE(Commit());
  EXPECT_EQ(writer_.Count("PUT"), 1);
}

TEST_F(SettledWriteTest, AVersionOfAnotherSizeIsDamage) {
  for (const Kind kind : kUnclear) {
    writer_.Next({false, kind, [&] { writer_.Place(kWrittenKey, "our", {kAttempt}); }});
    const auto cut = Commit();
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, ErrorCode::kDataLoss);
    EXPECT_NE(cut.error().message.find("4 bytes"), std::string::npos) << cut.error().message;
  }
}

TEST_F(SettledWriteTest, RemovalsAreSettledTheSameWay) {
  ExpectOutcome(Remove(), Outcome::kCommitted);
  EXPECT_EQ(writer_.TakeRequests(), Requests{"DELETE a/0.shard"});
  for (const Kind kind : {Kind::kFailed, Kind::kLost}) {
    writer_.Next({true, kind});
    ExpectOutcome(Remove(), Outcome::kCommitted);
    EXPECT_EQ(writer_.Count("DELETE"), 1);
    writer_.Next({false, kind});
    ExpectOutcome(Remove(), Outcome::kCommitted);
    EXPECT_EQ(writer_.Count("DELETE"), 2);
    EXPECT_EQ(writer_.Bytes(kWrittenKey), "missing");
  }
  for (const Kind kind : kUnclear) {
    writer_.Next({false, kind, [&] { writer_.Place(kWrittenKey, "theirs"); }});
    ExpectOutcome(Remove(), Outcome::kConditionFailed);
    EXPECT_EQ(writer_.Bytes(kWrittenKey), "theirs");
  }
  // The answer says that the condition was false before there was any other try.
  writer_.Next({false, Kind::kConditionFailed, [&] { writer_.Erase(kWrittenKey); }});
  ExpectOutcome(Remove(), Outcome::kConditionFailed);
  writer_.Next({false, Kind::kLost});
  writer_.FailLooks(1);
  ExpectOutcome(Remove(), Outcome::kUnknown);
}

}  // namespace
}  // namespace unshard
