#include "codec/zarr3/shard_template.h"

#include <algorithm>
#include <utility>

#include "codec/array/document.h"
#include "codec/chain/unshard.h"
#include "codec/core/byte_range.h"
#include "codec/core/text.h"
#include "codec/json/json.h"
#include "codec/json/meaning.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/zarr3/document.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxShardExtent = std::uint64_t{1} << 40;
constexpr std::uint64_t kMaxChunks = std::uint64_t{1} << 30;

// The extent of a shard, in whole chunks.
std::uint64_t ShardExtent(const ShardTemplate::Extent& wanted, std::uint64_t shape,
                          std::uint64_t chunk) {
  const std::uint64_t chunks =
      wanted.in_chunks ? wanted.count : std::max<std::uint64_t>(1, (wanted.count - 1) / chunk + 1);
  const std::uint64_t in_array = shape == 0 ? 1 : (shape - 1) / chunk + 1;
  return std::min(chunks, in_array) * chunk;
}

}  // namespace

Result<ShardTemplate> ParseShardTemplate(std::string_view text) {
  ShardTemplate shards;
  shards.text = std::string(text);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    std::string_view one = text.substr(at, end - at);
    ShardTemplate::Extent extent;
    extent.in_chunks = one.ends_with('c');
    if (extent.in_chunks) one.remove_suffix(1);
    extent.count = ParseNumber<std::uint64_t>(one).value_or(0);
    if (extent.count == 0 || extent.count > kMaxShardExtent) {
      return Fail(ErrorCode::kInvalidArgument,
                  "expected extents of shards, in elements (256x256x512) or chunks (8c, 1cx8cx8c), "
                  "found \"",
                  text, "\"");
    }
    shards.extents.push_back(extent);
    at = end + 1;
  }
  return shards;
}

std::optional<std::string> WithShards(std::string_view text, const ShardTemplate& shards) {
  auto document = ParseJson(text);
  const auto node = document ? ParseZarrMetadata(*document) : Result<ZarrNode>();
  if (!document || !node || node->sharded || node->array.chunk_shape.empty()) return std::nullopt;
  if (node->array.rectilinear) return std::nullopt;
  const std::vector<std::uint64_t>& shape = node->array.shape;
  const std::vector<std::uint64_t>& chunk = node->array.chunk_shape;
  if (shards.extents.size() != 1 && shards.extents.size() != shape.size()) return std::nullopt;
  std::vector<std::uint64_t> extents;
  std::uint64_t chunks = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const ShardTemplate::Extent& wanted = shards.extents[shards.extents.size() == 1 ? 0 : i];
    extents.push_back(ShardExtent(wanted, shape[i], chunk[i]));
    const auto product = CheckedMultiply(chunks, extents.back() / chunk[i]);
    if (!product || *product > kMaxChunks || extents.back() > kMaxShardExtent) return std::nullopt;
    chunks = *product;
  }
  if (chunks == 1) return std::nullopt;
  JsonValue& codecs = *document->Find("codecs");
  JsonValue sharding = ShardingCodecJson(ExtentsJson(chunk), codecs);
  sharding.Find("configuration")->Set("index_location", JsonValue::String("end"));
  codecs = JsonValue::Array({std::move(sharding)});
  document->Find("chunk_grid")->Find("configuration")->Set("chunk_shape", ExtentsJson(extents));
  return WriteDocument(*document, IndentOf(text));
}

}  // namespace unshard
