#include "store/remote/remembered_version.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/fake_object_writer.h"

namespace unshard {
namespace {

class RememberedVersionTest : public testing::Test {
 protected:
  void Use(std::size_t size, const ReadAheadOptions& options) {
    std::mt19937 random(1);
    text_.resize(size);
    for (char& c : text_) c = static_cast<char>(random());
    version_ = MakeRememberedVersion(writer_.Open("key", writer_.Place("key", text_)), options);
    (void)writer_.TakeRequests();
  }
  void Expect(std::uint64_t begin, std::uint64_t size) {
    const auto read = version_->Read(RangeRequest::At(begin, size), Deadline::None());
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->state, ReadResult::State::kFound);
    EXPECT_TRUE(AsText(read->value.span()) == text_.substr(begin, size));
    EXPECT_EQ(read->generation, version_->info().generation);
    EXPECT_EQ(read->object_size, text_.size());
  }

  FakeObjectWriter writer_;
  std::string text_;
  std::shared_ptr<ObjectVersion> version_;
};

TEST_F(RememberedVersionTest, PiecesThatFollowOneAnotherCostFewRequests) {
  Use(1 << 20, {.least = 1024, .most = 65536, .kept = 1 << 20});
  for (std::uint64_t at = 0; at < (1 << 20); at += 128) Expect(at, 100);
  EXPECT_LE(writer_.TakeRequests().size(), 24u);
  for (std::uint64_t at = (1 << 19); at < (1 << 20); at += 128) Expect(at, 100);
  EXPECT_EQ(writer_.TakeRequests().size(), 0u) << "they are kept";
}

TEST_F(RememberedVersionTest, PiecesHereAndThereCostLittleMoreThanTheirBytes) {
  Use(1 << 20, {.least = 1024, .most = 65536, .kept = 4096});
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) Expect(random() % (1 << 20), 1 + random() % 3000);
}

TEST_F(RememberedVersionTest, OnlySoMuchIsKept) {
  Use(100000, {.least = 1000, .most = 1000, .kept = 3000});
  for (std::uint64_t at : {0u, 50000u, 90000u}) Expect(at, 10);
  EXPECT_EQ(writer_.TakeRequests().size(), 3u);
  for (std::uint64_t at : {0u, 50000u, 90000u}) Expect(at, 10);
  EXPECT_EQ(writer_.TakeRequests().size(), 0u);
  Expect(70000, 10);
  Expect(0, 10);
  EXPECT_EQ(writer_.TakeRequests().size(), 2u);
}

TEST_F(RememberedVersionTest, AVersionThatWasReplacedIsReadAsItWasOrNotAtAll) {
  Use(100000, {.least = 1000, .most = 1000, .kept = 3000});
  Expect(0, 10);
  writer_.Place("key", "theirs");
  Expect(500, 500);
  const auto gone = version_->Read(RangeRequest::At(5000, 10), Deadline::None());
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->state, ReadResult::State::kConditionFailed);
}

TEST_F(RememberedVersionTest, TheEndOfTheObjectIsKnown) {
  Use(1500, {.least = 1000, .most = 1000, .kept = 3000});
  Expect(1400, 500);
  Expect(0, 1500);
  Expect(1500, 10);
  Expect(0, 0);
}

}  // namespace
}  // namespace unshard
