#include "codec/codecs/gzip.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <thread>

#include "tests/support/codecs.h"

namespace unshard {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

ByteVector Copy(std::string_view text) {
  const ByteSpan bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

ByteVector operator+(ByteVector a, const ByteVector& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// `range` distinct byte values; 256: incompressible.
ByteVector Noise(std::size_t size, unsigned range) {
  std::mt19937 random(static_cast<unsigned>(size));
  ByteVector bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() % range);
  return bytes;
}

ErrorCode FailureOf(ByteSpan stored, std::uint64_t max_bytes = kNoLimit) {
  const auto plain = GzipDecode(stored, max_bytes);
  EXPECT_FALSE(plain);
  return plain ? ErrorCode::kInternal : plain.error().code;
}

std::optional<std::uint64_t> Announced(const ByteVector& stored) {
  return PlausibleGzipSize(ByteSpan(stored).last(4), stored.size());
}

TEST(Gzip, DecodesWhatItEncodes) {
  for (const std::size_t size : {0UL, 1UL, 2UL, 100UL, 32767UL, 65536UL, 300'000UL, 2'000'000UL}) {
    for (const unsigned range : {1U, 4U, 256U}) {
      const ByteVector plain = Noise(size, range);
      const ByteVector stored = GzipEncode(plain, size > 1'000'000 ? 1 : 9);
      EXPECT_EQ(GzipDecode(stored, plain.size()), plain);
      EXPECT_EQ(GzipDecode(stored, kNoLimit, 1), plain);
      EXPECT_EQ(GzipDecode(stored, kNoLimit, kNoLimit), plain);
      EXPECT_EQ(Announced(stored), plain.size()) << size << " of " << range;
    }
  }
}

// Sizes around those where libdeflate begins another block, and zlib another stored one.
TEST(Gzip, EveryLevelStaysWithinTheBound) {
  for (const std::size_t size :
       {0UL, 5UL, 4999UL, 5001UL, 10'001UL, 65'535UL, 65'537UL, 300'001UL}) {
    for (const unsigned range : {2U, 200U, 256U}) {
      for (int level = 0; level <= 9; ++level) {
        const ByteVector plain = Noise(size, range);
        const ByteVector stored = GzipEncode(plain, level);
        EXPECT_LE(stored.size(), MaxGzipSize(size)) << size << " at " << level;
        EXPECT_EQ(Announced(stored), size) << size << " at " << level;
        EXPECT_EQ(GzipDecode(stored, size), plain) << size << " at " << level;
      }
    }
  }
}

TEST(Gzip, LevelsThatDoNotExistAreTheNearest) {
  const ByteVector plain = Noise(10'000, 16);
  EXPECT_EQ(GzipEncode(plain, -1), GzipEncode(plain, 0));
  EXPECT_EQ(GzipEncode(plain, 12), GzipEncode(plain, 9));
}

TEST(Gzip, OutputDoesNotDependOnWhatTheThreadEncodedBefore) {
  const auto in_new_thread = [](const ByteVector& plain, int level) {
    ByteVector stored;
    std::thread([&] { stored = GzipEncode(plain, level); }).join();
    return stored;
  };
  const auto zlib = *BindBytesCodec("numcodecs.zlib");
  for (const std::size_t size : {100'000UL, 10UL, 0UL, 70'000UL}) {
    for (const int level : {1, 9, 1, 6, 0, 9}) {
      const ByteVector plain = Noise(size, 16);
      EXPECT_EQ(GzipEncode(plain, level), in_new_thread(plain, level)) << size << " at " << level;
      ASSERT_TRUE(zlib->Encode(plain));
    }
  }
}

TEST(Gzip, OutputIsReproducible) {
  const ByteVector stored = GzipEncode(Noise(1000, 4));
  EXPECT_EQ(stored, GzipEncode(Noise(1000, 4)));
  // No name, and time 0.
  EXPECT_EQ(ByteVector(stored.begin(), stored.begin() + 8),
            (ByteVector{0x1f, 0x8b, 8, 0, 0, 0, 0, 0}));
}

TEST(Gzip, MembersAndZeroPaddingAreRead) {
  for (const std::size_t size : {0UL, 1UL, 3UL, 7UL, 8UL, 9UL, 1000UL, 70'000UL}) {
    const ByteVector first = GzipEncode(Noise(size, 256));
    const ByteVector second = GzipEncode(Copy("second"));
    EXPECT_EQ(GzipDecode(first + second, kNoLimit), Noise(size, 256) + Copy("second"));
    EXPECT_EQ(GzipDecode(second + first + second + ByteVector(100, 0), kNoLimit),
              Copy("second") + Noise(size, 256) + Copy("second"));
    EXPECT_EQ(GzipDecode(first + ByteVector(1, 0), kNoLimit), Noise(size, 256));
  }
}

TEST(Gzip, HeaderWithNameCommentExtraAndChecksumIsRead) {
  const ByteVector plain = Copy("hello");
  const ByteVector stored = GzipEncode(plain);
  ByteVector named = {0x1f, 0x8b, 8, 0x04 | 0x08 | 0x10, 1, 2, 3, 4, 0, 3};
  named = named + ByteVector{2, 0, 'x', 'y'} + Copy("name") + ByteVector{0} + Copy("comment") +
          ByteVector{0};
  named.insert(named.end(), stored.begin() + 10, stored.end());
  EXPECT_EQ(GzipDecode(named, kNoLimit), plain);
}

TEST(Gzip, EveryTruncationIsDataLoss) {
  for (const unsigned range : {1U, 4U, 256U}) {
    const ByteVector stored = GzipEncode(Noise(500, range));
    for (std::size_t size = 0; size < stored.size(); ++size) {
      EXPECT_EQ(FailureOf(ByteSpan(stored).first(size)), ErrorCode::kDataLoss) << size;
    }
    const ByteVector two = stored + stored;
    for (std::size_t size = stored.size() + 1; size < two.size(); ++size) {
      EXPECT_EQ(FailureOf(ByteSpan(two).first(size)), ErrorCode::kDataLoss) << size;
    }
  }
}

TEST(Gzip, EveryFlippedBitOfTheTrailerIsDataLoss) {
  const ByteVector stored = GzipEncode(Noise(500, 4));
  for (std::size_t bit = 0; bit < 64; ++bit) {
    ByteVector damaged = stored;
    damaged[stored.size() - 8 + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    EXPECT_EQ(FailureOf(damaged), ErrorCode::kDataLoss) << bit;
  }
}

TEST(Gzip, FlippedBitsNeverGiveOtherData) {
  const ByteVector plain = Noise(300, 4);
  const ByteVector stored = GzipEncode(plain);
  for (std::size_t bit = 0; bit < stored.size() * 8; ++bit) {
    ByteVector damaged = stored;
    damaged[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    const auto decoded = GzipDecode(damaged, 1000);
    if (!decoded) continue;
    EXPECT_EQ(*decoded, plain) << bit;  // time, system and such
  }
}

TEST(Gzip, DataThatAreNoGzipAreRefused) {
  EXPECT_EQ(FailureOf({}), ErrorCode::kDataLoss);
  EXPECT_EQ(FailureOf(AsBytes("not gzip at all, but long enough")), ErrorCode::kDataLoss);
  EXPECT_EQ(FailureOf(ByteVector{0x78, 0x9c, 3, 0, 0, 0, 0, 1}), ErrorCode::kDataLoss);  // zlib
  EXPECT_EQ(FailureOf(ByteVector(40, 0)), ErrorCode::kDataLoss);
  EXPECT_EQ(FailureOf(GzipEncode(Copy("a")) + Copy("junk")), ErrorCode::kDataLoss);
  EXPECT_EQ(FailureOf(GzipEncode(Copy("a")) + ByteVector{0, 0, 1}), ErrorCode::kDataLoss);
}

TEST(Gzip, OutputIsBounded) {
  const ByteVector stored = GzipEncode(ByteVector(100'000'000, 0), 9);
  EXPECT_EQ(FailureOf(stored, 1'000'000), ErrorCode::kResourceExhausted);
  EXPECT_EQ(FailureOf(stored, 99'999'999), ErrorCode::kResourceExhausted);
  EXPECT_TRUE(GzipDecode(stored, 100'000'000));
  EXPECT_EQ(FailureOf(GzipEncode(Copy("a")), 0), ErrorCode::kResourceExhausted);
  EXPECT_EQ(GzipDecode(GzipEncode({}), 0), ByteVector());
  // All members together count.
  const ByteVector five = GzipEncode(Copy("12345"));
  EXPECT_EQ(FailureOf(five + five, 9), ErrorCode::kResourceExhausted);
  EXPECT_TRUE(GzipDecode(five + five, 10));
}

TEST(PlausibleGzipSize, DoubtfulTrailersAnnounceNothing) {
  const ByteVector five = GzipEncode(Copy("12345"));
  EXPECT_EQ(Announced(five), 5U);
  EXPECT_EQ(Announced(five + five), std::nullopt);                                // two members
  EXPECT_EQ(Announced(five + ByteVector(8, 0)), std::nullopt);                    // padding
  EXPECT_EQ(PlausibleGzipSize(AsBytes("\xff\xff\xff\x7f"), 1000), std::nullopt);  // beyond deflate
  EXPECT_EQ(PlausibleGzipSize(ByteVector{1, 0, 0, 0}, 17), std::nullopt);         // no member
  EXPECT_EQ(PlausibleGzipSize(ByteVector{1, 0, 0}, 21), std::nullopt);
  EXPECT_EQ(PlausibleGzipSize({}, 0), std::nullopt);
}

}  // namespace
}  // namespace unshard
