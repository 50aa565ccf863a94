#include "tests/support/random_chains.h"

#include <algorithm>
#include <array>
#include <bit>
#include <random>
#include <utility>

#include "codec/chain/codec_chain.h"
#include "codec/chain/codec_spec.h"
#include "codec/core/byte_range.h"
#include "codec/json/parser.h"
#include "codec/zarr2/array.h"
#include "tests/support/codecs.h"

namespace unshard {
namespace {

using ItemKind = DataType::Kind;

std::string Numpy(const DataType& type, bool big_endian = false) {
  return NumpyTypeName({type, big_endian});
}

DrawnCodec Transpose(std::size_t rank, bool reversed, const DataType& type) {
  std::string order;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i > 0) order += ", ";
    order += std::to_string(reversed ? rank - 1 - i : (i + 1) % rank);
  }
  return {R"({"name": "transpose", "configuration": {"order": [)" + order + "]}}", type};
}

DrawnCodec Typed(const std::string& name, const std::string& members, const DataType& after) {
  return {R"({"name": "numcodecs.)" + name + R"(", "configuration": {)" + members + "}}", after};
}

std::string Types(const char* plain_key, const DataType& plain, const char* stored_key,
                  const DataType& stored) {
  return std::string("\"") + plain_key + R"(": ")" + Numpy(plain) + R"(", ")" + stored_key +
         R"(": ")" + Numpy(stored) + "\"";
}

DrawnCodec Delta(const DataType& plain, const DataType& stored) {
  return Typed("delta", Types("dtype", plain, "astype", stored), stored);
}

DrawnCodec AsType(const DataType& plain, const DataType& stored) {
  return Typed("astype", Types("decode_dtype", plain, "encode_dtype", stored), stored);
}

DrawnCodec Scaled(const DataType& plain, const DataType& stored, const char* numbers) {
  return Typed("fixedscaleoffset", Types("dtype", plain, "astype", stored) + ", " + numbers,
               stored);
}

DrawnCodec Cast(const DataType& stored, const std::string& more, const DataType& plain) {
  const bool is_real = plain.kind == ItemKind::kSigned || plain.kind == ItemKind::kUnsigned ||
                       plain.kind == ItemKind::kFloat || plain.kind == ItemKind::kBrainFloat;
  return {R"({"name": "cast_value", "configuration": {"data_type": ")" + DataTypeName(stored) +
              "\"" + more + "}}",
          is_real ? stored : plain};
}

constexpr std::array kBytesCodecs = {
    R"({"name": "gzip", "configuration": {"level": 1}})",
    R"({"name": "zstd", "configuration": {"level": 1, "checksum": true}})",
    R"({"name": "crc32c"})",
    R"({"name": "blosc", "configuration": {"cname": "lz4", "clevel": 1, "shuffle": "noshuffle"}})",
    R"({"name": "numcodecs.fletcher32"})",
    R"({"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}})",
    R"({"name": "numcodecs.lz4", "configuration": {}})",
    R"({"name": "numcodecs.jenkins_lookup3", "configuration": {"initval": 3}})",
    R"({"name": "numcodecs.adler32"})"};
constexpr std::array kCompressors = {
    R"({"id": "zlib", "level": 1})", R"({"id": "blosc", "cname": "lz4", "clevel": 1})",
    R"({"id": "shuffle", "elementsize": 2})", R"({"id": "crc32"})", R"({"id": "bz2", "level": 1})"};

template <std::size_t count>
std::string Chosen(Choices& choices, const std::array<const char*, count>& from) {
  return from[choices.Below(count)];
}

// The members of a codec of Zarr v3 as Zarr v2 has them.
std::string InZarr2(const std::string& codec) {
  const JsonValue json = ParseJson(codec).value();
  std::string members = R"({"id": ")" + json.Find("name")->text().substr(10) + "\"";
  const std::size_t begin = codec.find("\"configuration\": {") + 18;
  const std::string rest = codec.substr(begin, codec.size() - begin - 2);
  return members + (rest.empty() ? "" : ", ") + rest + "}";
}

DrawnChain DrawZarr2(Choices& choices, DrawnChain chain) {
  DataType items = chain.type;
  std::string filters;
  for (std::size_t count = choices.Below(4); count > 0; --count) {
    if (!filters.empty()) filters += ", ";
    if (choices.Below(4) == 0) {
      filters += Chosen(choices, kCompressors);
      continue;
    }
    const DrawnCodec codec = ArrayCodec(2 + choices.Below(kFiltersEnd - 2), items, 0);
    if (choices.Below(8) != 0) items = codec.after;
    filters += InZarr2(codec.json);
  }
  const std::string compressor = choices.Below(2) == 0 ? "null" : Chosen(choices, kCompressors);
  chain.is_zarr2 = true;
  chain.json = R"({"dtype": ")" + Numpy(chain.type, choices.Below(4) == 0) + R"(", "order": ")" +
               (choices.Below(2) == 0 ? "C" : "F") + R"(", "filters": [)" + filters +
               R"(], "compressor": )" + compressor + "}";
  return chain;
}

