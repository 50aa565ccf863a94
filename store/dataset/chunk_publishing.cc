// The publishing half of ChunkWrites: from versions in the spool to one rewritten shard, and taking
// up again what a spool holds after a crash.
#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "codec/core/crc32c.h"
#include "codec/precomputed/mesh_manifest.h"
#include "store/dataset/chunk_writes.h"
#include "store/local/memory_file.h"
#include "store/object/log.h"
#include "store/spool/replay_order.h"

namespace unshard {
namespace {

constexpr const char* kChangedByOthers = "somebody else has changed this chunk since";
constexpr const char* kLaidOutAnew =
    "the metadata of the array were removed, or say now that its chunks are stored otherwise";

// Takes those that stand at one of these pages and slots out of `versions`.
std::vector<WrittenVersionPtr> TakeAll(
    std::vector<WrittenVersionPtr>& versions,
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& places) {
  const auto others = std::stable_partition(
      versions.begin(), versions.end(), [&](const WrittenVersionPtr& version) {
        const std::pair place(version->chunk.slot.page, version->chunk.slot.slot);
        return !std::binary_search(places.begin(), places.end(), place);
      });
  std::vector<WrittenVersionPtr> taken(others, versions.end());
  versions.erase(others, versions.end());
  return taken;
}

}  // namespace

// What is to be published of one mesh.
struct ChunkWrites::MeshFiles {
  WrittenVersionPtr manifest, fragments;
};

std::vector<ChunkWrites::MeshFiles> ChunkWrites::PairMeshFiles(
    const std::vector<WrittenVersionPtr>& versions) {
  std::map<ShardPlace, MeshFiles> by_place;
  for (const WrittenVersionPtr& version : versions) {
    MeshFiles& files = by_place[{version->chunk.slot.page, version->chunk.slot.slot}];
    const bool fragments = version->chunk.part == ChunkPart::kFragments;
    (fragments ? files.fragments : files.manifest) = version;
  }
  std::vector<MeshFiles> pairs;
  for (auto& [place, files] : by_place) pairs.push_back(std::move(files));
  return pairs;
}

Result<std::shared_ptr<File>> ChunkWrites::OpenSpooled(const WrittenVersionPtr& version) {
  const auto spooled = parts_.written->SpooledOf(*version);
  if (!spooled) return Fail(ErrorCode::kInternal, "a version that is published has left the spool");
  return spooled->spool->Open(spooled->chunk);
}

ShardChange ChunkWrites::ChangeOf(const WrittenVersionPtr& version) {
  ShardChange change;
  change.page = version->chunk.slot.page;
  change.slot = version->chunk.slot.slot;
  change.removed = version->removed;
  change.size = version->size;
  if (!version->removed) change.open = [this, version] { return OpenSpooled(version); };
  const ReplacedBytes replaces = parts_.written->ReplacedBy(*version);
  change.expected = replaces.base;
  change.also_expected = replaces.other;
  change.put = FingerprintOf(*version);
  return change;
}

std::vector<ShardChange> ChunkWrites::Changes(const std::vector<WrittenVersionPtr>& versions) {
  std::vector<ShardChange> changes;
  changes.reserve(versions.size());
  for (const WrittenVersionPtr& version : versions) changes.push_back(ChangeOf(version));
  return changes;
}

// The manifest and the fragments of a mesh are two files and one entry: they are published when
// they fit together. Versions that have to wait for their other half are taken out of `versions`.
Result<std::vector<ShardChange>> ChunkWrites::MeshChanges(
    const std::shared_ptr<ChunkTree>& tree, std::vector<WrittenVersionPtr>& versions) {
  std::vector<ShardChange> changes;
  std::vector<WrittenVersionPtr> waiting;
  for (const MeshFiles& files : PairMeshFiles(versions)) {
    if (files.manifest && files.manifest->removed) {
      changes.push_back(ChangeOf(files.manifest));
      // Fragments that were written since are the first half of what is to come.
      const bool anew = files.fragments && !files.fragments->removed &&
                        files.fragments->number > files.manifest->number;
      if (anew) waiting.push_back(files.fragments);
      continue;
    }
    UNSHARD_ASSIGN_OR_RETURN(auto change, MeshChange(tree, files));
    if (change) {
      changes.push_back(*std::move(change));
      continue;
    }
    for (const WrittenVersionPtr& half : {files.manifest, files.fragments}) {
      if (half) waiting.push_back(half);
    }
  }
  std::erase_if(versions, [&](const WrittenVersionPtr& version) {
    return std::find(waiting.begin(), waiting.end(), version) != waiting.end();
  });
  Discard(parts_.written->AbandonPublish(waiting));
  return changes;
}

// Nothing where the halves that there are do not fit together.
Result<std::optional<ShardChange>> ChunkWrites::MeshChange(const std::shared_ptr<ChunkTree>& tree,
                                                           const MeshFiles& files) {
  const ShardSlot slot = (files.manifest ? files.manifest : files.fragments)->chunk.slot;
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr manifest, Current(tree, {slot, ChunkPart::kPlain}));
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr fragments,
                           Current(tree, {slot, ChunkPart::kFragments}));
  if (!manifest) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const Bytes bytes, ReadAll(*manifest, max_chunk_bytes_));
  const auto announced = MeshFragmentBytes(bytes.span());
  // The manifest announces no fragments, and nobody has to write a file of them.
  const bool none = announced && *announced == 0 && !files.fragments;
  const bool fit = announced && (none || (fragments && *announced == fragments->size()));
  if (!fit) return std::nullopt;
  ShardChange change = ChangeOf(files.manifest ? files.manifest : files.fragments);
  if (!files.manifest) {
    // The manifest of the base, which stays as it is.
    const ChunkFingerprint there{false, bytes.size(), Crc32c(bytes.span())};
    change.expected = there;
    change.also_expected.reset();
    change.put = there;
    change.size = manifest->size();
    // In memory: a full spool has no room for it.
    change.open = [manifest, size = max_chunk_bytes_]() -> Result<std::shared_ptr<File>> {
      auto copy = std::make_shared<MemoryFile>("the manifest", size);
      UNSHARD_RETURN_IF_ERROR(ForEachPiece(
          *manifest, [&](std::uint64_t at, ByteSpan piece) { return copy->Write(at, piece); }));
      return copy;
    };
  }
  if (files.fragments) {
    const ShardChange of_fragments = ChangeOf(files.fragments);
    change.leading_size = files.fragments->size;
    change.leading =
        ExpectedBytes{of_fragments.expected, of_fragments.also_expected, of_fragments.put};
    change.open_leading = [this, version = files.fragments] { return OpenSpooled(version); };
  }
  if (none) {
    change.open_leading = []() -> Result<std::shared_ptr<File>> {
      return std::make_shared<MemoryFile>("no fragments", 0);
    };
  }
  return change;
}

