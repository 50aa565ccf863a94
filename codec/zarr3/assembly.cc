// The layout of sharding_indexed shards:
//
//   1. A shard begins: space is reserved for its leading checksums and for an index at its start.
//      The outermost shard begins first, a nested one before the first of its chunks. A nested
//      shard without chunks never begins and is an empty entry of its outer shard.
//   2. Chunks follow each other in the order of page and slot.
//   3. A shard ends after its last chunk: its index, then its outer checksums from the innermost to
//      the outermost, each over everything inside. It is then an entry of its outer shard.
//
// Append begins the outermost shard after the last chunk that is kept, and is otherwise the same:
// it overwrites the old index at the end and everything else after that chunk.
#include "codec/zarr3/assembly.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

namespace unshard {
namespace {

// A shard between steps 1 and 3.
struct OpenShard {
  std::uint64_t body = 0;  // where it begins, without its leading checksums
  std::uint64_t slot = 0;  // in the outer shard
  std::vector<IndexEntry> entries;
};

class ZarrAssembly final : public ShardAssembly {
 public:
  ZarrAssembly(ZarrFormatLevelsPtr levels, std::vector<ChunkPlace> places, std::uint64_t base_size)
      : held_(std::move(levels)), places_(std::move(places)), base_size_(base_size) {}

  Result<AssemblyStep> Next(const PutChunk& put) override {
    if (!std::exchange(started_, true)) UNSHARD_RETURN_IF_ERROR(Start());
    if (std::exchange(putting_, false)) UNSHARD_RETURN_IF_ERROR(Record(put));
    for (;;) {
      if (!steps_.empty()) {
        AssemblyStep step = std::move(steps_.front());
        steps_.pop_front();
        return step;
      }
      if (next_ < places_.size()) {
        UNSHARD_ASSIGN_OR_RETURN(const bool inside, Enter(places_[next_].page));
        if (!inside) continue;
        if (!places_[next_].kept) {
          putting_ = true;
          return AssemblyStep{
              .kind = AssemblyStep::Kind::kChunk, .at = end_, .chunk = places_[next_].number};
        }
        AddEntry(open_.back(), places_[next_].slot, places_[next_].range);
        ++next_;
      } else if (!open_.empty()) {
        UNSHARD_RETURN_IF_ERROR(End());
      } else {
        return AssemblyStep{.kind = AssemblyStep::Kind::kDone, .at = end_};
      }
    }
  }

 private:
  [[nodiscard]] const ZarrFormatLevel& innermost() const { return *levels_.back(); }

  Status Start() {
    UNSHARD_RETURN_IF_ERROR(Check());
    UNSHARD_RETURN_IF_ERROR(Begin(0));
    for (const ChunkPlace& place : places_) {
      if (place.kept) end_ = std::max(end_, place.range.end());
    }
    return {};
  }

  [[nodiscard]] Status Check() const {
    const ZarrFormatLevel& outer = *levels_.front();
    const std::uint64_t data = outer.level.index_at_start ? outer.index.encoded_size() : 0;
    UNSHARD_RETURN_IF_ERROR(CheckPlaces(places_, {data, base_size_ - std::min(data, base_size_)}));
    std::uint64_t pages = 1;
    for (std::size_t depth = 0; depth + 1 < levels_.size(); ++depth) {
      pages *= levels_[depth]->level.chunk_count;
    }
    for (const ChunkPlace& place : places_) {
      if (place.page >= pages || place.slot >= innermost().level.chunk_count) {
        return Fail(ErrorCode::kInternal, "there is no entry ", place.slot, " of page ",
                    place.page);
      }
    }
    return {};
  }

  Status Record(const PutChunk& put) {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t begin, GrowShard(end_, put.leading));
    UNSHARD_ASSIGN_OR_RETURN(end_, GrowShard(begin, put.stored));
    AddEntry(open_.back(), places_[next_++].slot, {begin, put.stored});
    return {};
  }

  static void AddEntry(OpenShard& shard, std::uint64_t slot, const ByteRange& range) {
    shard.entries.push_back({slot, {range.begin - shard.body, range.size}});
  }

