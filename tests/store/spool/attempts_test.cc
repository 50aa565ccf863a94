#include "store/spool/attempts.h"

#include <gtest/gtest.h>

#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

TEST(SpoolAttempts, TextAndBack) {
  const SpoolAttempt attempt{"a/c/0/\x01", "0123456789abcdef", {17, 18, ~std::uint64_t{0} - 1}};
  const auto parsed = ParseAttempt(AttemptText(attempt));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->key, attempt.key);
  EXPECT_EQ(parsed->id, attempt.id);
  EXPECT_EQ(parsed->sequences, attempt.sequences);
  EXPECT_EQ(parsed->upload, "");
  const auto upload = ParseAttempt(AttemptText({"a/0", "", {}, "2~an upload"}));
  ASSERT_TRUE(upload);
  EXPECT_EQ(upload->upload, "2~an upload");
}

TEST(SpoolAttempts, TornAndForeignTextIsNone) {
  const std::string whole = AttemptText({"a", "id", {1}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ParseAttempt(whole.substr(0, size))) << size;
  }
  for (const char* text : {"[]\n", "{}\n",
                           R"({"key":"../a","id":"x","sequences":[1]})"
                           "\n",
                           R"({"key":"a","id":"x","sequences":[-1]})"
                           "\n"}) {
    EXPECT_FALSE(ParseAttempt(text)) << text;
  }
}

class SpoolWithAttempts : public testing::Test {
 protected:
  std::unique_ptr<Spool> Open() {
    SpoolOptions options;
    options.source = "test";
    auto spool = Spool::Open(disk_, options);
    EXPECT_TRUE(spool) << spool.error().message;
    return spool ? *std::move(spool) : nullptr;
  }
  std::shared_ptr<SimulatedDisk> disk_ = std::make_shared<SimulatedDisk>();
};

TEST_F(SpoolWithAttempts, TheNextProcessFindsThoseThatWereNotForgotten) {
  auto spool = Open();
  EXPECT_TRUE(spool->TakeAttempts().empty());
  const auto first = spool->RecordAttempt({"a", "one", {1, 2}});
  const auto second = spool->RecordAttempt({"b", "two", {3}});
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(spool->ForgetAttempt(*first));
  spool.reset();
  disk_ = disk_->AfterKill();
  spool = Open();
  const auto found = spool->TakeAttempts();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.at(*second).id, "two");
  EXPECT_TRUE(spool->TakeAttempts().empty());
  const auto third = spool->RecordAttempt({"c", "three", {4}});
  ASSERT_TRUE(third);
  EXPECT_GT(*third, *second);
}

// Else what the next process commits would be taken for what the attempt has put, and dropped.
TEST_F(SpoolWithAttempts, NumbersOfFilesThatAreGoneStayTakenWhileAnAttemptNamesThem) {
  const auto seal = [&](Spool& spool) {
    auto staged = spool.Stage();
    EXPECT_TRUE(staged && (*staged)->Write(0, AsBytes("bytes")));
    const auto sealed = spool.Seal(staged->get(), "a", "c/0", {});
    EXPECT_TRUE(sealed);
    return sealed.value_or(SpooledChunk());
  };
  auto spool = Open();
  const SpooledChunk first = seal(*spool), second = seal(*spool);
  ASSERT_TRUE(spool->RecordAttempt({"a", "one", {first.sequence, second.sequence}}));
  ASSERT_TRUE(spool->Discard(first));
  ASSERT_TRUE(spool->Discard(second));
  spool.reset();
  disk_ = disk_->AfterKill();
  spool = Open();
  EXPECT_TRUE(spool->TakeRecovered().empty());
  EXPECT_GT(seal(*spool).sequence, second.sequence);
}

// Whatever happens to the power, a record is whole or not there.
TEST_F(SpoolWithAttempts, ATornRecordIsOfAnAttemptThatNeverBegan) {
  auto spool = Open();
  OpenFlags flags;
  flags.write = flags.create = true;
  const auto torn = disk_->Open(AttemptPath(7), flags);
  ASSERT_TRUE(torn && *torn);
  ASSERT_TRUE((*torn)->Write(0, AsBytes(R"({"key":"a")")));
  spool.reset();
  disk_ = disk_->AfterKill();
  spool = Open();
  EXPECT_TRUE(spool->TakeAttempts().empty());
  const auto left = disk_->Stat(AttemptPath(7));
  ASSERT_TRUE(left);
  EXPECT_FALSE(*left);
}

}  // namespace
}  // namespace unshard
