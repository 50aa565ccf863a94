#include "codec/schema/zarr3_codec_resolution.h"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/chain/transpose.h"
#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

tl::unexpected<Error> ResolutionContradiction(const std::string& what) {
  return Fail(ErrorCode::kInvalidArgument, "codec.codecs: ", what);
}

std::vector<std::int64_t> ShapeOf(const JsonValue& array) {
  std::vector<std::int64_t> shape;
  for (const JsonValue& item : array.items()) shape.push_back(std::stoll(item.text()));
  return shape;
}

Zarr3Codec Transpose(const std::vector<std::size_t>& order) {
  Zarr3Codec codec{"transpose", JsonValue::Object(), {}, {}};
  codec.options.Set("order", IntegerArray({order.begin(), order.end()}));
  return codec;
}

Zarr3Codec BytesCodecOf(const JsonValue* endian, std::uint64_t item_size) {
  Zarr3Codec codec{"bytes", JsonValue::Object(), {}, {}};
  if (item_size > 1) {
    codec.options.Set("endian", endian != nullptr ? *endian : JsonValue::String("little"));
  }
  return codec;
}

// Adds a transpose to what has been resolved, and moves to its side of the encoding.
Status Apply(const Zarr3Codec& transpose, Zarr3ChunkParameters& chunk, Zarr3CodecChain& resolved) {
  const std::size_t rank = chunk.chunk_shape.size();
  const std::vector<std::size_t> order = TransposeOrder(transpose, rank);
  if (order.size() != rank) {
    return ResolutionContradiction("a transpose of " + std::to_string(order.size()) +
                                   " dimensions for chunks of " + std::to_string(rank));
  }
  chunk.chunk_shape = Transposed(chunk.chunk_shape, order);
  chunk.read_chunk_shape = Transposed(chunk.read_chunk_shape, order);
  if (chunk.inner_order) chunk.inner_order = Transposed(InverseOrder(order), *chunk.inner_order);
  resolved.array_to_array.push_back(Transpose(order));
  return {};
}

constexpr std::uint64_t kUnknownItemSize = 0;

Zarr3Codec ResolveBlosc(const Zarr3Codec& codec, std::uint64_t item_size) {
  const JsonValue* const cname = codec.options.Find("cname");
  const JsonValue* const typesize = codec.options.Find("typesize");
  std::string shuffle = TextOf(codec.options, "shuffle");
  std::uint64_t size = typesize != nullptr ? std::stoull(typesize->text()) : item_size;
  if (size == kUnknownItemSize && shuffle.empty()) shuffle = "noshuffle";
  if (shuffle.empty()) shuffle = size == 1 ? "bitshuffle" : "shuffle";
  Zarr3Codec resolved{"blosc", JsonValue::Object(), {}, {}};
  resolved.options.Set("cname", cname != nullptr ? *cname : JsonValue::String("lz4"));
  const JsonValue* const level = codec.options.Find("clevel");
  resolved.options.Set("clevel", level != nullptr ? *level : IntegerNumber(5));
  resolved.options.Set("shuffle", JsonValue::String(shuffle));
  if (shuffle != "noshuffle") resolved.options.Set("typesize", JsonValue::Number(size));
  const JsonValue* const block = codec.options.Find("blocksize");
  resolved.options.Set("blocksize", block != nullptr ? *block : IntegerNumber(0));
  return resolved;
}

Result<Zarr3Codec> ResolveBytesToBytes(const Zarr3Codec& codec, std::uint64_t item_size) {
  if (codec.name == "blosc") {
    if (item_size == kUnknownItemSize && codec.options.Find("typesize") == nullptr &&
        codec.options.Find("shuffle") != nullptr &&
        TextOf(codec.options, "shuffle") != "noshuffle") {
      return ResolutionContradiction("blosc after another compressor needs a typesize");
    }
    return ResolveBlosc(codec, item_size);
  }
  Zarr3Codec resolved = codec;
  SetDefaultOptions(resolved);
  return resolved;
}

Zarr3CodecChain DefaultIndexCodecs() {
  Zarr3CodecChain chain;
  chain.array_to_bytes.push_back(Zarr3Codec{"bytes", JsonValue::Object(), {}, {}});
  chain.bytes_to_bytes.push_back(Zarr3Codec{"crc32c", JsonValue::Object(), {}, {}});
  return chain;
}

constexpr std::int64_t kMaxShardEntries = std::int64_t{1} << 30;

// The index has a number of entries for each dimension, and two numbers an entry.
Result<Zarr3CodecChain> ResolveIndexCodecs(const Zarr3Codec& sharding,
                                           std::vector<std::int64_t> entries) {
  constexpr std::uint64_t kIndexItemSize = 8;
  const Zarr3CodecChain chain =
      sharding.index_codecs.empty() ? DefaultIndexCodecs() : sharding.index_codecs.front();
  if (chain.sharding_height() > 0)
    return ResolutionContradiction("index_codecs cannot contain sharding_indexed");
  const auto changes_size = [](const Zarr3Codec& codec) { return codec.name != "crc32c"; };
  if (std::any_of(chain.bytes_to_bytes.begin(), chain.bytes_to_bytes.end(), changes_size)) {
    return ResolutionContradiction("index_codecs must have a fixed size: crc32c and no compressor");
  }
  entries.push_back(2);
  return ResolveZarr3Codecs(chain, {kIndexItemSize, entries, entries, std::nullopt});
}

