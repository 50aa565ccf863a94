// Compositions of codecs: all pairs of array-to-array codecs, random chains, and inner chunks of
// shards.
#include "tests/support/random_chains.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "codec/array/document.h"
#include "codec/chain/codec_chain.h"
#include "codec/chain/transpose.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/pyramid/axis_map.h"
#include "codec/types/fill_value.h"
#include "codec/zarr3/document.h"
#include "tests/support/array_texts.h"
#include "tests/support/codecs.h"
#include "tests/support/full_run.h"

namespace unshard {
namespace {

// All pairs, of codecs that fit each other, and of codecs of which the second one is for the items
// of the array. Unless the run is full each pair has a type in turn for each shape.
TEST(CodecPairs, EveryPairOfEveryTypeAndShapeKeepsItsPromises) {
  const std::size_t types = ChainTypes().size();
  for (std::size_t number = 0; number < types; ++number) {
    const DataType& type = ChainTypes()[number];
    for (const auto& shape : ChainShapes()) {
      for (std::size_t pair = 0; pair < 2 * kArrayCodecs * kArrayCodecs; ++pair) {
        const bool fits = pair % 2 == 0;
        if (!fits && shape.size() != 2) continue;
        if (!IsFullRun() && (pair / 2 + number) % 5 != 0) continue;
        const DrawnCodec first = ArrayCodec(pair / 2 / kArrayCodecs, type, shape.size());
        const DrawnCodec second =
            ArrayCodec(pair / 2 % kArrayCodecs, fits ? first.after : type, shape.size());
        const DrawnChain chain{false, "[" + first.json + ", " + second.json + R"(, "bytes"])", type,
                               shape};
        const ByteVector bytes = RandomChoices(static_cast<std::uint32_t>(pair));
        Choices values(bytes);
        ASSERT_EQ(BrokenPromise(chain, DrawVoxels(values, type, shape, false)), "");
      }
    }
  }
}

TEST(CodecChains, RandomChainsKeepTheirPromises) {
  const std::uint32_t chains = InFullRun(6000U, 1000U);
  for (std::uint32_t seed = 0; seed < chains; ++seed) {
    const ByteVector bytes = RandomChoices(seed);
    Choices choices(bytes);
    const DrawnChain chain = DrawChain(choices);
    const Voxels voxels = DrawVoxels(choices, chain.type, chain.shape, seed % 2 == 0);
    ASSERT_EQ(BrokenPromise(chain, voxels), "") << "seed " << seed;
  }
}

// An array of one shard: codecs before sharding_indexed and within it.
struct DrawnShard {
  DataType type;
  Shape shape;
  std::string outer, inner;       // lists of array-to-array codecs, each followed by a comma
  DataType stored;                // of the items that sharding_indexed divides
  std::vector<std::size_t> axes;  // of the array, for each of their dimensions
  Shape chunk_shape;              // of inner chunks, along these dimensions
  ByteVector fill;
  std::string document;
};

void DrawOuterCodecs(Choices& choices, DrawnShard& shard) {
  for (std::size_t count = choices.Below(4); count > 0; --count) {
    const std::size_t number = choices.Below(kArrayCodecs);
    const DrawnCodec codec = ArrayCodec(number, shard.stored, shard.shape.size());
    shard.outer += codec.json + ", ";
    shard.stored = codec.after;
    if (number > 1) continue;
    const JsonValue json = ParseJson("[" + codec.json + "]").value();
    const ChainSpec chain = ParseChainSpec(JsonCursor(json, ""), shard.shape.size()).value();
    const auto transpose = BindArrayToArray(chain[0], {shard.stored, shard.shape.size()}).value();
    shard.axes = Transposed(shard.axes, transpose->order());
  }
}

DrawnShard DrawShard(Choices& choices) {
  const Shape shapes[] = {{4}, {4, 6}, {2, 4, 6}};
  DrawnShard shard;
  shard.type = shard.stored = ChainTypes()[choices.Below(ChainTypes().size())];
  shard.shape = shapes[choices.Below(3)];
  shard.axes = IdentityOrder(shard.shape.size());
  DrawOuterCodecs(choices, shard);
  const std::size_t number = choices.Below(kArrayCodecs);
  if (choices.Below(2) == 0) {
    shard.inner = ArrayCodec(number, shard.stored, shard.shape.size()).json + ", ";
  }
  for (const std::uint64_t extent : Transposed(shard.shape, shard.axes)) {
    shard.chunk_shape.push_back(extent / 2);
  }
  shard.fill = DrawVoxels(choices, shard.type, {1}, choices.Below(3) == 0).TakeBytes();
  const std::string shape = WriteJson(ExtentsJson(shard.shape), 0);
  shard.document =
      R"({"zarr_format": 3, "node_type": "array", "attributes": {}, "shape": )" + shape +
      R"(, "data_type": ")" + DataTypeName(shard.type) + R"(", "fill_value": )" +
      WriteJson(WriteZarr3FillValue(shard.fill, shard.type), 0) +
      R"(, "chunk_key_encoding": "default", "chunk_grid": {"name": "regular", "configuration": {)" +
      R"("chunk_shape": )" + shape + R"(}}, "codecs": [)" + shard.outer +
      R"({"name": "sharding_indexed", "configuration": {"chunk_shape": )" +
      WriteJson(ExtentsJson(shard.chunk_shape), 0) + R"(, "codecs": [)" + shard.inner +
      R"("bytes"], "index_codecs": ["bytes"]}}]})";
  return shard;
}

ChunkCodecPtr CodecOf(const std::string& array_codecs, const DataType& type, std::size_t rank) {
  const JsonValue json = ParseJson("[" + array_codecs + "\"bytes\"]").value();
  return BindZarr3Chain(JsonCursor(json, "codecs"), type, rank).value();
}

Voxels FillOf(const DrawnShard& shard) {
  return Voxels::Filled(shard.type, shard.shape, shard.fill).value();
}

// The last inner chunk: what `from` has from half of each extent on.
Voxels LastHalves(const Voxels& from) {
  Shape half;
  AxisMap axes;
  for (const std::uint64_t extent : from.shape()) {
    half.push_back(extent / 2);
    axes.emplace_back(axes.size());
  }
  Voxels to = Voxels::Filled(from.type(), half, ByteVector(from.type().size)).value();
  CopyBox(from, axes, {half, Shape(half.size(), 0), half}, to);
  return to;
}

// Whether the array is taken: its inner chunks are then those of the shard, encoded as a whole.
bool InnerChunksAreThoseOfTheShard(const DrawnShard& shard, Choices& choices) {
  const auto array = ParseZarr3Array(shard.document);
  const auto node = ParseZarrMetadata(shard.document);
  if (!array) {
    EXPECT_EQ(array.error().message.substr(0, 6), "codecs") << array.error().message;
    return false;
  }
  EXPECT_TRUE(node) << node.error().message;
  const ChunkCodecPtr outer = CodecOf(shard.outer, shard.type, shard.shape.size());
  // The fill value of a shard whose inner chunks are absent.
  const Voxels fill = FillOf(shard);
  const auto stored_fill = outer->Encode(fill);
  if (stored_fill) {
    EXPECT_EQ(outer->Decode(*stored_fill, shard.shape), fill);
  }
  const Voxels voxels = DrawVoxels(choices, shard.type, shard.shape, false);
  const auto items = outer->Encode(voxels);
  if (!items) return false;
  const auto stored = Voxels::Make(shard.stored, Transposed(shard.shape, shard.axes), *items);
  if (!stored) return false;
  const ChunkCodecPtr inner = CodecOf(shard.inner, shard.stored, shard.shape.size());
  const auto chunk = inner->Encode(LastHalves(*stored));
  if (!chunk) return false;
  const auto encoded = array->codec->Encode(LastHalves(voxels));
  if (!encoded) return false;
  EXPECT_EQ(*encoded, *chunk);
  const auto decoded = array->codec->Decode(*chunk, array->chunk_shape);
  EXPECT_TRUE(decoded) << decoded.error().message;
  if (decoded && !inner->is_lossy()) {
    EXPECT_EQ(*decoded, LastHalves(outer->Decode(*items, shard.shape).value()));
  }
  return true;
}

TEST(CodecChains, InnerChunksOfRandomShardsAreThoseOfTheShard) {
  const std::uint32_t shards = InFullRun(6000U, 1000U);
  std::uint32_t taken = 0;
  for (std::uint32_t seed = 0; seed < shards && !HasFailure(); ++seed) {
    const ByteVector bytes = RandomChoices(seed);
    Choices choices(bytes);
    const DrawnShard shard = DrawShard(choices);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + shard.document);
    taken += InnerChunksAreThoseOfTheShard(shard, choices) ? 1U : 0U;
  }
  EXPECT_GT(taken, shards / 15);
}

// Why an array with this codec before sharding_indexed is refused, as far as its name and "may
// change the fill value"; "": it is not.
std::string RefusalOf(const std::string& data_type, const std::string& fill_value,
                      const std::string& codec) {
  const auto node = ParseZarrMetadata(
      R"({"zarr_format": 3, "node_type": "array", "attributes": {}, "shape": [4], "data_type": ")" +
      data_type + R"(", "fill_value": )" + fill_value +
      R"(, "chunk_key_encoding": "default", "chunk_grid": {"name": "regular", "configuration": {
         "chunk_shape": [4]}}, "codecs": [)" +
      codec + R"(, {"name": "sharding_indexed", "configuration": {"chunk_shape": [2],
         "codecs": ["bytes"], "index_codecs": ["bytes"]}}]})");
  return node ? "" : node.error().message.substr(0, node.error().message.find(" of absent"));
}