  // Ends and begins nested shards until that of `page` is the innermost. False where it ended one:
  // its steps come before all others.
  Result<bool> Enter(std::uint64_t page) {
    if (open_.size() == levels_.size() && page == entered_) return true;
    entered_ = page;
    const std::vector<std::uint64_t> positions = PositionsOfPage(levels_, page);
    std::size_t shared = 1;  // the number of open shards that contain the page; the outermost does
    while (shared < open_.size() && open_[shared].slot == positions[shared - 1]) ++shared;
    if (shared < open_.size()) {
      UNSHARD_RETURN_IF_ERROR(End());
      return false;
    }
    while (open_.size() < levels_.size()) {
      UNSHARD_RETURN_IF_ERROR(Begin(positions[open_.size() - 1]));
    }
    return true;
  }

  // Step 1.
  Status Begin(std::uint64_t slot) {
    const ZarrFormatLevel& level = *levels_[open_.size()];
    UNSHARD_ASSIGN_OR_RETURN(end_, GrowShard(end_, level.level.leading_bytes()));
    open_.push_back({end_, slot, {}});
    open_.back().entries.reserve(std::min(level.level.chunk_count, places_.size() - next_));
    if (!level.level.index_at_start) return {};
    UNSHARD_ASSIGN_OR_RETURN(end_, GrowShard(end_, level.index.encoded_size()));
    return {};
  }

  // Step 3.
  Status End() {
    const OpenShard shard = std::move(open_.back());
    open_.pop_back();
    const ZarrFormatLevel& level = *levels_[open_.size()];
    UNSHARD_ASSIGN_OR_RETURN(ByteVector index, level.index.Encode(shard.entries));
    const std::uint64_t index_at = level.level.index_at_start ? shard.body : end_;
    if (!level.level.index_at_start) {
      UNSHARD_ASSIGN_OR_RETURN(end_, GrowShard(end_, index.size()));
    }
    steps_.push_back(
        {.kind = AssemblyStep::Kind::kBytes, .at = index_at, .bytes = std::move(index)});
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t begin, PutChecksums(level.level, shard.body));
    if (!open_.empty()) AddEntry(open_.back(), shard.slot, {begin, end_ - begin});
    return {};
  }

  // Returns the offset of the first of them.
  Result<std::uint64_t> PutChecksums(const ShardLevel& level, std::uint64_t begin) {
    for (const auto& codec : level.outer) {
      AssemblyStep step{.kind = AssemblyStep::Kind::kChecksum,
                        .at = end_,
                        .covered = {begin, end_ - begin},
                        .digest = codec->MakeDigest()};
      if (codec->leading_overhead() > 0) {
        begin -= codec->leading_overhead();
        step.at = begin;
      } else {
        UNSHARD_ASSIGN_OR_RETURN(end_, GrowShard(end_, *codec->fixed_overhead()));
      }
      steps_.push_back(std::move(step));
    }
    return begin;
  }

  const ZarrFormatLevelsPtr held_;
  const ZarrFormatLevels& levels_ = *held_;
  const std::vector<ChunkPlace> places_;
  const std::uint64_t base_size_;  // 0 without a base
  bool started_ = false;
  bool putting_ = false;            // the last step was places_[next_]
  std::size_t next_ = 0;            // in places_
  std::vector<OpenShard> open_;     // outermost first
  std::uint64_t entered_ = 0;       // the page of the innermost, where all levels are open
  std::deque<AssemblyStep> steps_;  // to return before all others
  std::uint64_t end_ = 0;
};

}  // namespace

std::unique_ptr<ShardAssembly> AssembleZarrShard(ZarrFormatLevelsPtr levels,
                                                 const std::vector<AssembledChunk>& chunks) {
  return std::make_unique<ZarrAssembly>(std::move(levels), InOrder(chunks), 0);
}

std::unique_ptr<ShardAssembly> AppendToZarrShard(ZarrFormatLevelsPtr levels,
                                                 const std::vector<AssembledChunk>& chunks,
                                                 std::uint64_t base_size) {
  const ZarrFormatLevel& outer = *levels->front();
  if (levels->size() > 1 || !outer.level.outer.empty()) return nullptr;
  // Only the index shows whether there is space for a crc32c: a chunk may follow it immediately.
  if (outer.level.index_at_start && outer.level.guess_checksum) return nullptr;
  if (base_size < outer.index.smallest_size()) return nullptr;
  return std::make_unique<ZarrAssembly>(std::move(levels), InOrder(chunks), base_size);
}

}  // namespace unshard
