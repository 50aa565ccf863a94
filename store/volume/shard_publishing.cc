#include "store/volume/shard_publishing.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "store/object/log.h"
#include "store/source/all_views.h"
#include "store/volume/mesh_publishing.h"
#include "store/volume/quarantine_reasons.h"
#include "store/volume/shard_changes.h"

namespace unshard {
namespace {

using Done = PublishQueue::Done;
using Versions = std::vector<WrittenVersionPtr>;

// A key of a tree in the source, without the view that it begins with.
std::string InSource(const ShardPublishing::Parts& parts, const std::string& key) {
  return parts.root.empty() ? key : std::string(SplitView(key).path);
}

void Renew(const ShardPublishing::Parts& parts, const ChunkTree& tree, std::uint64_t shard) {
  ShardedOf(tree).shards().Renew(shard);
  if (!parts.on_renewed) return;
  parts.on_renewed(
      InSource(parts, JoinPath(tree.directory(), ShardedOf(tree).shards().keys().Key(shard))));
}

// Takes the versions at these pages and slots out of `versions`.
Versions TakeAt(const std::vector<ShardPlace>& places, Versions& versions) {
  const auto taken = std::stable_partition(
      versions.begin(), versions.end(), [&](const WrittenVersionPtr& version) {
        const ShardPlace place(version->chunk.slot.page, version->chunk.slot.slot);
        return !std::binary_search(places.begin(), places.end(), place);
      });
  Versions result(taken, versions.end());
  versions.erase(taken, versions.end());
  return result;
}

// Publishing some versions of one shard, once.
class ShardPublish {
 public:
  ShardPublish(const ShardPublishing::Parts& parts, ShardPublisher& publisher,
               ShardPublishing::Counters& counters, const DirtyShard& shard, Versions versions)
      : parts_(parts),
        publisher_(publisher),
        counters_(counters),
        shard_(shard),
        versions_(std::move(versions)),
        tree_(versions_.front()->tree),
        key_(JoinPath(tree_->directory(), ShardedOf(*tree_).shards().keys().Key(shard.shard))),
        attempt_key_(InSource(parts, key_)) {}

  Result<Done> Run();

 private:
  [[nodiscard]] Result<PublishRequest> Request();
  Status LeaveOutPublished();
  Result<ShardChanges> Changes() const;
  Result<PublishResult> Replace(std::vector<ShardChange> changes, const Versions& published);
  Status Record(const std::string& attempt, const Versions& published);
  [[nodiscard]] AttemptRecords::Sealed SealedOf(const WrittenVersion& version) const;
  Result<Done> EndPublished(const PublishResult& result, Versions published);
  Result<Done> EndFailed(const Versions& versions, Error error);
  Result<Done> LeaveRetired();
  tl::unexpected<Error> Refuse(const Versions& versions);
  [[nodiscard]] std::optional<Error> WhyLost(const WrittenVersion& version) const;
  [[nodiscard]] tl::unexpected<Error> HalvesMissing() const;

