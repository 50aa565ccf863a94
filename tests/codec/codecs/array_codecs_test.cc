#include "codec/codecs/codecs.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "codec/chain/codec_chain.h"
#include "codec/chain/transpose.h"
#include "codec/json/parser.h"
#include "codec/pyramid/axis_map.h"
#include "tests/support/hex.h"
#include "tests/support/random_chains.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

// Bound to items as a filter of Zarr v2 is.
Result<ArrayCodecPtr> Bind(const std::string& id, const char* configuration,
                           const DataType& items = kUint8) {
  CodecSpec spec = CodecOfZarr3("numcodecs." + id, ParseJson(configuration).value(), "filters[0]");
  spec.dialect = Dialect::kZarr2;
  return BindArrayToArray(spec, {items, 1, false, true});
}

// A filter takes bytes for items of its type, and gives bytes: those of its other type.
Result<ByteVector> Encode(const ArrayToArrayCodec& codec, const ByteVector& bytes,
                          const DataType& items = kUint8) {
  UNSHARD_ASSIGN_OR_RETURN(Voxels voxels,
                           codec.Encode(*Voxels::Make(items, {bytes.size() / items.size}, bytes)));
  EXPECT_EQ(voxels.type(), codec.encoded().type);
  EXPECT_EQ(voxels.shape(), codec.EncodedShape(Shape{bytes.size() / items.size}));
  ByteVector stored = std::move(voxels).TakeBytes();
  if (codec.encoded().big_endian) ReverseBytes(stored, codec.encoded().type.ordered_size());
  return stored;
}

Result<ByteVector> Decode(const ArrayToArrayCodec& codec, ByteVector stored, std::uint64_t size,
                          const DataType& items = kUint8) {
  const DataType& type = codec.encoded().type;
  if (codec.encoded().big_endian) ReverseBytes(stored, type.ordered_size());
  const Shape shape{size / items.size};
  UNSHARD_ASSIGN_OR_RETURN(
      Voxels voxels, Voxels::Make(type, codec.EncodedShape(shape).value(), std::move(stored)));
  UNSHARD_ASSIGN_OR_RETURN(voxels, codec.Decode(std::move(voxels), shape));
  EXPECT_EQ(voxels.type(), items);
  EXPECT_EQ(voxels.shape(), shape);
  return std::move(voxels).TakeBytes();
}

// As numcodecs 0.16 encodes them.
TEST(ArrayCodecs, DifferencesAreThoseOfNumcodecs) {
  struct Case {
    const char* configuration;
    const char* plain;
    const char* stored;
  };
  const Case cases[] = {
      {R"({"dtype": "|u1"})", "010503c807", "0104fec53f"},
      {R"({"dtype": "<i2", "astype": "|i1"})", "01000500fdff64006300", "0104f867ff"},
      {R"({"dtype": ">i4"})", "0000000100000005fffffffd0000006400000063",
       "0000000100000004fffffff800000067ffffffff"},
      {R"({"dtype": "<u2", "astype": "<i4"})", "050003000700", "05000000feff000004000000"},
      {R"({"dtype": "<f4"})", "0000803f0000c03f000040c0", "0000803f0000003f000090c0"}};
  for (const Case& one : cases) {
    const auto codec = Bind("delta", one.configuration);
    ASSERT_TRUE(codec) << codec.error().message;
    const ByteVector plain = FromHex(one.plain);
    EXPECT_EQ(Encode(**codec, plain), FromHex(one.stored)) << one.configuration;
    EXPECT_EQ(Decode(**codec, FromHex(one.stored), plain.size()), plain) << one.configuration;
  }
}

