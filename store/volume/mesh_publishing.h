// Publishing meshes: the manifest and the fragments of a mesh are two chunk files and one entry of
// the shard.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "store/chunks/current_chunks.h"
#include "store/volume/shard_changes.h"

namespace unshard {

// A mesh is published once its manifest announces as many fragment bytes as its fragment file has;
// until then both of its versions wait for the other half. In place of a half that has not been
// written counts the half that readers see now. Fails where that cannot be read. Manifests have at
// most `max_manifest_bytes`.
Result<ShardChanges> MeshChangesOf(const std::shared_ptr<const CommittedVersions>& written,
                                   const CurrentChunks& current,
                                   const std::vector<WrittenVersionPtr>& versions,
                                   std::uint64_t max_manifest_bytes);

}  // namespace unshard