Result<PublishQueue::Done> ChunkWrites::Publish(const DirtyShard& shard) {
  std::vector<WrittenVersionPtr> versions = parts_.written->BeginPublish(shard);
  if (versions.empty()) return PublishQueue::Done{0, 0, false};
  const std::shared_ptr<ChunkTree> tree = versions.front()->tree;
  // Nobody need have told us that the metadata were replaced or removed.
  const auto serves = parts_.datasets->Serves(*tree);
  if (!serves) {
    Discard(parts_.written->AbandonPublish(versions));
    return tl::unexpected<Error>(serves.error());
  }
  if (!*serves) return LeaveRetired(tree, shard, versions);
  return PublishVersions(tree, shard, std::move(versions));
}

// The array of these versions is no more, or is stored in another way. Where only its shape has
// changed they go on waiting for the shards of its new tree; else they are quarantined.
Result<PublishQueue::Done> ChunkWrites::LeaveRetired(
    const std::shared_ptr<ChunkTree>& tree, const DirtyShard& shard,
    const std::vector<WrittenVersionPtr>& versions) {
  const WrittenChunks::Withdrawn withdrawn = parts_.written->Withdraw(versions);
  Discard(withdrawn.discard);
  parts_.written->ForgetPublished(shard);
  if (const auto home = parts_.datasets->index().HomeOf(*tree); home && parts_.on_renewed) {
    for (const std::string_view name : {kInfoDocument, kZarrDocument}) {
      parts_.on_renewed(JoinPath(*home, name));
    }
  }
  const auto successor = parts_.datasets->index().SuccessorOf(*tree);
  std::size_t quarantined = 0;
  for (const WrittenChunks::Spooled& waiting : withdrawn.keep) {
    const auto place = successor ? PlaceIn(successor, waiting.chunk.chunk) : std::nullopt;
    if (place) {
      Adopt(waiting, *place, false);
      continue;
    }
    ++quarantined;
    SetAside(waiting, kLaidOutAnew);
  }
  if (quarantined == 0) return PublishQueue::Done{0, 0, false};
  return Fail(ErrorCode::kConflict,
              JoinPath(tree->directory(), withdrawn.keep.front().chunk.chunk) + " and " +
                  std::to_string(quarantined - 1) + " other files: " + kLaidOutAnew +
                  "; they are quarantined (unshard spool list)");
}

