// What a publish has to change in a shard for committed versions.
#pragma once

#include <memory>
#include <vector>

#include "store/chunks/committed_versions.h"
#include "store/publish/publisher.h"

namespace unshard {

// The bytes of a version that is being published: they are in its spool until that has ended.
Result<std::shared_ptr<File>> OpenSpooled(const CommittedVersions& written,
                                          const WrittenVersion& version);

// The change opens the version's file when the publisher asks for it. kInternal from that where
// the version is not being published.
ShardChange ChangeOf(const std::shared_ptr<const CommittedVersions>& written,
                     const WrittenVersionPtr& version);

// What can be published of some versions of one shard.
struct ShardChanges {
  std::vector<ShardChange> changes;
  std::vector<WrittenVersionPtr> published;  // the versions that the changes are of
  std::vector<WrittenVersionPtr> waiting;    // the others
};
// All of them, one change each.
ShardChanges ChangesOf(const std::shared_ptr<const CommittedVersions>& written,
                       std::vector<WrittenVersionPtr> versions);

}  // namespace unshard
