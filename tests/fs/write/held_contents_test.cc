// What open files keep: in memory up to a limit, beyond it in the spool.
#include "fs/write/held_contents.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

ContentPtr Content(std::size_t size, char letter) {
  return MakeBytesContent(Bytes(ByteVector(size, static_cast<std::uint8_t>(letter))));
}

std::string Text(ChunkContent& content) {
  const auto bytes = ReadAll(content, 1000);
  return bytes ? std::string(AsText(bytes->span())) : bytes.error().message;
}

TEST(HeldContentsTest, WhatMemoryHasNoRoomForIsInTheSpoolAsLongAsItIsHeld) {
  const std::shared_ptr<Spool> spool =
      *Spool::Open(std::make_shared<SimulatedDisk>(), {.source = "source", .max_bytes = 70});
  HeldContents held(spool, 100);
  ContentPtr first = *held.Keep(Content(60, 'a'));
  EXPECT_EQ(spool->usage().bytes, 0u);
  ContentPtr second = *held.Keep(Content(60, 'b'));
  EXPECT_FALSE(first->in_memory() || second->in_memory());
  EXPECT_EQ(spool->usage().bytes, 60u);
  EXPECT_EQ(Text(*first), std::string(60, 'a'));
  EXPECT_EQ(Text(*second), std::string(60, 'b'));
  EXPECT_EQ(*held.Keep(second), second) << "what is held is not held once more";
  const auto third = held.Keep(Content(60, 'c'));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().system_errno, ENOSPC);
  second.reset();
  EXPECT_EQ(spool->usage().bytes, 0u);
  first.reset();
  EXPECT_EQ(Text(**held.Keep(Content(90, 'd'))), std::string(90, 'd'));
  EXPECT_EQ(spool->usage().bytes, 0u);
}

}  // namespace
}  // namespace unshard
