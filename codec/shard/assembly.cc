#include "codec/shard/assembly.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace unshard {

std::vector<ChunkPlace> InOrder(const std::vector<AssembledChunk>& chunks) {
  std::vector<ChunkPlace> places;
  places.reserve(chunks.size());
  for (const AssembledChunk& chunk : chunks) {
    places.push_back({chunk.page, chunk.slot, places.size(), chunk.kept.has_value(),
                      chunk.kept.value_or(ByteRange{})});
  }
  const auto before = [](const ChunkPlace& a, const ChunkPlace& b) {
    return std::tie(a.page, a.slot) < std::tie(b.page, b.slot);
  };
  // A caller that has read an index has them in order already.
  if (!std::is_sorted(places.begin(), places.end(), before)) {
    std::sort(places.begin(), places.end(), before);
  }
  return places;
}

Status CheckPlaces(std::span<const ChunkPlace> places, const ByteRange& data) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ChunkPlace& place = places[i];
    const auto name = [&] {
      return "entry " + std::to_string(place.slot) + " of page " + std::to_string(place.page);
    };
    if (i > 0 && places[i - 1].page == place.page && places[i - 1].slot == place.slot) {
      return Fail(ErrorCode::kInternal, name(), " is put twice");
    }
    if (!place.kept) continue;
    const auto within = MakeByteRange(place.range.begin, place.range.size, data.end());
    if (!within || within->begin < data.begin) {
      return Fail(ErrorCode::kInternal, name(), " is kept outside of the base");
    }
  }
  return {};
}

Result<std::uint64_t> GrowShard(std::uint64_t end, std::uint64_t size) {
  if (size > kMaxShardBytes || end > kMaxShardBytes - size) {
    return Fail(
        ErrorCode::kResourceExhausted,
        "the shard would have more than 2^63 - 1 bytes, the largest offset that readers take");
  }
  return end + size;
}

}  // namespace unshard
