#include "store/publish/plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "codec/core/checksum.h"
#include "codec/precomputed/mesh_manifest.h"
#include "store/publish/coalesced_reads.h"

namespace unshard {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

template <class T>
auto Place(const T& one) {
  return std::make_tuple(one.page, one.slot);
}

std::pair<std::uint64_t, std::uint64_t> Extent(const StoredChunk& chunk) {
  return {chunk.range.begin, chunk.range.size};
}

// Whether one of the fingerprints that a change goes by fits.
template <class Expected, class Fits>
bool AnyFits(const Expected& change, const Fits& fits) {
  return fits(change.expected) || (change.also_expected && fits(*change.also_expected)) ||
         (change.put && fits(*change.put));
}

class Planner {
 public:
  Planner(const PublishRequest& request, const ShardObject& base,
          const std::optional<Generation>& generation, const PublisherOptions& options)
      : request_(request), base_(base), generation_(generation), options_(options), reads_(base) {}

  Result<ShardPlan> Run(const ShardIndex& index);

 private:
  using Changes = std::vector<const ShardChange*>;
  Result<Changes> SortedChanges() const;
  Status ReadReplaced(const ShardIndex& index, const Changes& changes);
  [[nodiscard]] bool IsCompared(const ShardChange& change, const StoredChunk& found) const;
  Status Keep(const StoredChunk& chunk);
  Status Change(const ShardChange& change, const StoredChunk* replaced);
  Result<Bytes> Plain(const StoredChunk& chunk);
  Result<std::uint64_t> Leading(const StoredChunk& chunk);
  // Whether the base is the version in which the writer saw what a change replaces.
  [[nodiscard]] bool IsBase(const std::optional<Generation>& seen_in) const {
    return seen_in && seen_in == generation_;
  }
  // A writer that did not know the stored chunk replaces any; in strict mode none that exists.
  [[nodiscard]] bool TakesAnything(const ChunkFingerprint& expected) const {
    return expected.unknown && !request_.strict;
  }
  Result<bool> IsExpected(const ShardChange& change, const StoredChunk* found);
  Result<bool> HoldsExpected(const ShardChange& change, const StoredChunk* found);
  Result<bool> HasExpectedFragments(const ShardChange& change, const StoredChunk* found);
  Result<ChunkFingerprint> Fingerprint(const StoredChunk& chunk);
  Result<ChunkFingerprint> FingerprintOfBytes(const ByteRange& range) const;
  [[nodiscard]] std::string Describe(std::uint64_t page, std::uint64_t slot) const {
    return DescribeSlot(base_.described(), page, slot);
  }

