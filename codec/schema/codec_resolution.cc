#include "codec/schema/codec_resolution.h"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/chain/codec_spelling.h"
#include "codec/chain/transpose.h"
#include "codec/chain/unshard.h"
#include "codec/codecs/codecs.h"
#include "codec/json/number.h"

namespace unshard {
namespace {

// The option of a codec; null: it is absent.
const JsonValue* OptionOf(const CodecSpec& codec, std::string_view key) {
  const JsonValue* const options = codec.configuration();
  return options != nullptr ? options->Find(key) : nullptr;
}

std::vector<std::size_t> OrderOf(const CodecSpec& transpose, std::size_t rank) {
  return OrderOf(*OptionOf(transpose, "order"), rank);
}

// The chunk_shape of a sharding_indexed; nothing where it is absent.
std::optional<std::vector<std::int64_t>> InnerShapeOf(const CodecSpec& sharding) {
  const JsonValue* const extents = OptionOf(sharding, "chunk_shape");
  if (extents == nullptr) return std::nullopt;
  std::vector<std::int64_t> shape;
  for (const JsonValue& item : extents->items()) shape.push_back(std::stoll(item.text()));
  return shape;
}

// Adds a transpose to what has been resolved, and moves to its side of the encoding.
Status Apply(const std::vector<std::size_t>& order, ChunkParameters& chunk, ChainSpec& resolved) {
  const std::size_t rank = chunk.chunk_shape.size();
  if (order.size() != rank) {
    return CodecsFail("a transpose of ", order.size(), " dimensions for chunks of ", rank);
  }
  chunk.chunk_shape = Transposed(chunk.chunk_shape, order);
  chunk.read_chunk_shape = Transposed(chunk.read_chunk_shape, order);
  if (chunk.inner_order) chunk.inner_order = Transposed(InverseOrder(order), *chunk.inner_order);
  resolved.push_back(CodecIn(Dialect::kZarr3, TransposeCodec(),
                             JsonValue::Object({{"order", ExtentsJson(order)}})));
  return {};
}

// The index has a number of entries for each dimension, and two numbers an entry.
Result<ChainSpec> ResolveIndexCodecs(const CodecSpec& sharding, std::vector<std::int64_t> entries) {
  constexpr std::uint32_t kIndexItemSize = 8;
  const ChainSpec* const given = sharding.FindChain(kIndexCodecs);
  const ChainSpec codecs = given != nullptr ? *given : NewIndexCodecs();
  if (FindSharding(codecs)) return CodecsFail("index_codecs cannot contain sharding_indexed");
  const ChainSpec of_bytes = OfKind(codecs, CodecKind::kBytesToBytes);
  if (std::any_of(of_bytes.begin(), of_bytes.end(),
                  [](const CodecSpec& codec) { return codec.definition != &Crc32cCodec(); })) {
    return CodecsFail("index_codecs must have a fixed size: crc32c and no compressor");
  }
  entries.push_back(2);
  return ResolveCodecs(codecs, {kIndexItemSize, entries, entries, std::nullopt});
}

// The number of inner chunks of a shard along each dimension.
Result<std::vector<std::int64_t>> EntriesOf(const std::vector<std::int64_t>& shard,
                                            const std::vector<std::int64_t>& inner) {
  constexpr std::int64_t kMaxShardEntries = std::int64_t{1} << 30;
  if (inner.size() != shard.size()) {
    return CodecsFail("sharding_indexed with a chunk_shape of ", inner.size(),
                      " dimensions for chunks of ", shard.size());
  }
  std::vector<std::int64_t> entries;
  std::int64_t total = 1;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (shard[i] % inner[i] != 0) {
      return CodecsFail("sharding_indexed: inner chunks of ", inner[i],
                        " do not divide the extent ", shard[i], " of dimension ", i);
    }
    entries.push_back(shard[i] / inner[i]);
    if (entries.back() > kMaxShardEntries / total) {
      return CodecsFail("a shard with more than 2^30 inner chunks: choose smaller shards");
    }
    total *= entries.back();
  }
  return entries;
}

Result<CodecSpec> ResolveSharding(const CodecSpec& sharding, ChunkParameters chunk) {
  const auto inner = InnerShapeOf(sharding).value_or(chunk.read_chunk_shape);
  UNSHARD_ASSIGN_OR_RETURN(auto entries, EntriesOf(chunk.chunk_shape, inner));
  chunk.chunk_shape = inner;
  const ChainSpec* const given = sharding.FindChain(kInnerCodecs);
  UNSHARD_ASSIGN_OR_RETURN(ChainSpec codecs,
                           ResolveCodecs(given != nullptr ? *given : ChainSpec(), chunk));
  UNSHARD_ASSIGN_OR_RETURN(ChainSpec index, ResolveIndexCodecs(sharding, std::move(entries)));
  JsonValue options = JsonValue::Object({{"chunk_shape", ExtentsJson(inner)}});
  const JsonValue* const location = OptionOf(sharding, "index_location");
  if (location != nullptr && location->text() != "end") options.Set("index_location", *location);
  CodecSpec resolved = CodecIn(Dialect::kZarr3, ShardingIndexedCodec(), std::move(options));
  SetChain(resolved, kInnerCodecs, std::move(codecs));
  SetChain(resolved, kIndexCodecs, std::move(index));
  return resolved;
}

}  // namespace

