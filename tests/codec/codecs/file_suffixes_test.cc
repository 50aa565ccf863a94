#include "codec/codecs/file_suffixes.h"

#include <gtest/gtest.h>

#include "codec/core/bytes.h"

namespace unshard {
namespace {

TEST(FileSuffixesTest, EachHasACodecOfItsOwn) {
  const ByteVector plain(1000, 7);
  for (const auto suffix : kCompressionSuffixes) {
    SCOPED_TRACE(suffix);
    const auto codec = CodecOfSuffix(suffix);
    if (!codec->CanDecode()) {  // not in this build
      EXPECT_NE(suffix, ".gz");
      EXPECT_EQ(codec->Decode(plain, 1000).error().code, ErrorCode::kNotSupported);
      continue;
    }
    const auto stored = codec->Encode(plain);
    ASSERT_TRUE(stored) << stored.error().message;
    EXPECT_EQ(codec->Decode(*stored, 1000), plain);
    EXPECT_EQ(codec->Decode(*stored, 999).error().code, ErrorCode::kResourceExhausted);
    const ByteSpan cut = ByteSpan(*stored).first(stored->size() - 1);
    EXPECT_EQ(codec->Decode(cut, 1000).error().code, ErrorCode::kDataLoss);
    EXPECT_EQ(codec->Decode({}, 1000).error().code, ErrorCode::kDataLoss);
    ByteVector longer = *stored;
    longer.push_back(1);
    EXPECT_EQ(codec->Decode(longer, 1000).error().code, ErrorCode::kDataLoss);
    for (const auto other : kCompressionSuffixes) {
      if (!CodecOfSuffix(other)->CanDecode()) continue;
      EXPECT_EQ(CodecOfSuffix(other)->Decode(*stored, 1000).has_value(), other == suffix) << other;
    }
  }
}

}  // namespace
}  // namespace unshard