// A chunk that was written again must not be able to lose its later version once that is published.
Status ChunkWrites::PrepareToPublish(const std::vector<WrittenVersionPtr>& versions) {
  for (const auto& spool : parts_.spools) {
    const auto chunks = parts_.written->SpooledIn(*spool, versions);
    if (!chunks.empty()) UNSHARD_RETURN_IF_ERROR(spool->PrepareToPublish(chunks));
  }
  return {};
}

Result<PublishQueue::Done> ChunkWrites::PublishVersions(const std::shared_ptr<ChunkTree>& tree,
                                                        const DirtyShard& shard,
                                                        std::vector<WrittenVersionPtr> versions) {
  ShardSet& set = ShardedOf(*tree).shards();
  PublishRequest request;
  request.object.key = JoinPath(tree->directory(), set.keys().Key(shard.shard));
  if (const auto pair = set.keys().ObsoletePair(shard.shard)) {
    request.object.obsolete = ShardKeys::Pair{JoinPath(tree->directory(), pair->index),
                                              JoinPath(tree->directory(), pair->data)};
  }
  request.shard = shard.shard;
  request.format = &set.format();
  request.has_leading = tree->is_mesh();
  request.strict = options_.strict;
  const std::vector<WrittenVersionPtr> begun = versions;
  auto changes = tree->is_mesh() ? MeshChanges(tree, versions) : Changes(versions);
  if (!changes) return EndFailedPublish(tree, shard, begun, std::move(changes).error());
  const std::size_t waiting = begun.size() - versions.size();
  const auto still_waiting = [&] {
    return Fail(ErrorCode::kUnavailable,
                request.object.key + ": " + std::to_string(waiting) +
                    " mesh files wait for their other half: a manifest announces as many fragment "
                    "bytes as its fragment file has");
  };
  if (changes->empty()) return still_waiting();
  request.changes = *std::move(changes);
  if (const Status prepared = PrepareToPublish(versions); !prepared) {
    return EndFailedPublish(tree, shard, versions, prepared.error());
  }
  std::optional<ShardSet::Replacement> replacement;
  bool retired = false;
  // 3. The metadata may have been replaced since the shard was begun: one request, as late as can
  // be. Who looks at this shard in between waits, and sees the new one.
  request.committing = [&]() -> Status {
    UNSHARD_ASSIGN_OR_RETURN(const bool serves, parts_.datasets->Serves(*tree));
    retired = !serves;
    if (retired) return Fail(ErrorCode::kConflict, request.object.key + ": " + kLaidOutAnew);
    replacement.emplace(set.BeginReplacement(shard.shard));
    return {};
  };
  request.committed = [&](const ShardSet::OwnPublish* own) {
    if (own != nullptr) {
      const auto generation = replacement->Finish(*own);
      if (!generation) LogWarning(generation.error().message);
    }
    replacement.reset();
  };
  const auto result = publisher_.Publish(request);
  if (retired) return LeaveRetired(tree, shard, begun);
  if (!result) return EndFailedPublish(tree, shard, versions, result.error());
  tree->ForgetListings();
  std::vector<WrittenVersionPtr> refused;
  if (options_.strict) refused = TakeAll(versions, result->conflicting);
  const WrittenChunks::Published ended = parts_.written->EndPublish(versions);
  Discard(ended.discard);
  bytes_published_ += result->bytes_written;
  if (!refused.empty()) return Withdraw(tree, shard, refused);
  conflicts_ += result->conflicts;
  for (const auto& [page, slot] : result->conflicting) {
    LogWarning(request.object.key + ": " +
               tree->Path({{shard.shard, page, slot}, ChunkPart::kPlain}) +
               " had been changed by somebody else; the version written here has replaced it");
  }
  ForgetOldPublishes();
  if (waiting != 0) return still_waiting();
  return PublishQueue::Done{ended.chunks, ended.bytes};
}