Result<ChainSpec> ResolveCodecs(const ChainSpec& codecs, const ChunkParameters& parameters) {
  ChunkParameters chunk = parameters;
  ChainSpec resolved;
  for (const CodecSpec& transpose : OfKind(codecs, CodecKind::kArrayToArray)) {
    UNSHARD_RETURN_IF_ERROR(Apply(OrderOf(transpose, chunk.chunk_shape.size()), chunk, resolved));
  }
  ChainSpec rest = OfKind(codecs, CodecKind::kArrayToBytes);
  if (rest.empty()) {
    rest.push_back(CodecIn(Dialect::kZarr3, BytesCodec(), JsonValue::Object()));
  }
  const ChainSpec of_bytes = OfKind(codecs, CodecKind::kBytesToBytes);
  if (FindSharding(rest)) {
    if (!of_bytes.empty()) {
      return CodecsFail(of_bytes.front().name,
                        " after sharding_indexed would encode whole shards: put it into the "
                        "codecs of sharding_indexed");
    }
    UNSHARD_ASSIGN_OR_RETURN(CodecSpec sharding, ResolveSharding(rest.front(), chunk));
    resolved.push_back(std::move(sharding));
    return resolved;
  }
  if (chunk.inner_order && !IsIdentity(*chunk.inner_order)) {
    const std::vector<std::size_t> order = *chunk.inner_order;
    UNSHARD_RETURN_IF_ERROR(Apply(order, chunk, resolved));
  }
  rest.insert(rest.end(), of_bytes.begin(), of_bytes.end());
  for (std::size_t i = 0; i < rest.size(); ++i) {
    // A byte codec after another one does not encode items.
    UNSHARD_ASSIGN_OR_RETURN(CodecSpec codec,
                             CompleteCodec(std::move(rest[i]), i <= 1 ? chunk.item_size : 0));
    resolved.push_back(std::move(codec));
  }
  return resolved;
}

std::optional<StoredLayout> LayoutOfCodecs(const ChainSpec& codecs,
                                           const std::vector<std::int64_t>& chunk_shape) {
  std::vector<std::int64_t> shape = chunk_shape;
  std::vector<std::vector<std::size_t>> orders;
  for (const CodecSpec& transpose : OfKind(codecs, CodecKind::kArrayToArray)) {
    orders.push_back(OrderOf(transpose, shape.size()));
    if (orders.back().size() != shape.size()) return std::nullopt;
    shape = Transposed(shape, orders.back());
  }
  const ChainSpec to_bytes = OfKind(codecs, CodecKind::kArrayToBytes);
  if (to_bytes.empty()) return std::nullopt;
  std::optional<StoredLayout> layout = StoredLayout{IdentityOrder(shape.size()), shape};
  if (FindSharding(to_bytes)) {
    const auto inner = InnerShapeOf(to_bytes.front());
    const ChainSpec* const chain = to_bytes.front().FindChain(kInnerCodecs);
    if (!inner || inner->size() != shape.size() || chain == nullptr) return std::nullopt;
    layout = LayoutOfCodecs(*chain, *inner);
    if (!layout) return std::nullopt;
  }
  for (auto order = orders.rbegin(); order != orders.rend(); ++order) {
    layout->inner_order = Transposed(*order, layout->inner_order);
    layout->read_chunk_shape = Transposed(layout->read_chunk_shape, InverseOrder(*order));
  }
  return layout;
}

}  // namespace unshard
