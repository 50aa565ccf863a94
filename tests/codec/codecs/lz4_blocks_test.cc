#include "codec/chain/codec_spec.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "codec/json/parser.h"
#include "tests/support/hex.h"

namespace unshard {
namespace {

BytesCodecPtr Codec(std::uint64_t block_size) {
  JsonValue options = JsonValue::Object({{"blockSize", JsonValue::Number(block_size)}});
  CodecSpec spec = CodecOfZarr3("n5.lz4", std::move(options), "compression");
  spec.dialect = Dialect::kN5;
  spec.definition = FindCodec(Dialect::kN5, "lz4");
  return BindBytesToBytes(spec).value();
}

// What lz4-java writes for these twelve bytes, which it stores: a block, and the empty one.
const std::string kHeader =
    "4c5a34426c6f636b"
    "16"
    "0c000000"
    "0c000000";
const std::string kChecksum = "90258b06";
const std::string kPlain = "000100020003000400050006";
const std::string kEnd =
    "4c5a34426c6f636b"
    "16"
    "000000000000000000000000";

TEST(Lz4Blocks, TheStreamOfLz4Java) {
  const ByteVector stream = FromHex(kHeader + kChecksum + kPlain + kEnd);
  EXPECT_EQ(Codec(65536)->Decode(stream, 12).value(), FromHex(kPlain));
  EXPECT_EQ(Codec(65536)->Encode(FromHex(kPlain)).value(), stream);
}

TEST(Lz4Blocks, StreamsOfManyBlocksAreReadBack) {
  std::mt19937 random(3);
  ByteVector plain(5000);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    plain[i] = static_cast<std::uint8_t>(i < 3000 ? i / 100 : random());
  }
  for (const std::uint64_t block_size : {64u, 1000u, 1024u, 1025u, 65536u}) {
    const ByteVector stream = Codec(block_size)->Encode(plain).value();
    EXPECT_EQ(Codec(block_size)->Decode(stream, plain.size()).value(), plain) << block_size;
    EXPECT_EQ(Codec(block_size)->Decode(stream, plain.size() - 1).error().code,
              ErrorCode::kResourceExhausted);
  }
}

TEST(Lz4Blocks, TheFormsOfNumcodecsAndZ5AreReadWhereTheSizeIsKnown) {
  // One LZ4 block of five literals and a match that repeats them.
  const std::string block =
      "5f"
      "6162636465"
      "0500"
      "00"
      "50"
      "6162636465";
  const std::string plain = "abcdeabcdeabcdeabcdeabcdeabcde";
  const auto size = static_cast<std::uint64_t>(5 + 19 + 5);
  const std::string expected = plain.substr(0, size - 5) + "abcde";
  for (const std::string& front : {std::string(), std::string("1d000000")}) {
    const auto decoded = Codec(65536)->Decode(FromHex(front + block), size);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(AsText(*decoded), expected);
    EXPECT_EQ(Codec(65536)->Decode(FromHex(front + block), size - 1).error().code,
              ErrorCode::kDataLoss);
  }
}

TEST(Lz4Blocks, DamageIsRefused) {
  const auto refuse = [](const std::string& hex) {
    const auto decoded = Codec(65536)->Decode(FromHex(hex), 12);
    return decoded ? std::string("decoded") : decoded.error().message;
  };
  EXPECT_EQ(refuse(kHeader + "91258b06" + kPlain + kEnd),
            "lz4: expected a block with the checksum 068b2590, found 068b2591");
  EXPECT_EQ(refuse(kHeader + kChecksum + kPlain),
            "lz4: expected a block that begins with \"LZ4Block\"");
  EXPECT_EQ(refuse(kHeader + kChecksum + "0001"), "lz4: the stream is cut short");
  EXPECT_EQ(refuse(kHeader + kChecksum + kPlain + kEnd + "00"), "lz4: bytes follow the last block");
  EXPECT_EQ(refuse("4c5a34426c6f636b"
                   "36"
                   "0c0000000c000000" +
                   kChecksum + kPlain + kEnd),
            "lz4: expected a block with the method 0x10 or 0x20, found 0x30");
  EXPECT_EQ(
      refuse("4c5a34426c6f636b"
             "20"
             "0c00000001040000" +
             kChecksum + kPlain + kEnd),
      "lz4: expected a block of at most 1024 plain bytes, found 1025 plain bytes stored as 12");
}

}  // namespace
}  // namespace unshard
