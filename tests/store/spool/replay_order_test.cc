#include "store/spool/replay_order.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

SpooledChunk Chunk(std::uint64_t sequence, long time) {
  SpooledChunk chunk;
  chunk.sequence = sequence;
  chunk.committed.tv_sec = time;
  return chunk;
}

std::string Order(std::vector<std::vector<SpooledChunk>> spools) {
  std::string order;
  for (const ReplayedChunk& one : InReplayOrder(std::move(spools))) {
    order += std::to_string(one.spool) + ":" + std::to_string(one.chunk.sequence) + " ";
  }
  return order;
}

TEST(ReplayOrderTest, SequencesOrderOneSpoolWhateverTheClockSaid) {
  EXPECT_EQ(Order({}), "");
  EXPECT_EQ(Order({{Chunk(1, 50), Chunk(2, 10), Chunk(5, 30)}}), "0:1 0:2 0:5 ");
}

TEST(ReplayOrderTest, SeveralSpoolsAreMergedByTime) {
  EXPECT_EQ(Order({{Chunk(1, 10), Chunk(2, 40)}, {}, {Chunk(1, 20), Chunk(9, 30)}}),
            "0:1 2:1 2:9 0:2 ");
  EXPECT_EQ(Order({{Chunk(1, 50), Chunk(2, 10)}, {Chunk(1, 20), Chunk(2, 60)}}), "1:1 0:1 0:2 1:2 ")
      << "the order of each is kept";
}

}  // namespace
}  // namespace unshard