  const PublishRequest& request_;
  const ShardObject& base_;
  const std::optional<Generation>& generation_;
  const PublisherOptions& options_;
  CoalescedReads reads_;
  // Of replaced chunks that are compared with what their writers saw: by begin and size of their
  // range.
  std::map<std::pair<std::uint64_t, std::uint64_t>, Result<ChunkFingerprint>> fingerprints_;
  ShardPlan plan_;
};

Result<Planner::Changes> Planner::SortedChanges() const {
  Changes changes;
  changes.reserve(request_.changes.size());
  for (const ShardChange& change : request_.changes) {
    if (change.page >= request_.format->page_count() ||
        (!change.removed && !change.open && !change.stored)) {
      return Fail(ErrorCode::kInvalidArgument, Describe(change.page, change.slot),
                  ": no such place in the shard, or no new bytes for it");
    }
    changes.push_back(&change);
  }
  std::sort(changes.begin(), changes.end(),
            [](const auto* a, const auto* b) { return Place(*a) < Place(*b); });
  const auto twice =
      std::adjacent_find(changes.begin(), changes.end(),
                         [](const auto* a, const auto* b) { return Place(*a) == Place(*b); });
  if (twice != changes.end()) {
    return Fail(ErrorCode::kInvalidArgument, Describe((*twice)->page, (*twice)->slot),
                ": changed twice in one publish");
  }
  return changes;
}

// Both the index and the changes are in order: they are merged.
Result<ShardPlan> Planner::Run(const ShardIndex& index) {
  UNSHARD_ASSIGN_OR_RETURN(const Changes changes, SortedChanges());
  UNSHARD_RETURN_IF_ERROR(ReadReplaced(index, changes));
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

// Reads all that has to be compared in the order in which it is stored: in few requests.
Status Planner::ReadReplaced(const ShardIndex& index, const Changes& changes) {
  std::vector<StoredChunk> compared;
  std::vector<ByteRange> ranges;
  auto change = changes.begin();
  for (const StoredChunk& chunk : index.chunks) {
    while (change != changes.end() && Place(**change) < Place(chunk)) ++change;
    const bool changed = change != changes.end() && Place(**change) == Place(chunk);
    if (changed && IsCompared(**change, chunk)) compared.push_back(chunk);
    // The manifests of all meshes are read.
    const bool manifest = request_.has_leading && chunk.range != kDamagedRange;
    if (manifest || (changed && IsCompared(**change, chunk))) ranges.push_back(chunk.range);
  }
  reads_.Announce(std::move(ranges));
  std::sort(compared.begin(), compared.end(),
            [](const auto& a, const auto& b) { return a.range.begin < b.range.begin; });
  for (const StoredChunk& chunk : compared) {
    auto fingerprint = Fingerprint(chunk);
    // No reader has been given a chunk that cannot be decoded.
    const bool damaged = !fingerprint && fingerprint.error().code == ErrorCode::kDataLoss;
    if (!damaged) UNSHARD_RETURN_IF_ERROR(fingerprint);
    fingerprints_.insert_or_assign(Extent(chunk), std::move(fingerprint));
  }
  return {};
}

Status Planner::Keep(const StoredChunk& chunk) {
  if (chunk.range == kDamagedRange) {
    return Fail(ErrorCode::kDataLoss, Describe(chunk.page, chunk.slot),
                ": its index entry reaches beyond the end; the shard can be published once this "
                "chunk is written or removed");
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
    if (request_.strict || change.yields) {
      plan_.refused.emplace_back(change.page, change.slot);
      return replaced != nullptr ? Keep(*replaced) : Status();
    }
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

Result<Bytes> Planner::Plain(const StoredChunk& chunk) {
  if (chunk.range.size > options_.max_chunk_bytes) {
    return Fail(ErrorCode::kResourceExhausted, Describe(chunk.page, chunk.slot),
                ": is above the cap of ", options_.max_chunk_bytes, " bytes");
  }
  UNSHARD_ASSIGN_OR_RETURN(Bytes stored, reads_.Read(chunk.range));
  auto plain = request_.format->DecodeEntry(std::move(stored), options_.max_chunk_bytes);
  if (!plain) return Forward(std::move(plain).error(), Describe(chunk.page, chunk.slot));
  return plain;
}

Result<std::uint64_t> Planner::Leading(const StoredChunk& chunk) {
  if (!request_.has_leading) return std::uint64_t{0};
  UNSHARD_ASSIGN_OR_RETURN(const Bytes manifest, Plain(chunk));
  const auto leading = MeshFragmentBytes(manifest.span());
  if (!leading) return Forward(leading.error(), Describe(chunk.page, chunk.slot));
  // The bytes before that are the shard index: a copy of them would hide the damage.
  const std::uint64_t index = request_.format->fixed_index_bytes();
  const std::uint64_t before = chunk.range.begin - std::min(chunk.range.begin, index);
  if (*leading > before) {
    return Fail(
        ErrorCode::kDataLoss, Describe(chunk.page, chunk.slot), ": the manifest announces ",
        *leading, " bytes of fragments, but only ", before,
        " precede it; the shard can be published once this mesh is written whole or removed");
  }
  return *leading;
}

Result<bool> Planner::IsExpected(const ShardChange& change, const StoredChunk* found) {
  if (!TakesAnything(change.expected) && !IsBase(change.seen_in)) {
    UNSHARD_ASSIGN_OR_RETURN(const bool expected, HoldsExpected(change, found));
    if (!expected) return false;
  }
  if (!change.leading || TakesAnything(change.leading->expected)) return true;
  if (IsBase(change.leading->seen_in)) return true;
  return HasExpectedFragments(change, found);
}

Result<bool> Planner::HasExpectedFragments(const ShardChange& change, const StoredChunk* found) {
  const auto is = [&](const ChunkFingerprint& there) {
    return AnyFits(*change.leading, [&](const ChunkFingerprint& seen) { return seen == there; });
  };
  // No manifest, no fragments. Unless seen_in is the base, IsExpected() has accepted that already.
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

// Whether the bytes of a chunk tell that it is what the writer of a change saw: where the version
// of the shard, or the size, does not.
bool Planner::IsCompared(const ShardChange& change, const StoredChunk& found) const {
  if (TakesAnything(change.expected) || IsBase(change.seen_in)) return false;
  if (found.range == kDamagedRange) return false;
  return AnyFits(change, [&](const ChunkFingerprint& seen) {
    return !seen.absent && (!request_.format->stored_is_plain() || found.range.size == seen.size);
  });
}

Result<bool> Planner::HoldsExpected(const ShardChange& change, const StoredChunk* found) {
  if (found == nullptr) {
    return AnyFits(change, [](const ChunkFingerprint& seen) { return seen.absent; });
  }
  const auto there = fingerprints_.find(Extent(*found));
  if (!IsCompared(change, *found) || there == fingerprints_.end() || !there->second) return false;
  return AnyFits(change, [&](const ChunkFingerprint& seen) { return seen == *there->second; });
}

// Of the plain bytes. A large chunk that is stored plain is read piece by piece, and never held in
// memory as a whole; small ones are read together.
Result<ChunkFingerprint> Planner::Fingerprint(const StoredChunk& chunk) {
  if (!request_.format->stored_is_plain()) {
    UNSHARD_ASSIGN_OR_RETURN(const Bytes plain, Plain(chunk));
    return ChunkFingerprint{false, plain.size(), Checksum(plain.span())};
  }
  if (chunk.range.size > kPiece) return FingerprintOfBytes(chunk.range);
  UNSHARD_ASSIGN_OR_RETURN(const Bytes plain, reads_.Read(chunk.range));
  return ChunkFingerprint{false, plain.size(), Checksum(plain.span())};
}

Result<ChunkFingerprint> Planner::FingerprintOfBytes(const ByteRange& range) const {
  std::uint32_t checksum = 0;
  for (std::uint64_t done = 0; done < range.size;) {
    const std::uint64_t size = std::min(kPiece, range.size - done);
    UNSHARD_ASSIGN_OR_RETURN(const Bytes piece, base_.Read({range.begin + done, size}));
    checksum = ExtendChecksum(checksum, piece.span());
    done += size;
  }
  return ChunkFingerprint{false, range.size, checksum};
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
