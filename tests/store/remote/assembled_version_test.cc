#include "store/remote/assembled_version.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/fake_object_writer.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

class AssembledVersionTest : public testing::Test {
 protected:
  AssembledVersion Over(const std::string& base) {
    base_ = base;
    const RemoteObject placed = writer_.Place("key", base);
    auto file = ScratchFile::Make(directory_.path());
    EXPECT_TRUE(file) << file.error().message;
    const auto opened = writer_.Open("key", placed);
    return {*file, opened, opened, "fake://key"};
  }
  static std::string All(AssembledVersion& version) {
    ByteVector bytes(static_cast<std::size_t>(version.size()) + 10);
    const auto found = version.ReadBack(0, bytes);
    EXPECT_TRUE(found) << found.error().message;
    return std::string(AsText(ByteSpan(bytes).first(found.value_or(0))));
  }
  static std::string Sent(const AssembledVersion& version, const ByteRange& range) {
    ByteVector bytes(static_cast<std::size_t>(range.size) + 10);
    const auto body = version.Body(range);
    EXPECT_EQ(body->size(), range.size);
    return std::string(AsText(ByteSpan(bytes).first(body->Read(0, bytes).value_or(0))));
  }

  TemporaryDirectory directory_;
  FakeObjectWriter writer_;
  std::string base_;
};

// Against the same steps on a string.
TEST_F(AssembledVersionTest, AnyOrderOfStepsGivesTheBytesOfAPlainBuffer) {
  std::mt19937 random(20261124);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  for (int round = 0; round < 60; ++round) {
    std::string base(1 + below(200), ' ');
    for (char& c : base) c = static_cast<char>('a' + below(26));
    AssembledVersion version = Over(base);
    std::string expected;
    for (int step = 0; step < 25; ++step) {
      const std::size_t at = below(220);
      const std::size_t kind = below(8);
      if (kind < 3) {
        const std::string bytes(below(40), static_cast<char>('A' + below(26)));
        ASSERT_TRUE(version.Write(at, AsBytes(bytes)));
        expected.resize(std::max(expected.size(), at + bytes.size()));
        expected.replace(at, bytes.size(), bytes);
      } else if (kind < 6) {
        const std::size_t begin = below(base.size());
        const std::size_t size = below(base.size() - begin + 1);
        ASSERT_TRUE(version.CopyBase({begin, size}, at));
        expected.resize(std::max(expected.size(), at + size));
        expected.replace(at, size, base, begin, size);
      } else if (kind == 6) {
        ASSERT_TRUE(version.SetSize(at));
        expected.resize(at);
      } else {
        ASSERT_TRUE(version.Fetch({at, below(100)}));
      }
      ASSERT_EQ(version.size(), expected.size());
      ASSERT_EQ(All(version), expected);
    }
    ASSERT_TRUE(version.Fetch({0, version.size()}));
    EXPECT_EQ(Sent(version, {0, version.size()}), expected);
  }
}

TEST_F(AssembledVersionTest, WhatIsInTheBaseIsKnownWithoutARequest) {
  AssembledVersion version = Over("0123456789");
  ASSERT_TRUE(version.CopyBase({2, 6}, 100));
  ASSERT_TRUE(version.Write(103, AsBytes("x")));
  EXPECT_EQ(version.InBase({100, 3}), (ByteRange{2, 3}));
  EXPECT_EQ(version.InBase({104, 2}), (ByteRange{6, 2}));
  EXPECT_FALSE(version.InBase({102, 2}));
  EXPECT_FALSE(version.InBase({0, 1}));
  EXPECT_FALSE(version.InBase({105, 2}));
  EXPECT_EQ(writer_.Count("GET"), 0);
}

TEST_F(AssembledVersionTest, RangesThatAreNearEachOtherAreFetchedAtOnce) {
  AssembledVersion version = Over(std::string(std::size_t{1} << 20, 'b'));
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(version.CopyBase({i * 10000, 5000}, 500000 - i * 5000));
  }
  ASSERT_TRUE(version.Fetch({0, version.size()}));
  EXPECT_EQ(writer_.Count("GET"), 1);
  ASSERT_TRUE(version.Fetch({0, version.size()}));
  EXPECT_EQ(writer_.Count("GET"), 1) << "nothing is fetched twice";
}

TEST_F(AssembledVersionTest, LongRangesAreFetchedInPiecesAndFarOnesAlone) {
  AssembledVersion version = Over(std::string(std::size_t{20} << 20, 'b'));
  ASSERT_TRUE(version.CopyBase({0, std::uint64_t{17} << 20}, 0));
  ASSERT_TRUE(version.CopyBase({std::uint64_t{19} << 20, 1}, std::uint64_t{17} << 20));
  ASSERT_TRUE(version.Fetch({0, version.size()}));
  EXPECT_EQ(writer_.Count("GET"), 4);
  EXPECT_EQ(Sent(version, {(std::uint64_t{17} << 20) - 2, 3}), "bbb");
}

TEST_F(AssembledVersionTest, ABaseThatWasReplacedIsAConflict) {
  AssembledVersion version = Over("0123456789");
  ASSERT_TRUE(version.CopyBase({0, 10}, 0));
  writer_.Place("key", "others");
  ByteVector bytes(4);
  const auto read = version.ReadBack(0, bytes);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kConflict);
  const Status fetched = version.Fetch({0, 10});
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, ErrorCode::kConflict);
}

TEST_F(AssembledVersionTest, NothingIsLeftInTheDirectory) {
  AssembledVersion version = Over("base");
  ASSERT_TRUE(version.Write(0, AsBytes("written")));
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

}  // namespace
}  // namespace unshard