std::optional<Error> ChunkWrites::WhyLost(const WrittenVersion& version) const {
  const auto spooled = version.removed ? std::nullopt : parts_.written->SpooledOf(version);
  if (!spooled) return std::nullopt;
  const auto file = spooled->spool->Open(spooled->chunk);
  if (file || file.error().code != ErrorCode::kDataLoss) return std::nullopt;
  return file.error();
}

tl::unexpected<Error> ChunkWrites::EndFailedPublish(const std::shared_ptr<ChunkTree>& tree,
                                                    const DirtyShard& shard,
                                                    const std::vector<WrittenVersionPtr>& versions,
                                                    Error error) {
  std::vector<WrittenVersionPtr> lost;
  std::vector<WrittenVersionPtr> others;
  for (const WrittenVersionPtr& version : versions) {
    auto why = WhyLost(*version);
    (why ? lost : others).push_back(version);
    if (!why) continue;
    LogError(why->message);
    error = *std::move(why);
  }
  Discard(parts_.written->AbandonPublish(others));
  if (lost.empty()) return tl::unexpected<Error>(std::move(error));
  lost_ += lost.size();
  const WrittenChunks::Withdrawn withdrawn = parts_.written->Withdraw(lost);
  Discard(withdrawn.discard);
  Discard(withdrawn.keep);
  parts_.written->ForgetPublished(shard);
  Renew(tree, shard);
  return tl::unexpected<Error>(std::move(error));
}

tl::unexpected<Error> ChunkWrites::Withdraw(const std::shared_ptr<ChunkTree>& tree,
                                            const DirtyShard& shard,
                                            const std::vector<WrittenVersionPtr>& versions) {
  const WrittenChunks::Withdrawn withdrawn = parts_.written->Withdraw(versions);
  Discard(withdrawn.discard);
  for (const auto& spooled : withdrawn.keep) SetAside(spooled, kChangedByOthers);
  parts_.written->ForgetPublished(shard);
  Renew(tree, shard);
  return Fail(ErrorCode::kConflict,
              tree->Path(versions.front()->chunk) + " and " + std::to_string(versions.size() - 1) +
                  " other files: " + kChangedByOthers + "; what was written here is set aside");
}

void ChunkWrites::SetAside(const WrittenChunks::Spooled& spooled, const std::string& why) {
  LogWarning(spooled.spool->Describe(spooled.chunk) + ": " + why +
             "; it is kept in the spool's conflicts");
  const Status moved = spooled.spool->SetAside(spooled.chunk);
  if (!moved) LogError(moved.error().message);
  ++conflicts_;
}

std::optional<ChunkWrites::Place> ChunkWrites::Resolve(const SpooledChunk& chunk) {
  // What was not searched when mounting is found as look-ups find it: from the top down.
  for (std::size_t end = chunk.dataset.find('/'); end != std::string::npos;
       end = chunk.dataset.find('/', end + 1)) {
    parts_.datasets->Find(chunk.dataset.substr(0, end));
  }
  const auto overlay = parts_.datasets->Find(chunk.dataset);
  if (!overlay) return std::nullopt;
  for (const auto& tree : overlay->trees) {
    if (auto place = PlaceIn(tree, chunk.chunk)) return place;
  }
  return std::nullopt;
}