Result<ChunkCodecPtr> CodecOf(const DrawnChain& chain, const JsonValue& json) {
  if (chain.is_zarr2) return MakeZarr2ChunkCodec(JsonCursor(json, ""), chain.shape.size());
  return BindZarr3Chain(JsonCursor(json, "codecs"), chain.type, chain.shape.size());
}

bool NamesAPath(const DrawnChain& chain, const std::string& message) {
  if (!chain.is_zarr2) return message.starts_with("codecs");
  return message.starts_with("filters[") || message.starts_with("compressor") ||
         message.starts_with("dtype");
}

// Whether a chunk may be stored, also where only the end of its chain is known.
Status CheckStored(const DrawnChain& chain, const JsonValue& json, const CodecChain& codec,
                   ByteSpan encoded) {
  UNSHARD_RETURN_IF_ERROR(codec.Check(encoded, encoded.size(), chain.shape));
  if (chain.is_zarr2) return {};
  UNSHARD_ASSIGN_OR_RETURN(const ChainSpec codecs,
                           ParseChainSpec(JsonCursor(json, "codecs"), chain.shape.size()));
  const ChunkCodecPtr end = CodecChain::BindToCheck(codecs, std::nullopt);
  return end->Check(encoded, encoded.size(), chain.shape);
}

bool IsAlike(const Voxels& a, const Voxels& b) {
  return a.type() == b.type() && a.shape() == b.shape();
}

std::string WithDamage(const CodecChain& codec, const Voxels& voxels, const ByteVector& encoded) {
  for (int damage = 0; damage < 3 && !encoded.empty(); ++damage) {
    ByteVector damaged = encoded;
    if (damage == 0) damaged.pop_back();
    if (damage == 1) damaged.push_back(0);
    if (damage == 2) damaged[damaged.size() / 2] ^= 0x11;
    const auto decoded = codec.Decode(damaged, voxels.shape());
    if (decoded && !IsAlike(*decoded, voxels)) return "damaged bytes decode to other voxels";
  }
  return "";
}

std::string Judge(const DrawnChain& chain, const JsonValue& json, const Voxels& voxels) {
  const auto made = CodecOf(chain, json);
  if (!made) {
    const Error& error = made.error();
    const bool refused =
        error.code == ErrorCode::kNotSupported || error.code == ErrorCode::kDataLoss;
    if (refused && NamesAPath(chain, error.message)) return "";
    return "a chain is refused at its path: " + error.message;
  }
  const CodecChain& codec = **made;
  if (!codec.CanDecode()) return "";  // not in this build
  const auto encoded = codec.Encode(voxels);
  if (!encoded) {
    const ErrorCode code = encoded.error().code;
    if (code == ErrorCode::kInvalidArgument) return "";
    if (code == ErrorCode::kNotSupported && !codec.CanEncode()) return "";
    return "voxels are encoded or refused: " + encoded.error().message;
  }
  const auto size = codec.EncodedSize(voxels.shape());
  if (size && *size != encoded->size()) return "chunks have the announced size";
  const auto decoded = codec.Decode(*encoded, voxels.shape());
  if (!decoded) return "what is encoded is decoded: " + decoded.error().message;
  if (!IsAlike(*decoded, voxels)) return "a chunk has its voxels";
  if (!codec.is_lossy() && *decoded != voxels) return "voxels are kept";
  const Status stored = CheckStored(chain, json, codec, *encoded);
  if (!stored && !encoded->empty())
    return "what is encoded may be stored: " + stored.error().message;
  return WithDamage(codec, voxels, *encoded);
}

void MakeNumber(const DataType& type, std::uint64_t value, std::uint8_t* at) {
  if (type.kind == ItemKind::kBool) value &= 1;
  const bool is_double = type.kind == ItemKind::kFloat && type.size == 8;
  const bool is_single = type.kind == ItemKind::kFloat && type.size == 4;
  if (is_double) {
    StoreU64Le(at, std::bit_cast<std::uint64_t>(static_cast<double>(value)));
  } else if (is_single) {
    StoreU32Le(at, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  } else {
    *at = static_cast<std::uint8_t>(value);
  }
}

// A conversion makes signalling NaNs quiet.
void MakeQuiet(const DataType& type, std::uint8_t* at) {
  if (type.kind == ItemKind::kFloat && type.size == 4) at[2] |= 0x40;
  if (type.kind == ItemKind::kFloat && type.size == 8) at[6] |= 0x08;
}

}  // namespace

std::size_t Choices::Below(std::size_t count) {
  if (bytes_.empty()) return 0;
  const std::size_t chosen = bytes_.front() % count;
  bytes_ = bytes_.subspan(1);
  return chosen;
}

ByteVector RandomChoices(std::uint32_t seed) {
  std::mt19937 random(seed);
  ByteVector bytes(256);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() >> 8);
  return bytes;
}

