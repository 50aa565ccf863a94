#include "store/publish/plan.h"

#include <algorithm>
#include <tuple>

#include "codec/core/crc32c.h"
#include "codec/precomputed/mesh_manifest.h"

namespace unshard {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

template <class T>
auto Place(const T& one) {
  return std::make_tuple(one.page, one.slot);
}

class Planner {
 public:
  Planner(const PublishRequest& request, const ShardObject& base,
          const std::optional<Generation>& generation, const PublisherOptions& options)
      : request_(request), base_(base), generation_(generation), options_(options) {}

  Result<ShardPlan> Run(const ShardIndex& index);

 private:
  Result<std::vector<const ShardChange*>> SortedChanges() const;
  Status Keep(const StoredChunk& chunk);
  Status Change(const ShardChange& change, const StoredChunk* replaced);
  Result<Bytes> Plain(const StoredChunk& chunk) const;
  Result<std::uint64_t> Leading(const StoredChunk& chunk) const;
  // Whether the base is the version in which the writer saw what a change replaces.
  [[nodiscard]] bool IsBase(const std::optional<Generation>& seen_in) const {
    return seen_in && seen_in == generation_;
  }
  Result<bool> IsExpected(const ShardChange& change, const StoredChunk* found) const;
  Result<bool> HoldsExpected(const ShardChange& change, const StoredChunk* found) const;
  Result<bool> HasExpectedFragments(const ShardChange& change, const StoredChunk* found) const;
  Result<ChunkFingerprint> Fingerprint(const StoredChunk& chunk) const;
  Result<ChunkFingerprint> FingerprintOfBytes(const ByteRange& range) const;
  [[nodiscard]] std::string Describe(std::uint64_t page, std::uint64_t slot) const {
    return DescribeSlot(base_.described(), page, slot);
  }

  const PublishRequest& request_;
  const ShardObject& base_;
  const std::optional<Generation>& generation_;
  const PublisherOptions& options_;
  ShardPlan plan_;
};

Result<std::vector<const ShardChange*>> Planner::SortedChanges() const {
  std::vector<const ShardChange*> changes;
  changes.reserve(request_.changes.size());
  for (const ShardChange& change : request_.changes) {
    if (change.page >= request_.format->page_count() ||
        (!change.removed && !change.open && !change.stored)) {
      return Fail(ErrorCode::kInvalidArgument,
                  Describe(change.page, change.slot) + ": nothing can be put there");
    }
    changes.push_back(&change);
  }
  std::sort(changes.begin(), changes.end(),
            [](const auto* a, const auto* b) { return Place(*a) < Place(*b); });
  const auto twice =
      std::adjacent_find(changes.begin(), changes.end(),
                         [](const auto* a, const auto* b) { return Place(*a) == Place(*b); });
  if (twice != changes.end()) {
    return Fail(ErrorCode::kInvalidArgument,
                Describe((*twice)->page, (*twice)->slot) + ": changed twice in one publish");
  }
  return changes;
}

// Both the index and the changes are in order: they are merged.
Result<ShardPlan> Planner::Run(const ShardIndex& index) {
  UNSHARD_ASSIGN_OR_RETURN(const auto changes, SortedChanges());
  auto change = changes.begin();
  for (const StoredChunk& chunk : index.chunks) {
    for (; change != changes.end() && Place(**change) < Place(chunk); ++change) {
      UNSHARD_RETURN_IF_ERROR(Change(**change, nullptr));
    }
    if (change != changes.end() && Place(**change) == Place(chunk)) {
      UNSHARD_RETURN_IF_ERROR(Change(**change++, &chunk));
    } else {
      UNSHARD_RETURN_IF_ERROR(Keep(chunk));
    }
  }
  for (; change != changes.end(); ++change) UNSHARD_RETURN_IF_ERROR(Change(**change, nullptr));
  return std::move(plan_);
}

Status Planner::Keep(const StoredChunk& chunk) {
  if (chunk.range == kDamagedRange) {
    return Fail(ErrorCode::kDataLoss, Describe(chunk.page, chunk.slot) +
                                          ": its index entry reaches beyond the end; the shard "
                                          "can be published once this chunk is written or removed");
  }
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t leading, Leading(chunk));
  plan_.kept_bytes += leading + chunk.range.size;
  plan_.chunks.push_back({chunk.page, chunk.slot, nullptr, chunk.range, leading});
  return {};
}

Status Planner::Change(const ShardChange& change, const StoredChunk* replaced) {
  UNSHARD_ASSIGN_OR_RETURN(const bool expected, IsExpected(change, replaced));
  if (!expected) {
    plan_.conflicting.emplace_back(change.page, change.slot);
    if (request_.strict) return replaced != nullptr ? Keep(*replaced) : Status();
  }
  if (change.removed && replaced == nullptr) return {};
  if (plan_.changed_pages.empty() || plan_.changed_pages.back() != change.page) {
    plan_.changed_pages.push_back(change.page);
  }
  if (change.removed) return {};
  PlannedChunk planned{change.page, change.slot, &change, {}, 0};
  if (replaced != nullptr && replaced->range != kDamagedRange) {
    planned.base = replaced->range;
    if (!change.open_leading) {
      UNSHARD_ASSIGN_OR_RETURN(planned.leading, Leading(*replaced));
    }
  }
  plan_.new_bytes += change.size + (change.open_leading ? change.leading_size : planned.leading);
  plan_.chunks.push_back(planned);
  return {};
}