Result<Zarr3Codec> ResolveSharding(const Zarr3Codec& codec, const Zarr3ChunkParameters& chunk) {
  const JsonValue* const given = codec.options.Find("chunk_shape");
  const std::vector<std::int64_t> inner =
      given != nullptr ? ShapeOf(*given) : chunk.read_chunk_shape;
  if (inner.size() != chunk.chunk_shape.size()) {
    return ResolutionContradiction("sharding_indexed with a chunk_shape of " +
                                   std::to_string(inner.size()) + " dimensions for chunks of " +
                                   std::to_string(chunk.chunk_shape.size()));
  }
  std::vector<std::int64_t> entries;
  std::int64_t total = 1;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (chunk.chunk_shape[i] % inner[i] != 0) {
      return ResolutionContradiction("sharding_indexed: inner chunks of " +
                                     std::to_string(inner[i]) + " do not divide the extent " +
                                     std::to_string(chunk.chunk_shape[i]) + " of dimension " +
                                     std::to_string(i));
    }
    entries.push_back(chunk.chunk_shape[i] / inner[i]);
    if (entries.back() > kMaxShardEntries / total) {
      return ResolutionContradiction(
          "a shard with more than 2^30 inner chunks: choose smaller shards");
    }
    total *= entries.back();
  }
  Zarr3Codec resolved{codec.name, JsonValue::Object(), {}, {}};
  resolved.options.Set("chunk_shape", IntegerArray(inner));
  const JsonValue* const location = codec.options.Find("index_location");
  resolved.options.Set("index_location",
                       location != nullptr ? *location : JsonValue::String("end"));
  Zarr3ChunkParameters inner_chunk = chunk;
  inner_chunk.chunk_shape = inner;
  UNSHARD_ASSIGN_OR_RETURN(
      Zarr3CodecChain chain,
      ResolveZarr3Codecs(codec.codecs.empty() ? Zarr3CodecChain() : codec.codecs.front(),
                         inner_chunk));
  resolved.codecs.push_back(std::move(chain));
  UNSHARD_ASSIGN_OR_RETURN(Zarr3CodecChain index, ResolveIndexCodecs(codec, std::move(entries)));
  resolved.index_codecs.push_back(std::move(index));
  return resolved;
}

}  // namespace

Result<Zarr3CodecChain> ResolveZarr3Codecs(const Zarr3CodecChain& chain,
                                           const Zarr3ChunkParameters& parameters) {
  Zarr3ChunkParameters chunk = parameters;
  Zarr3CodecChain resolved;
  for (const Zarr3Codec& transpose : chain.array_to_array) {
    UNSHARD_RETURN_IF_ERROR(Apply(transpose, chunk, resolved));
  }
  const bool sharding = chain.sharding_height() > 0;
  if (!sharding && chunk.inner_order && !IsIdentity(*chunk.inner_order)) {
    const Zarr3Codec transpose = Transpose(*chunk.inner_order);
    UNSHARD_RETURN_IF_ERROR(Apply(transpose, chunk, resolved));
  }
  std::uint64_t item_size = chunk.item_size;
  if (sharding) {
    if (!chain.bytes_to_bytes.empty()) {
      return ResolutionContradiction(chain.bytes_to_bytes.front().name +
                                     " after sharding_indexed would encode whole shards: put it "
                                     "into the codecs of sharding_indexed");
    }
    UNSHARD_ASSIGN_OR_RETURN(Zarr3Codec codec,
                             ResolveSharding(chain.array_to_bytes.front(), chunk));
    resolved.array_to_bytes.push_back(std::move(codec));
  } else {
    const JsonValue* const endian = chain.array_to_bytes.empty()
                                        ? nullptr
                                        : chain.array_to_bytes.front().options.Find("endian");
    resolved.array_to_bytes.push_back(BytesCodecOf(endian, item_size));
  }
  for (const Zarr3Codec& codec : chain.bytes_to_bytes) {
    UNSHARD_ASSIGN_OR_RETURN(Zarr3Codec one, ResolveBytesToBytes(codec, item_size));
    resolved.bytes_to_bytes.push_back(std::move(one));
    item_size = kUnknownItemSize;
  }
  return resolved;
}

Zarr3ChunkLayout LayoutOfZarr3Codecs(const Zarr3CodecChain& chain,
                                     const std::vector<std::int64_t>& chunk_shape) {
  std::vector<std::int64_t> shape = chunk_shape;
  std::vector<std::vector<std::size_t>> orders;
  for (const Zarr3Codec& transpose : chain.array_to_array) {
    orders.push_back(TransposeOrder(transpose, shape.size()));
    shape = Transposed(shape, orders.back());
  }
  Zarr3ChunkLayout layout;
  if (chain.sharding_height() > 0) {
    const Zarr3Codec& sharding = chain.array_to_bytes.front();
    layout = LayoutOfZarr3Codecs(sharding.codecs.front(),
                                 ShapeOf(*sharding.options.Find("chunk_shape")));
  } else {
    layout.inner_order = IdentityOrder(shape.size());
    layout.read_chunk_shape = shape;
  }
  for (auto order = orders.rbegin(); order != orders.rend(); ++order) {
    layout.inner_order = Transposed(*order, layout.inner_order);
    layout.read_chunk_shape = Transposed(layout.read_chunk_shape, InverseOrder(*order));
  }
  return layout;
}

}  // namespace unshard