TEST(CodecChains, AFillValueThatCodecsBeforeShardingChangeIsRefused) {
  const std::string cast =
      R"({"name": "numcodecs.astype", "configuration": {"decode_dtype": "<f8", "encode_dtype": "|i1"}})";
  const std::string changes = "codecs[0]: \"numcodecs.astype\" may change the fill value";
  EXPECT_EQ(RefusalOf("float64", "1.5", cast), changes);
  EXPECT_EQ(RefusalOf("float64", "1000", cast), changes);
  EXPECT_EQ(RefusalOf("float64", "-0.0", cast), changes);
  EXPECT_EQ(RefusalOf("float64", "7", cast), "");
  EXPECT_EQ(RefusalOf("float64", "0", cast), "");
  const std::string round = R"({"name": "bitround", "configuration": {"keepbits": 2}})";
  EXPECT_EQ(RefusalOf("float32", "1.5", round), "");
  EXPECT_EQ(RefusalOf("float32", "1.1", round),
            "codecs[0]: \"bitround\" may change the fill value");
  EXPECT_EQ(RefusalOf("int32", "0", round), "");
}

TEST(CodecChains, AFillValueThatIsStoredAsAnotherNumberIsRefused) {
  const std::string changes = "codecs[0]: \"numcodecs.fixedscaleoffset\" may change the fill value";
  const auto refusal = [](const std::string& fill_value, int offset) {
    return RefusalOf("int32", fill_value,
                     R"({"name": "numcodecs.fixedscaleoffset", "configuration": {"scale": 2,
                        "dtype": "<i4", "astype": "<i4", "offset": )" +
                         std::to_string(offset) + "}}");
  };
  EXPECT_EQ(refusal("0", 0), "");
  EXPECT_EQ(refusal("0", -1), changes);
  EXPECT_EQ(refusal("4", 2), "");
  EXPECT_EQ(refusal("4", 0), changes);
}

}  // namespace
}  // namespace unshard
