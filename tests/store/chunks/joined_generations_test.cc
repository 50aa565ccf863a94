// Which versions of stored chunks are one version of a joined one, and how long it is known.
#include "store/chunks/joined_generations.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

std::vector<JoinedVersion::Part> Written(std::uint64_t first, std::uint64_t second) {
  std::vector<JoinedVersion::Part> parts(2);
  parts[0].written = first;
  parts[1].written = second;
  return parts;
}

TEST(JoinedGenerationsTest, TheSamePartsAreTheSameGenerationWhileItIsReferredTo) {
  JoinedGenerations generations;
  const ChunkGeneration one = generations.Of(5, Written(1, 2), {});
  EXPECT_EQ(generations.Of(5, Written(1, 2), {}).number, one.number);
  EXPECT_NE(generations.Of(5, Written(1, 3), {}).number, one.number);
  EXPECT_NE(generations.Of(5, Written(2, 1), {}).number, one.number);
  EXPECT_NE(generations.Of(6, Written(1, 2), {}).number, one.number);
  EXPECT_EQ(JoinedVersionOf(one)->parts[1].written, 2U);
}

TEST(JoinedGenerationsTest, GenerationsWithoutReferencesAreForgotten) {
  JoinedGenerations generations;
  const ChunkGeneration held = generations.Of(0, Written(1, 1), {});
  std::uint32_t referenced = 0;
  {
    const ChunkGeneration kernels = generations.Of(1, Written(1, 1), {});
    generations.AddReference(kernels);
    generations.AddReference(kernels);
    referenced = kernels.number;
  }
  const auto fill = [&](std::uint64_t from) {
    for (std::uint64_t i = 0; i < 5000; ++i) (void)generations.Of(from + i, Written(1, 1), {});
  };
  fill(10);
  generations.DropReferences(referenced, 1);
  fill(10000);
  EXPECT_TRUE(generations.Find(held.number));
  EXPECT_TRUE(generations.Find(referenced));
  EXPECT_FALSE(generations.Find(referenced + 1));
  generations.DropReferences(referenced, 1);
  fill(20000);
  EXPECT_FALSE(generations.Find(referenced));
}

}  // namespace
}  // namespace unshard