std::optional<ChunkWrites::Place> ChunkWrites::PlaceIn(const std::shared_ptr<ChunkTree>& tree,
                                                       std::string_view path) {
  GridDirectory in;
  for (;;) {
    const std::size_t slash = path.find('/');
    const ChunkTree::Match match = tree->Resolve(in, path.substr(0, slash));
    if (slash == std::string_view::npos) {
      if (match.kind != ChunkTree::Match::Kind::kChunk) return std::nullopt;
      return Place{tree, match.chunk};
    }
    if (match.kind != ChunkTree::Match::Kind::kDirectory) return std::nullopt;
    in = match.directory;
    path.remove_prefix(slash + 1);
  }
}

void ChunkWrites::Replay() {
  std::vector<std::vector<SpooledChunk>> recovered;
  for (const auto& spool : parts_.spools) recovered.push_back(spool->TakeRecovered());
  // The latest of one chunk is the last to take its place.
  const std::vector<ReplayedChunk> found = InReplayOrder(std::move(recovered));
  std::map<std::string, std::vector<WrittenChunks::Spooled>> published;
  for (const auto& [number, chunk] : found) {
    const std::shared_ptr<Spool>& spool = parts_.spools[number];
    if (const auto directory = ReplayChunk(spool, chunk)) {
      published[*directory].push_back({spool, chunk});
    }
  }
  for (const auto& [directory, chunks] : published) {
    // The mount before may have ended between committing a shard and making it durable.
    const Status durable = parts_.replacer->MakeDurable(directory);
    if (!durable) {
      LogWarning(durable.error().message);
    } else {
      Discard(chunks);
    }
  }
  if (found.empty()) return;
  LogInfo(parts_.replacer->Describe("") + ": " + std::to_string(found.size()) +
          " chunks of earlier mounts wait in the spool to be published");
}

// The directory of the shard that has the chunk already; nothing where it is taken up or set aside.
std::optional<std::string> ChunkWrites::ReplayChunk(const std::shared_ptr<Spool>& from,
                                                    const SpooledChunk& chunk) {
  const auto place = Resolve(chunk);
  if (!place) {
    SetAside({from, chunk}, "the source has no place for this chunk any more");
    return std::nullopt;
  }
  const auto stored = StoredFingerprint(place->tree, place->chunk);
  const SealTerms& terms = chunk.terms;
  ChunkFingerprint own;
  if (!chunk.removed) own = {false, chunk.size, chunk.crc32c};
  if (stored && *stored == own) {
    return ParentPath(*place->tree->chunks().ReplacedKey(place->chunk));
  }
  if (terms.layout && *terms.layout != place->tree->layout_digest()) {
    SetAside({from, chunk}, kLaidOutAnew);
    return std::nullopt;
  }
  const bool as_expected =
      !stored || *stored == terms.base || (terms.other_base && *stored == *terms.other_base);
  if (!as_expected) {
    SetAside({from, chunk}, kChangedByOthers);
    return std::nullopt;
  }
  // Seals of earlier releases do not tell the layout that it was written for.
  if (const Status fits = CheckSpooled(*from, chunk, *place); !fits) {
    SetAside({from, chunk},
             "it cannot be a chunk of what stands there now: " + fits.error().message);
    return std::nullopt;
  }
  Adopt({from, chunk}, *place, stored && stored->absent);
  return std::nullopt;
}

Status ChunkWrites::CheckSpooled(Spool& from, const SpooledChunk& chunk, const Place& place) const {
  if (chunk.removed || place.chunk.part == ChunkPart::kFragments) return {};
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file, from.Open(chunk));
  return CheckBytes(*place.tree, place.chunk, chunk.size,
                    [&](std::span<std::uint8_t> to) { return file->Read(0, to); });
}

// What a spool holds becomes the latest version of a chunk, and is published some time.
void ChunkWrites::Adopt(const WrittenChunks::Spooled& spooled, const Place& place, bool first) {
  const auto& [from, chunk] = spooled;
  auto version = std::make_shared<WrittenVersion>();
  version->tree = place.tree;
  version->chunk = place.chunk;
  version->number = ++next_number_;
  version->removed = chunk.removed;
  version->first = first;
  version->size = chunk.size;
  version->crc32c = chunk.crc32c;
  version->modified = chunk.committed;
  version->spool = from;
  version->spooled = chunk;
  MakeLatest(version);
  ++adopted_;
}

}  // namespace unshard
