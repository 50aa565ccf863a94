// The records of ZIP archives: archives of other writers, and our own at the limits of 32 bits.
#include "store/zip/zip_records.h"

#include <gtest/gtest.h>

#include "tests/support/zip_archives.h"

namespace unshard {
namespace {

constexpr std::uint64_t k32Bits = 0xFFFFFFFF;

Result<ZipEnd> EndOf(std::string_view archive) {
  const std::size_t size = std::min<std::size_t>(archive.size(), kZipTailBytes);
  return ParseZipEnd(AsBytes(archive.substr(archive.size() - size)), archive.size());
}

TEST(ZipRecordsTest, AnEndIsFoundBehindACommentThatHoldsItsSignature) {
  const std::string archive = ZipVector("odd_comment_with_signature.ozx");
  const auto end = EndOf(archive);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_NE(end->comment.find("PK\5\6"), std::string::npos);
  EXPECT_EQ(end->prepended, 0u);
  EXPECT_TRUE(archive.ends_with(end->comment));
}

TEST(ZipRecordsTest, BytesBeforeTheArchiveAreCounted) {
  const std::string plain = ZipOf({{"a", "text"}});
  for (const std::size_t prepended : {0u, 1u, 100u, 100'000u}) {
    const std::string archive = std::string(prepended, 'x') + plain;
    const auto end = EndOf(archive);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(end->prepended, prepended);
    const auto record = ParseZipRecord(AsBytes(archive).subspan(end->directory.begin));
    ASSERT_TRUE(record && *record);
    EXPECT_EQ((*record)->record.name, "a");
    EXPECT_EQ((*record)->bytes, end->directory.size);
  }
  const auto odd = EndOf(ZipVector("odd_prepended_bytes.ozx"));
  ASSERT_TRUE(odd);
  EXPECT_GT(odd->prepended, 0u);
}

TEST(ZipRecordsTest, ARecordIsReadAsItIsWrittenAlsoWhere32BitsAreTooFew) {
  for (const std::uint64_t size : {std::uint64_t{0}, k32Bits - 1, k32Bits, k32Bits + 1}) {
    for (const std::uint64_t offset : {std::uint64_t{0}, k32Bits - 1, k32Bits, k32Bits << 8}) {
      for (const char* name : {"c/0/0", "grün/0"}) {
        const ZipRecord entry{
            .name = name, .crc = 7, .stored_bytes = size, .size = size, .offset = offset};
        ByteVector bytes;
        AppendZipRecord(bytes, entry);
        const std::size_t length = bytes.size();
        AppendZipRecord(bytes, entry);
        const auto parsed = ParseZipRecord(bytes);
        ASSERT_TRUE(parsed && *parsed) << parsed.error().message;
        EXPECT_EQ((*parsed)->bytes, length);
        EXPECT_EQ((*parsed)->record.name, name);
        EXPECT_EQ((*parsed)->record.size, size);
        EXPECT_EQ((*parsed)->record.stored_bytes, size);
        EXPECT_EQ((*parsed)->record.offset, offset);
        EXPECT_EQ((*parsed)->record.crc, 7u);
        const auto cut = ParseZipRecord(ByteSpan(bytes).first(length - 1));
        ASSERT_TRUE(cut);
        EXPECT_FALSE(*cut);
        ByteVector header;
        AppendZipLocalHeader(header, entry);
        const auto header_bytes = ParseZipLocalHeader(header);
        ASSERT_TRUE(header_bytes);
        EXPECT_EQ(*header_bytes, header.size());
      }
    }
  }
}

TEST(ZipRecordsTest, AnEndIsReadAsItIsWrittenAlsoWhere32BitsAreTooFew) {
  for (const std::uint64_t entries : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{0xFFFE},
                                      std::uint64_t{0xFFFF}, std::uint64_t{1} << 20}) {
    for (const std::uint64_t begin : {std::uint64_t{9}, k32Bits - 1, k32Bits, k32Bits << 8}) {
      ZipEnd written;
      written.directory = {begin, entries * kZipRecordBytes};
      written.entries = entries;
      written.comment = "of the archive";
      ByteVector tail;
      AppendZipEnd(tail, written);
      const auto read = ParseZipEnd(tail, written.directory.end() + tail.size());
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(read->directory, written.directory);
      EXPECT_EQ(read->entries, entries);
      EXPECT_EQ(read->prepended, 0u);
      EXPECT_EQ(read->comment, written.comment);
    }
  }
}

TEST(ZipRecordsTest, WhatIsNoWholeArchiveIsRefusedAndSaysWhy) {
  const std::string archive = ZipOf({{"a", "text"}, {"b", "more"}});
  struct Case {
    std::string bytes;
    ErrorCode code;
    const char* says;
  };
  const auto changed = [&](std::size_t from_end, char value) {
    std::string bytes = archive;
    bytes[bytes.size() - from_end] = value;
    return bytes;
  };
  const std::vector<Case> cases = {
      {"", ErrorCode::kDataLoss, "no end record"},
      {"no archive", ErrorCode::kDataLoss, "no end record"},
      {archive.substr(0, archive.size() - 1), ErrorCode::kDataLoss, "no end record"},
      {archive + "x", ErrorCode::kDataLoss, "no end record"},
      {changed(18, 1), ErrorCode::kNotSupported, "several files"},
      {changed(16, 1), ErrorCode::kNotSupported, "several files"},
      {changed(14, 1), ErrorCode::kNotSupported, "several files"},
      {changed(9, 1), ErrorCode::kDataLoss, "behind the end record"}};
  for (const Case& one : cases) {
    const auto end = EndOf(one.bytes);
    ASSERT_FALSE(end) << one.says;
    EXPECT_EQ(end.error().code, one.code) << end.error().message;
    EXPECT_NE(end.error().message.find(one.says), std::string::npos) << end.error().message;
  }
}

}  // namespace
}  // namespace unshard
