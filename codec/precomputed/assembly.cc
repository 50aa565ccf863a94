// The layout of precomputed shards:
//
//   1. For each minishard in ascending order: its chunks by ascending id, then its index. Append
//      does this at the end of the base, for the minishards that change and for their chunks that
//      are not kept; the old indexes of these minishards become garbage.
//   2. The entries of these minishards in the shard index. The whole shard index is never in
//      memory: a shard of few chunks may have one of many gigabytes, nearly all of it zeros.
#include "codec/precomputed/assembly.h"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/codecs/gzip.h"

namespace unshard {
namespace {

constexpr std::uint64_t kEntrySize = 16;     // of the shard index: start, end
constexpr std::uint64_t kMinishardRow = 24;  // id, start, size
// Entries that are at most so far apart are written in one step, with the empty ones between them.
constexpr std::uint64_t kNearbyEntries = 64;

class NeuroglancerAssembly final : public ShardAssembly {
 public:
  NeuroglancerAssembly(const ShardingSpec& spec, std::uint64_t shard,
                       std::vector<ChunkPlace> places, std::vector<std::uint64_t> pages,
                       std::optional<std::uint64_t> base_size)
      : spec_(spec),
        shard_(shard),
        index_size_(*ShardIndexSize(spec)),
        appends_(base_size.has_value()),
        places_(std::move(places)),
        pages_(std::move(pages)),
        end_(base_size.value_or(index_size_)) {
    index_ranges_.reserve(pages_.size());
  }

  Result<AssemblyStep> Next(const PutChunk& put) override {
    if (!std::exchange(started_, true)) UNSHARD_RETURN_IF_ERROR(Check());
    if (std::exchange(putting_, false)) UNSHARD_RETURN_IF_ERROR(Record(put));
    while (index_ranges_.size() < pages_.size()) {
      const std::uint64_t page = pages_[index_ranges_.size()];
      for (; next_ < places_.size() && places_[next_].page == page; ++next_) {
        if (places_[next_].kept) continue;
        putting_ = true;
        return AssemblyStep{
            .kind = AssemblyStep::Kind::kChunk, .at = end_, .chunk = places_[next_].number};
      }
      if (next_ > page_begin_) return PutMinishardIndex();
      index_ranges_.push_back({});  // it has no chunks any more
    }
    if (entries_put_ < pages_.size()) return PutEntries();
    return AssemblyStep{.kind = AssemblyStep::Kind::kDone, .at = end_};
  }

 private:
  [[nodiscard]] Status Check() const {
    UNSHARD_RETURN_IF_ERROR(CheckPlaces(places_, {index_size_, end_ - index_size_}));
    for (const ChunkPlace& place : places_) {
      if (LocateChunkId(spec_, place.slot) != ShardSlot{shard_, place.page, place.slot}) {
        return Fail(ErrorCode::kInternal, "chunk id ", place.slot, " does not belong to minishard ",
                    place.page, " of shard ", shard_);
      }
    }
    if (!pages_.empty() && pages_.back() >> spec_.minishard_bits != 0) {
      return Fail(ErrorCode::kInternal, "there is no minishard ", pages_.back());
    }
    return {};
  }

  Status Record(const PutChunk& put) {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t begin, GrowShard(end_, put.leading));
    UNSHARD_ASSIGN_OR_RETURN(end_, GrowShard(begin, put.stored));
    places_[next_++].range = {begin, put.stored};
    return {};
  }

  // Step 1, for the chunks [page_begin_, next_).
  Result<AssemblyStep> PutMinishardIndex() {
    const std::size_t count = next_ - page_begin_;
    ByteVector rows(kMinishardRow * count);
    std::uint64_t previous_id = 0;
    std::uint64_t previous_end = 0;  // differences are taken modulo 2^64
    for (std::size_t i = 0; i < count; ++i) {
      const ChunkPlace& place = places_[page_begin_ + i];
      const std::uint64_t start = place.range.begin - index_size_;
      StoreU64Le(rows.data() + 8 * i, place.slot - previous_id);
      StoreU64Le(rows.data() + 8 * (count + i), start - previous_end);
      StoreU64Le(rows.data() + 8 * (2 * count + i), place.range.size);
      previous_id = place.slot;
      previous_end = start + place.range.size;
    }
    page_begin_ = next_;
    const bool gzip = spec_.minishard_index_encoding == ShardEncoding::kGzip;
    AssemblyStep step{.kind = AssemblyStep::Kind::kBytes,
                      .at = end_,
                      .bytes = gzip ? GzipEncode(rows, kShardGzipLevel) : std::move(rows)};
    index_ranges_.push_back({end_, step.bytes.size()});
    UNSHARD_ASSIGN_OR_RETURN(end_, GrowShard(end_, step.bytes.size()));
    return step;
  }

