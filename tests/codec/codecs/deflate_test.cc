// Every library that this build has is given the same inputs.
#include "codec/codecs/deflate.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "codec/core/text.h"
#include "tests/support/full_run.h"

namespace unshard {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
constexpr DeflateContainer kContainers[] = {DeflateContainer::kGzip, DeflateContainer::kZlib};

using Tables = std::vector<const DeflateFunctions*>;

Tables WithInflate() {
  Tables tables;
  for (const auto* each : DeflateTables()) {
    if (each->inflate != nullptr) tables.push_back(each);
  }
  return tables;
}

Tables WithDeflate() {
  Tables tables;
  for (const auto* each : DeflateTables()) {
    if (each->deflate != nullptr) tables.push_back(each);
  }
  return tables;
}

ByteVector Noisy(std::size_t size, unsigned range) {
  std::mt19937 random(static_cast<unsigned>(size));
  ByteVector bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() % range);
  return bytes;
}

ByteVector Joined(ByteVector a, const ByteVector& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// What each library makes of a stream; nothing: a failure.
void ExpectSameOfAll(DeflateContainer container, ByteSpan stored,
                     const std::optional<ByteVector>& expected,
                     std::uint64_t max_bytes = kUnlimited) {
  for (const DeflateFunctions* table : WithInflate()) {
    const auto plain = Inflate(container, stored, max_bytes, 0, *table);
    EXPECT_EQ(plain.has_value(), expected.has_value()) << table->library->name;
    if (plain && expected) {
      EXPECT_EQ(*plain, *expected) << table->library->name;
    }
  }
}

std::string FailureOf(const DeflateFunctions& table, DeflateContainer container, ByteSpan stored) {
  const auto plain = Inflate(container, stored, kUnlimited, 0, table);
  return plain ? "" : plain.error().message;
}

TEST(DeflateLibraries, ZlibIsAlwaysThereAndTheFastestIsUsed) {
  const Tables tables = DeflateTables();
  ASSERT_FALSE(tables.empty());
  EXPECT_EQ(tables.front()->library->name, "zlib");
  for (const DeflateFunctions* table : tables) {
    const bool does_something = table->inflate != nullptr || table->deflate != nullptr;
    EXPECT_EQ(does_something, table->library->in_build()) << table->library->name;
  }
  EXPECT_EQ(DeflateInUse().inflate, WithInflate().back()->inflate);
  EXPECT_EQ(DeflateInUse().deflate, WithDeflate().back()->deflate);
}

TEST(DeflateLibraries, EachInflatesWhatEachDeflates) {
  for (const DeflateContainer container : kContainers) {
    for (const DeflateFunctions* table : WithDeflate()) {
      for (const std::size_t size : {0UL, 1UL, 100UL, 32'768UL, 65'537UL, 300'000UL}) {
        for (const unsigned range : {1U, 4U, 256U}) {
          for (const int level : {0, 1, 6, 9}) {
            if (size == 300'000 && level != 6 && !IsFullRun()) continue;
            SCOPED_TRACE(std::string(table->library->name) + " " + std::to_string(size) + " " +
                         std::to_string(level));
            const ByteVector plain = Noisy(size, range);
            const ByteVector stored = table->deflate(container, plain, level);
            EXPECT_EQ(table->deflate(container, plain, level), stored);
            ExpectSameOfAll(container, stored, plain, size);
            if (size > 0) ExpectSameOfAll(container, stored, std::nullopt, size - 1);
          }
        }
      }
    }
  }
}

TEST(DeflateLibraries, EachReadsMembersAndZerosBehindThem) {
  for (const DeflateFunctions* table : WithDeflate()) {
    for (const std::size_t size : {0UL, 1UL, 7UL, 8UL, 9UL, 1000UL, 70'000UL}) {
      const ByteVector plain = Noisy(size, 256);
      const ByteVector gzip = table->deflate(DeflateContainer::kGzip, plain, 6);
      const ByteVector two = Joined(gzip, gzip);
      ExpectSameOfAll(DeflateContainer::kGzip, two, Joined(plain, plain));
      ExpectSameOfAll(DeflateContainer::kGzip, Joined(two, ByteVector(100)), Joined(plain, plain));
      ExpectSameOfAll(DeflateContainer::kGzip, Joined(two, {0, 1}), std::nullopt);
      // A zlib stream is one, and nothing follows it.
      const ByteVector zlib = table->deflate(DeflateContainer::kZlib, plain, 6);
      ExpectSameOfAll(DeflateContainer::kZlib, Joined(zlib, {0}), std::nullopt);
      ExpectSameOfAll(DeflateContainer::kZlib, Joined(zlib, zlib), std::nullopt);
    }
  }
}

TEST(DeflateLibraries, EachRefusesWhatIsCutShortOrDamagedWithTheSameWords) {
  const DeflateFunctions& zlib = ZlibDeflate();
  for (const DeflateContainer container : kContainers) {
    for (const unsigned range : {1U, 4U, 256U}) {
      const ByteVector stored = zlib.deflate(container, Noisy(500, range), 6);
      for (std::size_t size = 1; size < stored.size(); ++size) {
        for (const DeflateFunctions* table : WithInflate()) {
          const std::string failure = FailureOf(*table, container, ByteSpan(stored).first(size));
          EXPECT_TRUE(failure.ends_with(": the stream is cut short"))
              << table->library->name << " " << size << " " << failure;
        }
      }
      const std::size_t trailer = container == DeflateContainer::kGzip ? 8 : 4;
      for (std::size_t bit = 0; bit < 8 * trailer; ++bit) {
        ByteVector damaged = stored;
        damaged[stored.size() - trailer + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
        for (const DeflateFunctions* table : WithInflate()) {
          const std::string failure = FailureOf(*table, container, damaged);
          EXPECT_TRUE(failure.ends_with(": the checksum or the length does not match the data"))
              << table->library->name << " " << bit << " " << failure;
        }
      }
    }
    for (const char* start : {"not a stream", "\x1f\x8c\x08", "\x1f\x8b\x07\x01\x01\x01"}) {
      const std::string other = start + std::string(40, 'x');  // not too short for a header
      for (const DeflateFunctions* table : WithInflate()) {
        const std::string failure = FailureOf(*table, container, AsBytes(other));
        EXPECT_TRUE(failure.ends_with(" header")) << table->library->name << " " << failure;
      }
    }
  }
}

// Of Debian 12. zlib spells its operating system, libdeflate does not.
TEST(DeflateLibraries, EachWritesTheBytesThatItAlwaysWrote) {
  const std::map<std::string_view, std::string_view> of_libraries = {
      {"zlib", "1f8b08000000000000032bcd2bce482c4a51281da547240d0055fce18d00020000"},
      {"libdeflate", "1f8b08000000000000ff2bcd2bce482c4a51281da547240d0055fce18d00020000"},
  };
  std::string plain;
  for (int i = 0; i < 64; ++i) plain += "unshard ";
  for (const DeflateFunctions* table : WithDeflate()) {
    const ByteVector stored = table->deflate(DeflateContainer::kGzip, AsBytes(plain), 6);
    EXPECT_EQ(HexText(stored), of_libraries.at(table->library->name)) << table->library->name;
  }
}

TEST(DeflateLibraries, EachComputesTheSameChecksums) {
  const ByteVector bytes = Noisy(100'003, 256);
  for (const DeflateFunctions* table : DeflateTables()) {
    if (table->crc32 == nullptr) continue;
    SCOPED_TRACE(table->library->name);
    EXPECT_EQ(table->crc32(0, AsBytes("123456789")), 0xcbf43926U);
    EXPECT_EQ(table->adler32(1, AsBytes("123456789")), 0x091e01deU);
    EXPECT_EQ(table->crc32(0, {}), 0U);
    EXPECT_EQ(table->adler32(1, {}), 1U);
    EXPECT_EQ(table->crc32(0, bytes), ZlibDeflate().crc32(0, bytes));
    EXPECT_EQ(table->adler32(1, bytes), ZlibDeflate().adler32(1, bytes));
    const ByteSpan all = bytes;
    EXPECT_EQ(table->crc32(table->crc32(0, all.first(77)), all.subspan(77)),
              table->crc32(0, bytes));
    EXPECT_EQ(table->adler32(table->adler32(1, all.first(77)), all.subspan(77)),
              table->adler32(1, bytes));
  }
}

}  // namespace
}  // namespace unshard