// As numcodecs 0.15.2 encodes and decodes them.
TEST(ArrayCodecs, OtherValuesAreThoseOfNumcodecs) {
  struct Case {
    const char* id;
    const char* configuration;
    const char* plain;
    const char* stored;
    const char* decoded;
  };
  const Case cases[] = {
      {"fixedscaleoffset", R"({"offset": -3.5, "scale": 100, "dtype": "<f4", "astype": "<i2"})",
       "0000a03fec5160c0e17ae040cdcccc3d", "db01ffff1c046801", "0000a03fd7a360c0d7a3e040cdcccc3d"},
      {"fixedscaleoffset", R"({"offset": 1, "scale": 3, "dtype": "<i4", "astype": "<f4"})",
       "01000000020000001e000000f9ffffff", "00000000000040400000ae420000c0c1",
       "01000000020000001e000000f9ffffff"},
      {"astype", R"({"encode_dtype": "<i2", "decode_dtype": "<f4"})", "3333f33f9a9939c000009643",
       "0100feff2c01", "0000803f000000c000009643"},
      {"astype", R"({"encode_dtype": "|u1", "decode_dtype": ">i4"})", "00000001ffffffff00000100",
       "01ff00", "00000001000000ff00000000"},
      {"packbits", "{}", "01000101000000010101", "06b1c0", "01000101000000010101"},
      {"packbits", "{}", "", "00", ""}};
  for (const Case& one : cases) {
    const auto codec = Bind(one.id, one.configuration);
    ASSERT_TRUE(codec) << codec.error().message;
    const ByteVector plain = FromHex(one.plain);
    EXPECT_EQ(Encode(**codec, plain), FromHex(one.stored)) << one.configuration;
    EXPECT_EQ(Decode(**codec, FromHex(one.stored), plain.size()), FromHex(one.decoded))
        << one.configuration;
  }
}

