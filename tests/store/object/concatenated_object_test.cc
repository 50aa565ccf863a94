// Two objects as one.
#include "store/object/concatenated_object.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/support/memory_store.h"

namespace unshard {
namespace {

class ConcatenatedObjectTest : public testing::Test {
 protected:
  ConcatenatedObjectTest() {
    store_.Put("a", "head");
    store_.Put("b", "tail");
    auto opened = OpenConcatenated(store_, "a", "b", RangeRequest::At(0, 0), Deadline::None(), {});
    if (opened) whole_ = opened->version;
  }
  void Start(std::uint64_t begin, std::uint64_t size) {
    whole_->StartRead(RangeRequest::At(begin, size), Deadline::None(),
                      [this](Result<ReadResult> read) { answer_ = std::move(read); });
  }
  std::string Text() const {
    if (!answer_) return "(no answer)";
    return *answer_ ? std::string(AsText((*answer_)->value.span())) : answer_->error().message;
  }

  MemoryStore store_{Capabilities{.keeps_replaced_versions = false}};
  std::shared_ptr<ObjectVersion> whole_;
  std::optional<Result<ReadResult>> answer_;
};

// An answer may come on the one thread of the network, which must not start what waits for a disk.
TEST_F(ConcatenatedObjectTest, BothHalvesAreAskedForOnTheCallersThread) {
  ASSERT_TRUE(whole_);
  store_.HoldReads();
  Start(2, 4);
  EXPECT_EQ(store_.held_reads(), 2u);
  EXPECT_EQ(Text(), "(no answer)");
  store_.ReleaseReads();
  EXPECT_EQ(Text(), "adta");
  EXPECT_EQ((*answer_)->object_size, 8u);
}

TEST_F(ConcatenatedObjectTest, AHalfThatWasReplacedFailsTheConditionOfTheWhole) {
  for (const char* const replaced : {"b", "a"}) {
    store_.Put(replaced, "other");
    Start(2, 4);
    ASSERT_TRUE(answer_ && *answer_) << replaced;
    EXPECT_EQ((*answer_)->state, ReadResult::State::kConditionFailed) << replaced;
  }
}

}  // namespace
}  // namespace unshard
