// Arbitrary bytes as chunks of arrays in all formats: never more voxels than the chunk has, and
// what was decoded is encoded and decoded again. The first byte chooses the codec.
#include <array>
#include <vector>

#include "codec/chain/codec_chain.h"
#include "codec/codecs/n5_block.h"
#include "codec/json/parser.h"
#include "codec/zarr2/array.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/codecs.h"

namespace unshard {
namespace {

constexpr DataType kType{DataType::Kind::kUnsigned, 2};
const std::vector<std::uint64_t> kShape{3, 4};

constexpr std::array kN5 = {R"({"type": "raw"})",  R"({"type": "gzip"})", R"({"type": "bzip2"})",
                            R"({"type": "lz4"})",  R"({"type": "xz"})",   R"({"type": "zstd"})",
                            R"({"type": "blosc"})"};
constexpr std::array kZarr3 = {
    R"([{"name": "transpose", "configuration": {"order": [1, 0]}}, "bytes", "zstd", "crc32c"])",
    R"([{"name": "numcodecs.delta", "configuration": {"dtype": "<u2", "astype": "<i4"}}, "bytes"])",
    R"([{"name": "packbits", "configuration": {"last_bit": 10, "padding_encoding": "last_byte"}},
        "numcodecs.fletcher32"])",
    R"([{"name": "n5_default", "configuration": {"codecs": [
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "bytes", "configuration": {"endian": "big"}}]}}])",
    R"(["bytes", {"name": "numcodecs.shuffle", "configuration": {"elementsize": 2}},
        "numcodecs.lz4", "numcodecs.adler32"])"};
constexpr std::array kZarr2 = {
    R"({"dtype": ">u2", "order": "F", "compressor": {"id": "lzma"},
        "filters": [{"id": "delta", "dtype": ">u2", "astype": "|u1"}]})",
    R"({"dtype": "<u2", "filters": [{"id": "fixedscaleoffset", "scale": 3, "offset": 5,
        "dtype": "<u2", "astype": "<f4"}]})",
    R"({"dtype": "<u2", "filters": [{"id": "astype", "encode_dtype": ">f8",
        "decode_dtype": "<u2"}]})"};

template <std::size_t count>
JsonValue Chosen(const std::array<const char*, count>& documents, std::size_t number) {
  return ParseJson(documents[number]).value();
}

ChunkCodecPtr CodecOf(std::uint8_t choice) {
  const std::size_t number = choice % (kN5.size() + kZarr3.size() + kZarr2.size());
  if (number < kN5.size()) {
    const JsonValue json = Chosen(kN5, number);
    return BindN5Chain(JsonCursor(json, ""), kType, kShape).value();
  }
  if (number < kN5.size() + kZarr3.size()) {
    const JsonValue json = Chosen(kZarr3, number - kN5.size());
    return BindZarr3Chain(JsonCursor(json, ""), kType, kShape.size()).value();
  }
  const JsonValue json = Chosen(kZarr2, number - kN5.size() - kZarr3.size());
  return MakeZarr2ChunkCodec(JsonCursor(json, ""), kShape.size()).value();
}

}  // namespace

void FuzzArrayChunk(ByteSpan input) {
  if (input.empty()) return;
  const ChunkCodecPtr codec = CodecOf(input[0]);
  const auto voxels = codec->Decode(input.subspan(1), kShape);
  if (!voxels) {
    Require(!voxels.error().message.empty(), "refusals say why");
    return;
  }
  Require(voxels->shape() == kShape, "a chunk has its voxels");
  const auto encoded = codec->Encode(*voxels);
  Require(encoded.has_value(), "voxels are encoded");
  const auto again = codec->Decode(*encoded, kShape);
  Require(again.has_value(), "what is encoded is decoded");
  Require(codec->is_lossy() || *again == *voxels, "voxels are kept");
}

}  // namespace unshard