Result<Bytes> Planner::Plain(const StoredChunk& chunk) const {
  if (chunk.range.size > options_.max_chunk_bytes) {
    return Fail(ErrorCode::kResourceExhausted,
                Describe(chunk.page, chunk.slot) + ": is above the cap of " +
                    std::to_string(options_.max_chunk_bytes) + " bytes");
  }
  UNSHARD_ASSIGN_OR_RETURN(Bytes stored, base_.Read(chunk.range));
  auto plain = request_.format->DecodeEntry(std::move(stored), options_.max_chunk_bytes);
  if (!plain) return Forward(std::move(plain).error(), Describe(chunk.page, chunk.slot));
  return plain;
}

Result<std::uint64_t> Planner::Leading(const StoredChunk& chunk) const {
  if (!request_.has_leading) return std::uint64_t{0};
  UNSHARD_ASSIGN_OR_RETURN(const Bytes manifest, Plain(chunk));
  const auto leading = MeshFragmentBytes(manifest.span());
  if (!leading) return Forward(leading.error(), Describe(chunk.page, chunk.slot));
  // The bytes before that are the shard index: a copy of them would hide the damage.
  const std::uint64_t index = request_.format->fixed_index_bytes();
  const std::uint64_t before = chunk.range.begin - std::min(chunk.range.begin, index);
  if (*leading > before) {
    return Fail(ErrorCode::kDataLoss,
                Describe(chunk.page, chunk.slot) + ": the manifest announces " +
                    std::to_string(*leading) + " bytes of fragments, only " +
                    std::to_string(before) +
                    " are before it; the shard can be published once this mesh is written whole "
                    "or removed");
  }
  return *leading;
}

// Whether one of the fingerprints that a change goes by fits.
template <class Expected, class Fits>
bool AnyFits(const Expected& change, const Fits& fits) {
  return fits(change.expected) || (change.also_expected && fits(*change.also_expected)) ||
         (change.put && fits(*change.put));
}

Result<bool> Planner::IsExpected(const ShardChange& change, const StoredChunk* found) const {
  if (!change.expected.unknown && !IsBase(change.seen_in)) {
    UNSHARD_ASSIGN_OR_RETURN(const bool expected, HoldsExpected(change, found));
    if (!expected) return false;
  }
  if (!change.leading || IsBase(change.leading->seen_in)) return true;
  return HasExpectedFragments(change, found);
}

Result<bool> Planner::HasExpectedFragments(const ShardChange& change,
                                           const StoredChunk* found) const {
  const auto is = [&](const ChunkFingerprint& there) {
    return AnyFits(*change.leading, [&](const ChunkFingerprint& seen) { return seen == there; });
  };
  // Without a manifest there are no fragments: whether that is expected is known by then.
  if (found == nullptr) return !IsBase(change.seen_in) || is(ChunkFingerprint{});
  if (found->range == kDamagedRange) return false;
  const auto leading = Leading(*found);
  if (!leading && leading.error().code == ErrorCode::kDataLoss) return false;
  if (!leading) return tl::unexpected<Error>(leading.error());
  const bool can_be = AnyFits(*change.leading, [&](const ChunkFingerprint& seen) {
    return !seen.absent && seen.size == *leading;
  });
  if (!can_be) return false;
  UNSHARD_ASSIGN_OR_RETURN(const ChunkFingerprint there,
                           FingerprintOfBytes({found->range.begin - *leading, *leading}));
  return is(there);
}

Result<bool> Planner::HoldsExpected(const ShardChange& change, const StoredChunk* found) const {
  const auto is_one_of = [&](const auto& fits) { return AnyFits(change, fits); };
  if (found == nullptr) return is_one_of([](const ChunkFingerprint& seen) { return seen.absent; });
  if (found->range == kDamagedRange) return false;
  const bool can_be = is_one_of([&](const ChunkFingerprint& seen) {
    return !seen.absent && (!request_.format->stored_is_plain() || found->range.size == seen.size);
  });
  if (!can_be) return false;
  const auto fingerprint = Fingerprint(*found);
  if (fingerprint) {
    return is_one_of([&](const ChunkFingerprint& seen) { return seen == *fingerprint; });
  }
  // No reader has been given a chunk that cannot be decoded.
  if (fingerprint.error().code == ErrorCode::kDataLoss) return false;
  return tl::unexpected<Error>(fingerprint.error());
}

// Of the plain bytes. Plain chunks are not held in memory, however large.
Result<ChunkFingerprint> Planner::Fingerprint(const StoredChunk& chunk) const {
  if (!request_.format->stored_is_plain()) {
    UNSHARD_ASSIGN_OR_RETURN(const Bytes plain, Plain(chunk));
    return ChunkFingerprint{false, plain.size(), Crc32c(plain.span())};
  }
  return FingerprintOfBytes(chunk.range);
}

Result<ChunkFingerprint> Planner::FingerprintOfBytes(const ByteRange& range) const {
  std::uint32_t crc32c = 0;
  for (std::uint64_t done = 0; done < range.size;) {
    const std::uint64_t size = std::min(kPiece, range.size - done);
    UNSHARD_ASSIGN_OR_RETURN(const Bytes piece, base_.Read({range.begin + done, size}));
    crc32c = Crc32cExtend(crc32c, piece.span());
    done += size;
  }
  return ChunkFingerprint{false, range.size, crc32c};
}

}  // namespace

Result<ShardPlan> PlanShard(const PublishRequest& request, const ShardObject& base,
                            const std::optional<Generation>& generation, const ShardIndex& index,
                            const PublisherOptions& options) {
  return Planner(request, base, generation, options).Run(index);
}

std::string DescribeSlot(const std::string& described, std::uint64_t page, std::uint64_t slot) {
  return described + ": page " + std::to_string(page) + ", slot " + std::to_string(slot);
}

}  // namespace unshard