const std::vector<DataType>& ChainTypes() {
  static const std::vector<DataType> types = {
      {ItemKind::kBool, 1},       {ItemKind::kSigned, 1},   {ItemKind::kUnsigned, 1},
      {ItemKind::kSigned, 2},     {ItemKind::kUnsigned, 2}, {ItemKind::kSigned, 4},
      {ItemKind::kUnsigned, 4},   {ItemKind::kSigned, 8},   {ItemKind::kUnsigned, 8},
      {ItemKind::kFloat, 2},      {ItemKind::kFloat, 4},    {ItemKind::kFloat, 8},
      {ItemKind::kBrainFloat, 2}, {ItemKind::kComplex, 8},  {ItemKind::kRaw, 3}};
  return types;
}

const std::vector<Shape>& ChainShapes() {
  static const std::vector<Shape> shapes = {{}, {7}, {3, 5}, {2, 1, 3}, {4, 0, 2}};
  return shapes;
}

DrawnCodec ArrayCodec(std::size_t number, const DataType& type, std::size_t rank) {
  switch (number) {
    case 0:
      return Transpose(rank, true, type);
    case 1:
      return Transpose(rank, false, type);
    case 2:
      return Delta(type, type);
    case 3:
      return Delta(type, {ItemKind::kSigned, 8});
    case 4:
      return Delta(type, kUint8);
    case 5:
      return AsType(type, {ItemKind::kSigned, 1});
    case 6:
      return AsType(type, {ItemKind::kSigned, 4});
    case 7:
      return AsType(type, {ItemKind::kFloat, 4});
    case 8:
      return AsType(type, {ItemKind::kFloat, 8});
    case 9:
      return Scaled(type, kUint8, R"("scale": 2, "offset": -1)");
    case 10:
      return Scaled(type, type, R"("scale": 4, "offset": 0)");
    case 11:
      return Scaled(type, {ItemKind::kFloat, 4}, R"("scale": 0.5, "offset": 3)");
    case 12:
      return Typed("quantize", R"("digits": 1, "dtype": ")" + Numpy(type) + "\"", type);
    case 13:
      return Typed("bitround", R"("keepbits": 3)", type);
    case 14:
      return Typed("packbits", "", kUint8);
    case 15:
      return Cast(kUint8, R"(, "out_of_range": "wrap", "rounding": "towards-zero")", type);
    case 16:
      return Cast({ItemKind::kFloat, 2}, R"(, "out_of_range": "clamp")", type);
    case 17:
      return Cast({ItemKind::kSigned, 8},
                  R"(, "scalar_map": {"encode": [[3, -7], [1, 2]], "decode": [[-7, 3]]})", type);
    case 18:
      return {R"({"name": "scale_offset"})", type};
    case 19:
      return {R"({"name": "scale_offset", "configuration": {"scale": 3, "offset": 1}})", type};
    case 20:
      return {R"({"name": "reshape", "configuration": {"shape": [-1]}})", type};
    default:
      return {R"({"name": "reshape", "configuration": {"shape": [)" +
                  std::string(rank > 1 ? "[0, 1], -1" : "1, -1") + "]}}",
              type};
  }
}

DrawnChain DrawChain(Choices& choices) {
  DrawnChain chain;
  chain.type = ChainTypes()[choices.Below(ChainTypes().size())];
  chain.shape = ChainShapes()[choices.Below(ChainShapes().size())];
  if (choices.Below(4) == 0) return DrawZarr2(choices, std::move(chain));
  DataType items = chain.type;
  chain.json = "[";
  for (std::size_t count = choices.Below(5); count > 0; --count) {
    const DrawnCodec codec = ArrayCodec(choices.Below(kArrayCodecs), items, chain.shape.size());
    if (choices.Below(8) != 0) items = codec.after;
    chain.json += codec.json + ", ";
  }
  const char* const endian = choices.Below(2) == 0 ? "little" : "big";
  chain.json += choices.Below(8) == 0 ? std::string(R"({"name": "packbits"})")
                                      : std::string(R"({"name": "bytes", "configuration": {)") +
                                            R"("endian": ")" + endian + "\"}}";
  for (std::size_t count = choices.Below(4); count > 0; --count) {
    chain.json += ", " + Chosen(choices, kBytesCodecs);
  }
  chain.json += "]";
  return chain;
}

Voxels DrawVoxels(Choices& choices, const DataType& type, const Shape& shape, bool wild) {
  ByteVector bytes(VoxelBytes(type, shape).value());
  for (std::size_t at = 0; at < bytes.size(); at += type.size) {
    MakeNumber(type, choices.Below(5), &bytes[at]);
    if (!wild || type.kind == ItemKind::kBool || choices.Below(3) == 0) continue;
    for (std::size_t i = 0; i < type.size; ++i) {
      bytes[at + i] = static_cast<std::uint8_t>(choices.Below(256));
    }
    MakeQuiet(type, &bytes[at]);
  }
  return Voxels::Make(type, shape, std::move(bytes)).value();
}

std::string BrokenPromise(const DrawnChain& chain, const Voxels& voxels) {
  const JsonValue json = ParseJson(chain.json).value();
  const std::string broken = Judge(chain, json, voxels);
  if (broken.empty()) return "";
  return broken + "\n" + DataTypeName(chain.type) + " of rank " +
         std::to_string(chain.shape.size()) + ": " + chain.json;
}

}  // namespace unshard