// Blocks of values are converted at once: the item that does not fit may be in any of them.
TEST(ArrayCodecs, ValuesThatTheirTypeLacksAreRefused) {
  const auto scaled =
      Bind("fixedscaleoffset", R"({"offset": 0, "scale": 100, "dtype": "<f4", "astype": "|u1"})");
  EXPECT_EQ(Encode(**scaled, FromHex("0000a040")).error().code,  // 5
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(Encode(**scaled, FromHex("0000c07f")).error().code,  // NaN
            ErrorCode::kInvalidArgument);
  for (const std::size_t item : std::vector<std::size_t>{0, 511, 512, 1500}) {
    ByteVector items(std::size_t{4} * 1600);
    StoreU32Le(&items[4 * item], 0x40a00000);  // 5
    EXPECT_EQ(Encode(**scaled, items).error().message, "numcodecs.fixedscaleoffset: item " +
                                                           std::to_string(item) +
                                                           ": 500.000000 does not fit in uint8");
  }
  const auto cast = Bind("astype", R"({"encode_dtype": "<f4", "decode_dtype": "<i2"})");
  EXPECT_EQ(Decode(**cast, FromHex("0000004f"), 2).error().code, ErrorCode::kDataLoss);
}

TEST(ArrayCodecs, IntegersOf64BitsAreConvertedWithoutADetour) {
  const auto codec = Bind("astype", R"({"encode_dtype": "<i8", "decode_dtype": "<u8"})");
  const ByteVector large = FromHex("ffffffffffffffff0100000000000080feffffffffffff7f");
  EXPECT_EQ(Encode(**codec, large), large);
  EXPECT_EQ(Decode(**codec, large, large.size()), large);
  // The float nearest to 2^53 + 2^29 + 1 is above that between them.
  const auto single = Bind("astype", R"({"encode_dtype": "<f4", "decode_dtype": "<i8"})");
  EXPECT_EQ(Encode(**single, FromHex("0100002000002000")), FromHex("0100005a"));
}

TEST(ArrayCodecs, DamagedBitsAreRefused) {
  const auto bits = Bind("packbits", "{}");
  for (const char* damaged : {"08ff", "01ff", "ffff"}) {
    EXPECT_EQ(Decode(**bits, FromHex(damaged), 8).error().code, ErrorCode::kDataLoss) << damaged;
  }
  EXPECT_EQ(Decode(**bits, FromHex("01"), 0).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(Decode(**bits, FromHex("01fe"), 7), ByteVector(7, 1));
}

TEST(ArrayCodecs, WhatLosesNothingIsKnown) {
  const auto is_lossless = [](const std::string& plain, const std::string& stored) {
    const std::string options =
        R"({"decode_dtype": ")" + plain + R"(", "encode_dtype": ")" + stored + "\"}";
    return (*Bind("astype", options.c_str(), ParseNumpyType(plain)->type))->is_lossless();
  };
  EXPECT_TRUE(is_lossless("|u1", "<i8"));
  EXPECT_TRUE(is_lossless("<i4", "<u4"));
  EXPECT_TRUE(is_lossless("<u2", "<f4"));
  EXPECT_TRUE(is_lossless("|b1", "|u1"));
  EXPECT_FALSE(is_lossless("<i4", "<f4"));
  EXPECT_FALSE(is_lossless("<f4", "<i8"));
  EXPECT_FALSE(is_lossless("<f8", "<f4"));
  EXPECT_FALSE(is_lossless("<u4", "|u1"));
  EXPECT_FALSE(is_lossless("|u1", "|b1"));
  EXPECT_FALSE((*Bind("delta", R"({"dtype": "<u8", "astype": "|u1"})"))->is_lossless());
  EXPECT_FALSE((*Bind("packbits", "{}", kUint8))->is_lossless());
  EXPECT_TRUE((*Bind("packbits", "{}", {Kind::kBool, 1}))->is_lossless());
}

TEST(ArrayCodecs, WholeItemsAreTaken) {
  const auto codec = Bind("delta", R"({"dtype": "<u8", "astype": "|u1"})");
  EXPECT_EQ((*codec)->EncodedShape(Shape{16}), (Shape{2}));
  EXPECT_EQ((*codec)->EncodedShape(Shape{9}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Encode(**codec, ByteVector(9)).error().message,
            "numcodecs.delta: expected a multiple of 8 bytes, found 9");
}

// As numcodecs 0.16 encodes them.
TEST(ArrayCodecs, FloatsAreRoundedAsByNumcodecs) {
  const DataType floats{Kind::kFloat, 4};
  const auto quantize = Bind("quantize", R"({"dtype": ">f4", "digits": 1})");
  ASSERT_TRUE(quantize) << quantize.error().message;
  EXPECT_FALSE((*quantize)->is_lossless());
  const ByteVector third = FromHex("3eaaaaab");
  EXPECT_EQ(Encode(**quantize, third), FromHex("3ea00000"));
  EXPECT_EQ(Decode(**quantize, third, 4), third);
  const auto bytes = Bind("bitround", R"({"keepbits": 2})");
  EXPECT_EQ(Encode(**bytes, ByteVector(1)).error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(Decode(**bytes, ByteVector{7}, 1), ByteVector{7});
  const auto round = Bind("bitround", R"({"keepbits": 2})", floats);
  EXPECT_EQ(Encode(**round, FromHex("abaaaa3e0000903f0000b03f"), floats),
            FromHex("0000a03e0000803f0000c03f"));
  EXPECT_FALSE(Bind("bitround", R"({"keepbits": 24})", floats));
}

TEST(ArrayCodecs, RoundedIntegersAreDecodedOnly) {
  const auto codec = Bind("quantize", R"({"dtype": "<i4", "digits": 2})");
  ASSERT_TRUE(codec) << codec.error().message;
  EXPECT_EQ(Decode(**codec, {1, 2, 3, 4}, 4), (ByteVector{1, 2, 3, 4}));
  EXPECT_EQ(Encode(**codec, ByteVector(4)).error().code, ErrorCode::kNotSupported);
}

TEST(ArrayCodecs, WhatIsNotKnownIsNamed) {
  EXPECT_EQ(FindCodec(Dialect::kZarr2, "vlen-utf8"), nullptr);
  EXPECT_EQ(Bind("delta", "{}").error().code, ErrorCode::kDataLoss);
  EXPECT_TRUE(Bind("delta", R"({"dtype": "<U4"})")
                  .error()
                  .message.starts_with("filters[0].dtype: unsupported data type \"<U4\""));
  EXPECT_EQ(Bind("astype", R"({"encode_dtype": "<f2", "decode_dtype": "<f4"})").error().code,
            ErrorCode::kNotSupported);
  EXPECT_EQ(Bind("fixedscaleoffset", R"({"dtype": "<f4", "offset": 1})").error().message,
            "filters[0]: expected the member \"scale\"");
  EXPECT_EQ(Bind("fixedscaleoffset", R"({"dtype": "<f4", "offset": 1, "scale": 0})").error().code,
            ErrorCode::kDataLoss);
  EXPECT_EQ(Bind("quantize", R"({"dtype": "<f8", "astype": "<f4"})").error().code,
            ErrorCode::kNotSupported);
}

// The voxels of a box of `shape`.
Voxels Part(const Voxels& voxels, const Shape& begin, const Shape& shape) {
  const ByteVector zero(voxels.type().size);
  Voxels part = Voxels::Filled(voxels.type(), shape, zero).value();
  AxisMap axes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) axes.emplace_back(axis);
  CopyBox(voxels, axes, {begin, Shape(shape.size(), 0), shape}, part);
  return part;
}

// Whether encoding `voxels` is the same as encoding each of its inner chunks. The axes of encoded
// voxels are those of `order`.
bool EncodesInnerChunks(const ArrayToArrayCodec& codec, const Voxels& voxels, const Shape& inner,
                        const std::vector<std::size_t>& order) {
  const Voxels encoded = codec.Encode(voxels).value();
  if (encoded.shape() != Transposed(voxels.shape(), order)) return false;
  for (std::uint64_t y = 0; y < voxels.shape()[0]; y += inner[0]) {
    for (std::uint64_t x = 0; x < voxels.shape()[1]; x += inner[1]) {
      const Shape begin{y, x};
      const auto chunk = codec.Encode(Part(voxels, begin, inner));
      if (chunk != Part(encoded, Transposed(begin, order), Transposed(inner, order))) return false;
    }
  }
  return true;
}

// What the definition of each array-to-array codec says of an encoded item holds for every type.
TEST(ArrayCodecs, InnerChunksAreThoseOfTheChunkWhereTheDefinitionSaysSo) {
  std::set<const CodecDefinition*> known, seen, dependent;
  for (const CodecDefinition* const codec : CodecDefinitions()) {
    const bool is_array_codec =
        std::holds_alternative<CodecDefinition::BindArrayToArray>(codec->bind);
    if (is_array_codec && codec->CanBind()) known.insert(codec);
  }
  int encoded = 0;
  for (const DataType& type : ChainTypes()) {
    for (std::size_t number = 0; number < kArrayCodecs; ++number) {
      const JsonValue json = ParseJson("[" + ArrayCodec(number, type, 2).json + "]").value();
      const ChainSpec chain = ParseChainSpec(JsonCursor(json, "codecs"), 2).value();
      const CodecDefinition& definition = *chain[0].definition;
      const auto codec = BindArrayToArray(chain[0], {type, 2});
      const ByteVector bytes = RandomChoices(static_cast<std::uint32_t>(number));
      Choices choices(bytes);
      const Voxels voxels = DrawVoxels(choices, type, {4, 6}, false);
      if (!codec || !(*codec)->Encode(voxels)) continue;
      seen.insert(&definition);
      const bool moves = definition.dependence == Dependence::kMovedItem;
      const auto order = moves ? (*codec)->order() : IdentityOrder(2);
      for (const Shape& inner : {Shape{2, 3}, Shape{1, 1}}) {
        const bool holds = EncodesInnerChunks(**codec, voxels, inner, order);
        if (!holds) dependent.insert(&definition);
        ++encoded;
        EXPECT_TRUE(holds || definition.dependence == Dependence::kChunk)
            << chain[0].name << " of " << DataTypeName(type);
      }
    }
  }
  EXPECT_EQ(seen, known);
  for (const CodecDefinition* const codec : known) {
    EXPECT_EQ(dependent.contains(codec), codec->dependence == Dependence::kChunk) << codec->name();
  }
  EXPECT_GT(encoded, 100);
}

}  // namespace
}  // namespace unshard
