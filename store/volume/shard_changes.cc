#include "store/volume/shard_changes.h"

#include <utility>

namespace unshard {

Result<std::shared_ptr<File>> OpenSpooled(const CommittedVersions& written,
                                          const WrittenVersion& version) {
  const auto spooled = written.SpooledOf(version);
  if (!spooled) return Fail(ErrorCode::kInternal, "a version that is published has left the spool");
  return spooled->spool->Open(spooled->chunk);
}

ShardChange ChangeOf(const std::shared_ptr<const CommittedVersions>& written,
                     const WrittenVersionPtr& version) {
  ShardChange change;
  change.page = version->chunk.slot.page;
  change.slot = version->chunk.slot.slot;
  change.removed = version->removed;
  change.yields = version->adopted;
  change.size = version->size;
  if (!version->removed) {
    change.open = [written, version] { return OpenSpooled(*written, *version); };
  }
  const ReplacedBytes replaces = written->ReplacedBy(*version);
  change.expected = replaces.base;
  change.also_expected = replaces.other;
  change.seen_in = replaces.seen_in;
  change.put = FingerprintOf(*version);
  return change;
}

ShardChanges ChangesOf(const std::shared_ptr<const CommittedVersions>& written,
                       std::vector<WrittenVersionPtr> versions) {
  ShardChanges changes;
  changes.changes.reserve(versions.size());
  for (const WrittenVersionPtr& version : versions) {
    changes.changes.push_back(ChangeOf(written, version));
  }
  changes.published = std::move(versions);
  return changes;
}

}  // namespace unshard