  // Step 2, for a run of minishards that are close together. A new shard has only empty entries
  // between them; Append must not overwrite the base's entries there.
  AssemblyStep PutEntries() {
    const std::size_t first = entries_put_;
    std::size_t end = first + 1;
    const std::uint64_t reach = appends_ ? 1 : kNearbyEntries;
    while (end < pages_.size() && pages_[end] - pages_[end - 1] <= reach) ++end;
    AssemblyStep step{.kind = AssemblyStep::Kind::kBytes, .at = kEntrySize * pages_[first]};
    step.bytes.resize(kEntrySize * (pages_[end - 1] - pages_[first] + 1));
    for (std::size_t i = first; i < end; ++i) {
      const ByteRange& index = index_ranges_[i];
      if (index.size == 0) continue;
      std::uint8_t* const entry = step.bytes.data() + kEntrySize * (pages_[i] - pages_[first]);
      StoreU64Le(entry, index.begin - index_size_);
      StoreU64Le(entry + 8, index.end() - index_size_);
    }
    entries_put_ = end;
    return step;
  }

  const ShardingSpec spec_;
  const std::uint64_t shard_;
  const std::uint64_t index_size_;
  const bool appends_;
  std::vector<ChunkPlace> places_;          // all chunks of pages_
  const std::vector<std::uint64_t> pages_;  // with new indexes, ascending
  std::uint64_t end_;
  bool started_ = false;
  bool putting_ = false;                 // the last step was places_[next_]
  std::size_t next_ = 0;                 // in places_
  std::size_t page_begin_ = 0;           // in places_: the first of the current page
  std::vector<ByteRange> index_ranges_;  // of the first of pages_; size 0: no chunks
  std::size_t entries_put_ = 0;          // of pages_
};

void SortAndMakeUnique(std::vector<std::uint64_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace

std::optional<std::uint64_t> ShardIndexSize(const ShardingSpec& spec) {
  if (spec.minishard_bits >= 59) return std::nullopt;
  return kEntrySize << spec.minishard_bits;
}

std::unique_ptr<ShardAssembly> AssembleNeuroglancerShard(
    const ShardingSpec& spec, std::uint64_t shard, const std::vector<AssembledChunk>& chunks) {
  std::vector<ChunkPlace> places = InOrder(chunks);
  std::vector<std::uint64_t> pages;
  for (const ChunkPlace& place : places) {
    if (pages.empty() || pages.back() != place.page) pages.push_back(place.page);
  }
  return std::make_unique<NeuroglancerAssembly>(spec, shard, std::move(places), std::move(pages),
                                                std::nullopt);
}

std::unique_ptr<ShardAssembly> AppendToNeuroglancerShard(const ShardingSpec& spec,
                                                         std::uint64_t shard,
                                                         const std::vector<AssembledChunk>& chunks,
                                                         std::vector<std::uint64_t> changed_pages,
                                                         std::uint64_t base_size) {
  for (const AssembledChunk& chunk : chunks) {
    if (!chunk.kept) changed_pages.push_back(chunk.page);
  }
  SortAndMakeUnique(changed_pages);
  std::vector<ChunkPlace> places = InOrder(chunks);
  std::erase_if(places, [&](const ChunkPlace& place) {
    return !std::binary_search(changed_pages.begin(), changed_pages.end(), place.page);
  });
  return std::make_unique<NeuroglancerAssembly>(spec, shard, std::move(places),
                                                std::move(changed_pages), base_size);
}

}  // namespace unshard
