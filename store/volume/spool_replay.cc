#include "store/volume/spool_replay.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "store/files/file_table.h"
#include "store/object/log.h"
#include "store/object/parallel.h"
#include "store/spool/replay_order.h"
#include "store/volume/quarantine_reasons.h"

namespace unshard {

using Put = WrittenVersion::Put;

namespace {

constexpr std::size_t kChunksAtOnce = 16;

}  // namespace

void SpoolReplay::Run(const std::vector<std::shared_ptr<Spool>>& spools) {
  std::vector<std::vector<SpooledChunk>> recovered;
  for (const auto& spool : spools) {
    recovered.push_back(spool->TakeRecovered());
    attempts_.Adopt(spool);
  }
  // Of several versions of one chunk the latest becomes the latest one last.
  const std::vector<ReplayedChunk> found = InReplayOrder(std::move(recovered));
  std::map<std::string, std::vector<CommittedVersions::Spooled>>
      published;                   // by directory of shards
  std::set<std::string> waiting;   // keys of objects
  std::set<std::string> replaced;  // keys of shards
  const auto is_file = [&](const SpooledChunk& chunk) {
    return chunk.terms.whole_file && replay_file_;
  };
  // No request is served before the store has answered for all of them.
  std::vector<Fate> fates(found.size());
  ForEachInParallel(found.size(), kChunksAtOnce, [&](std::size_t i) {
    if (!is_file(found[i].chunk)) fates[i] = FateOf({spools[found[i].spool], found[i].chunk});
  });
  for (std::size_t i = 0; i < found.size(); ++i) {
    const SpooledChunk& chunk = found[i].chunk;
    const CommittedVersions::Spooled spooled{spools[found[i].spool], chunk};
    if (is_file(chunk)) {
      replay_file_(spooled.spool, chunk);
      waiting.insert(KeyOf(chunk));
      continue;
    }
    const Fate& fate = fates[i];
    switch (fate.kind) {
      case Fate::Kind::kPublished: {
        const auto key = fate.place.tree->chunks().ReplacedKey(fate.place.chunk);
        published[ParentPath(*key)].push_back(spooled);
        if (!chunk.removed) replaced.insert(*key);
        break;
      }
      case Fate::Kind::kWaits: {
        const std::string key = AttemptKey(fate.place);
        const bool may_arrive = attempts_.Names(key, {spooled.spool, chunk.sequence});
        versions_.Adopt(spooled, fate.place, fate.stored, may_arrive ? Put::kPerhaps : Put::kNo);
        waiting.insert(key);
        break;
      }
      case Fate::Kind::kQuarantined:
        versions_.Quarantine(spooled, fate.why);
        break;
    }
  }
  for (const auto& [directory, chunks] : published) {
    // The earlier mount may have ended between the rename of a shard and the fsync of its
    // directory.
    if (const Status durable = replacer_.MakeDurable(directory); !durable) {
      LogWarning(durable.error().message);
    } else {
      versions_.Discard(chunks);
    }
  }
  if (!replay_file_) RemoveLeftLocks(replaced);
  attempts_.ForgetAllBut(waiting);
  if (found.empty()) return;
  LogInfo(
      replacer_.Describe("") + ": " + std::to_string(found.size()) +
      (found.size() == 1 ? " chunk of an earlier mount waits" : " chunks of earlier mounts wait") +
      " in the spool to be published");
}

// Of shards in directories: the earlier mount may have ended before it removed its locks, and no
// publish of ours comes to do so. A replacement that is not committed removes them. A lock that a
// living process holds is not waited for.
void SpoolReplay::RemoveLeftLocks(const std::set<std::string>& shards) {
  for (const std::string& key : shards) {
    const auto begun = replacer_.Begin({key, std::nullopt}, Deadline{{}, {}});
    if (!begun) LogDebug(begun.error().message);
  }
}

std::string SpoolReplay::AttemptKey(const ChunkInTree& place) const {
  const std::string key = place.tree->chunks().ReplacedKey(place.chunk).value_or("");
  return key.substr(std::min(root_.size(), key.size()));
}

// `root_` ends with the slash that a dataset in the source's own root has not.
std::string SpoolReplay::DirectoryOf(const SpooledChunk& chunk) const {
  return JoinPath(ParentPath(root_), chunk.dataset);
}

// What cannot be asked now is asked again before the chunk is published.
bool SpoolReplay::WasPut(const std::string& key, const CommittedVersions::Spooled& spooled) {
  if (!attempts_.Knows(key)) return false;
  const auto put = attempts_.Published(key);
  if (!put) LogWarning(put.error().message);
  return put && put->contains({spooled.spool, spooled.chunk.sequence});
}

SpoolReplay::Fate SpoolReplay::FateOf(const CommittedVersions::Spooled& spooled) {
  const auto quarantined = [](std::string why) {
    return Fate{Fate::Kind::kQuarantined, std::move(why)};
  };
  const SpooledChunk& chunk = spooled.chunk;
  const SealTerms& terms = chunk.terms;
  if (terms.whole_file) return quarantined("the files of this source are written in place");
  const auto place = FindChunk(datasets_, DirectoryOf(chunk), chunk.chunk);
  if (!place) return quarantined("the source has no place for this chunk any more");
  const auto stored = current_.StoredFingerprint(place->tree, place->chunk);
  ChunkFingerprint own;
  if (!chunk.removed) own = {false, chunk.size, chunk.checksum};
  if (stored && stored->fingerprint == own) return {Fate::Kind::kPublished, "", *place};
  if (WasPut(AttemptKey(*place), spooled)) return {Fate::Kind::kPublished, "", *place};
  if (terms.layout && *terms.layout != place->tree->layout_digest()) {
    return quarantined(std::string(kStoredOtherwise));
  }
  const bool known =
      stored && (stored->fingerprint == terms.base || stored->fingerprint == terms.other_base ||
                 (terms.base.unknown && stored->fingerprint.absent));
  if (stored && !known && !terms.base.unknown) return quarantined(std::string(kChangedByOthers));
  // Seals of earlier releases do not name the layout that the chunk was written for.
  if (const Status fits = CheckBytes(spooled, *place); !fits) {
    return quarantined("it does not fit the present dataset: " + fits.error().message);
  }
  Fate waits{Fate::Kind::kWaits, "", *place};
  if (known) waits.stored = *stored;
  return waits;
}

Status SpoolReplay::CheckBytes(const CommittedVersions::Spooled& spooled,
                               const ChunkInTree& place) const {
  const SpooledChunk& chunk = spooled.chunk;
  if (chunk.removed || place.chunk.part == ChunkPart::kFragments) return {};
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> file, spooled.spool->Open(chunk));
  return checks_.CheckBytes(*place.tree, place.chunk, chunk.size,
                            [&](std::span<std::uint8_t> to) { return file->Read(0, to); });
}

}  // namespace unshard