  const ShardPublishing::Parts& parts_;
  ShardPublisher& publisher_;
  ShardPublishing::Counters& counters_;
  const DirtyShard shard_;
  Versions versions_;
  const std::shared_ptr<ChunkTree> tree_;
  const std::string key_;
  const std::string attempt_key_;                    // in the source
  std::shared_ptr<const ShardFormat> other_format_;  // ShardedTree::OtherForm
  std::size_t waiting_ = 0;                          // of versions_: halves of meshes
  Done earlier_;                                     // what an attempt before this one has put
  bool retired_ = false;  // the metadata were replaced while the shard was rewritten
  // Of shards whose entries are one chunk each: what was replaced by what, or may have been.
  std::optional<ShardSet::OwnPublish> own_;
};

Result<Done> ShardPublish::Run() {
  // The metadata may have been replaced or removed without an event, as on a remote store.
  const auto serves = parts_.datasets->Serves(*tree_);
  if (!serves) {
    parts_.versions->AbandonPublish(versions_);
    return tl::unexpected<Error>(serves.error());
  }
  if (const Status left_out = LeaveOutPublished(); !left_out) {
    return EndFailed(versions_, left_out.error());
  }
  if (versions_.empty()) return earlier_;
  if (!*serves) return LeaveRetired();
  auto changes = Changes();
  if (!changes) return EndFailed(versions_, std::move(changes).error());
  waiting_ = changes->waiting.size();
  parts_.versions->AbandonPublish(changes->waiting);
  if (changes->changes.empty()) return HalvesMissing();
  // A version that has been committed again must not come back after a power loss once its
  // successor is published.
  if (const Status ready = parts_.versions->PrepareToPublish(changes->published); !ready) {
    return EndFailed(changes->published, ready.error());
  }
  const auto result = Replace(std::move(changes->changes), changes->published);
  if (retired_) return LeaveRetired();
  if (!result) return EndFailed(changes->published, result.error());
  return EndPublished(*result, std::move(changes->published));
}

Result<PublishRequest> ShardPublish::Request() {
  const ShardSet& set = ShardedOf(*tree_).shards();
  PublishRequest request;
  request.object.key = key_;
  if (const auto pair = set.keys().ObsoletePair(shard_.shard)) {
    request.object.obsolete = ShardKeys::Pair{JoinPath(tree_->directory(), pair->index),
                                              JoinPath(tree_->directory(), pair->data)};
  }
  request.shard = shard_.shard;
  request.format = &set.format();
  UNSHARD_ASSIGN_OR_RETURN(const auto other, ShardedOf(*tree_).OtherForm(shard_.shard));
  if (other) {
    request.object = {other->key, std::nullopt};
    other_format_ = other->format;
    request.format = other_format_.get();
  }
  request.has_leading = tree_->is_mesh();
  request.strict = parts_.strict;
  return request;
}

Result<ShardChanges> ShardPublish::Changes() const {
  if (!tree_->is_mesh()) return ChangesOf(parts_.written, versions_);
  return MeshChangesOf(parts_.written, *parts_.current, versions_, parts_.limits.max_chunk_bytes);
}

AttemptRecords::Sealed ShardPublish::SealedOf(const WrittenVersion& version) const {
  const auto spooled = parts_.written->SpooledOf(version);
  return spooled ? AttemptRecords::Sealed(spooled->spool, spooled->chunk.sequence)
                 : AttemptRecords::Sealed();
}

// Step 1: versions that the store has, or had until another host replaced them.
Status ShardPublish::LeaveOutPublished() {
  if (!parts_.attempts->Knows(attempt_key_)) return {};
  UNSHARD_ASSIGN_OR_RETURN(const auto put, parts_.attempts->Published(attempt_key_));
  const auto rest = std::stable_partition(
      versions_.begin(), versions_.end(),
      [&](const WrittenVersionPtr& version) { return put.contains(SealedOf(*version)); });
  const Versions published(versions_.begin(), rest);
  if (published.empty()) return {};
  versions_.erase(versions_.begin(), rest);
  const CommittedVersions::Published ended = parts_.versions->EndPublish(published, std::nullopt);
  earlier_ = Done{ended.chunks, ended.bytes};
  // In this order: what is committed in between must not take what the shard held before the
  // attempt for what it replaces.
  Renew(parts_, *tree_, shard_.shard);
  parts_.written->ForgetPublished(shard_);
  if (versions_.empty()) parts_.attempts->Forget(attempt_key_);
  return {};
}

// Step 3. A request of an earlier attempt may have arrived since step 1: then other hosts may have
// replaced what it has put.
Status ShardPublish::Record(const std::string& attempt, const Versions& published) {
  std::vector<AttemptRecords::Sealed> files;
  files.reserve(published.size());
  for (const WrittenVersionPtr& version : published) files.push_back(SealedOf(*version));
  if (parts_.attempts->Knows(attempt_key_)) {
    UNSHARD_ASSIGN_OR_RETURN(const auto put, parts_.attempts->Published(attempt_key_));
    const bool late = std::any_of(files.begin(), files.end(),
                                  [&](const auto& file) { return put.contains(file); });
    if (late) return Fail(ErrorCode::kConflict, key_, ": an earlier attempt has succeeded");
  }
  return parts_.attempts->Record(attempt_key_, attempt, files);
}

Result<PublishResult> ShardPublish::Replace(std::vector<ShardChange> changes,
                                            const Versions& published) {
  UNSHARD_ASSIGN_OR_RETURN(PublishRequest request, Request());
  request.changes = std::move(changes);
  std::optional<ShardSet::Replacement> replacement;
  // The metadata may have been replaced since the publish began: one request, as late as can be.
  request.committing = [&](const std::string& attempt) -> Status {
    UNSHARD_ASSIGN_OR_RETURN(const bool serves, parts_.datasets->Serves(*tree_));
    retired_ = !serves;
    if (retired_) return Fail(ErrorCode::kConflict, key_, ": ", kStoredOtherwise);
    UNSHARD_RETURN_IF_ERROR(Record(attempt, published));
    UNSHARD_ASSIGN_OR_RETURN(
        auto begun, ShardedOf(*tree_).shards().BeginReplacement(shard_.shard, CallerDeadline()));
    replacement.emplace(std::move(begun));
    return {};
  };
  request.committed = [&](const ShardSet::OwnPublish* own) {
    if (own != nullptr) {
      const auto generation = replacement->Finish(*own);
      if (!generation) LogWarning(generation.error().message);
      if (!tree_->is_mesh()) own_ = *own;
    }
    replacement.reset();
  };
  return publisher_.Publish(request);
}

Result<Done> ShardPublish::EndPublished(const PublishResult& result, Versions published) {
  tree_->ForgetListings();
  const Versions refused = TakeAt(result.refused, published);
  const CommittedVersions::Published ended = parts_.versions->EndPublish(published, own_);
  counters_.bytes_published += result.bytes_written;
  parts_.attempts->Forget(attempt_key_);
  // Where objects pass through, programs can also write a chunk by the name of its object.
  const ShardSet& shards = ShardedOf(*tree_).shards();
  const bool has_index = shards.format().fixed_index_bytes() != 0;
  if (shards.options().ttl_milliseconds == 0 && !has_index) {
    parts_.written->ForgetPublished(shard_);
    Renew(parts_, *tree_, shard_.shard);
  }
  for (const auto& place : result.conflicting) {
    if (std::binary_search(result.refused.begin(), result.refused.end(), place)) continue;
    ++counters_.conflicts;
    const auto& [page, slot] = place;
    LogWarning(key_ + ": " + tree_->Path({{shard_.shard, page, slot}, ChunkPart::kPlain}) +
               " had been changed by another process; the version written here has replaced it");
  }
  if (!refused.empty()) return Refuse(refused);
  if (waiting_ != 0) return HalvesMissing();
  return Done{ended.chunks + earlier_.chunks, ended.bytes + earlier_.bytes};
}

tl::unexpected<Error> ShardPublish::HalvesMissing() const {
  return FailWith(EAGAIN, ErrorCode::kUnavailable, key_, ": ", waiting_,
                  " mesh files wait for their other half: a manifest must announce exactly the "
                  "bytes of its fragment file");
}

// Nothing where the spool has the bytes of the version.
std::optional<Error> ShardPublish::WhyLost(const WrittenVersion& version) const {
  const auto spooled = version.removed ? std::nullopt : parts_.written->SpooledOf(version);
  if (!spooled) return std::nullopt;
  const auto file = spooled->spool->Open(spooled->chunk);
  if (file || file.error().code != ErrorCode::kDataLoss) return std::nullopt;
  return file.error();
}

// Versions whose file another process has removed from the spool are discarded, so that the others
// can be published.
Result<Done> ShardPublish::EndFailed(const Versions& versions, Error error) {
  Versions lost, others;
  for (const WrittenVersionPtr& version : versions) {
    auto why = WhyLost(*version);
    (why ? lost : others).push_back(version);
    if (!why) continue;
    LogError(why->message);
    error = *std::move(why);
  }
  parts_.versions->AbandonPublish(others, own_);
  if (!lost.empty()) {
    counters_.lost += lost.size();
    parts_.versions->Discard(parts_.versions->Withdraw(shard_, lost));
    Renew(parts_, *tree_, shard_.shard);
  }
  return tl::unexpected<Error>(std::move(error));
}

// "image/c/0/0", or "image/c/0/0 and 2 other files".
std::string NamesOf(const std::string& first, std::size_t count) {
  if (count == 1) return first;
  return first + " and " + std::to_string(count - 1) +
         (count == 2 ? " other file" : " other files");
}

// Other processes have changed these chunks, and what they wrote stays: in strict mode, and where
// an earlier mount has committed these versions.
tl::unexpected<Error> ShardPublish::Refuse(const Versions& versions) {
  for (const auto& spooled : parts_.versions->Withdraw(shard_, versions)) {
    parts_.versions->Quarantine(spooled, std::string(kChangedByOthers));
  }
  Renew(parts_, *tree_, shard_.shard);
  const std::string first = JoinPath(tree_->directory(), tree_->Path(versions.front()->chunk));
  return Fail(ErrorCode::kConflict, NamesOf(first, versions.size()), ": ", kChangedByOthers,
              "; what was written here is quarantined");
}

// The array of these versions was removed, or is stored in another way. Where only its shape has
// changed they wait for the shards of the tree that is served now; else they are quarantined.
Result<Done> ShardPublish::LeaveRetired() {
  const auto withdrawn = parts_.versions->Withdraw(shard_, versions_);
  if (const auto home = parts_.datasets->index().HomeOf(*tree_); home && parts_.on_renewed) {
    for (const std::string_view name : kShardDocuments) {
      parts_.on_renewed(InSource(parts_, JoinPath(*home, name)));
    }
  }
  const auto successor = parts_.datasets->index().SuccessorOf(*tree_);
  std::string first;
  std::size_t quarantined = 0;
  for (const CommittedVersions::Spooled& spooled : withdrawn) {
    const auto place = successor ? FindChunk(successor, spooled.chunk.chunk) : std::nullopt;
    if (place) {
      parts_.versions->Adopt(spooled, *place);
      continue;
    }
    if (++quarantined == 1) first = JoinPath(tree_->directory(), spooled.chunk.chunk);
    parts_.versions->Quarantine(spooled, std::string(kStoredOtherwise));
  }
  if (quarantined == 0) return Done{0, 0, false};
  return Fail(ErrorCode::kConflict, NamesOf(first, quarantined), ": ", kStoredOtherwise,
              kIsQuarantined);
}

}  // namespace

Result<Done> ShardPublishing::Publish(const DirtyShard& shard) {
  Versions versions = parts_.written->BeginPublish(shard);
  if (versions.empty()) return Done{0, 0, false};
  ShardPublish publish(parts_, publisher_, counters_, shard, std::move(versions));
  auto done = publish.Run();
  ForgetOldPublishes();
  return done;
}

void ShardPublishing::ForgetOldPublishes() {
  while (const auto oldest = parts_.written->Oldest(parts_.remembered)) {
    const DirtyShard& at = oldest->shard;
    const auto tree = parts_.datasets->TreeAt(static_cast<std::uint32_t>(at.tree));
    // Before: where a version is forgotten a look-up must not lead to pages of older bytes.
    if (tree) Renew(parts_, *tree, at.shard);
    // More than are too many: a renewed shard costs the kernel all names in it.
    parts_.written->ForgetOldest(at, oldest->versions + parts_.remembered / 8);
  }
}

}  // namespace unshard
