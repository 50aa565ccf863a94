#include "store/volume/mesh_publishing.h"

#include <map>
#include <optional>
#include <utility>

#include "codec/core/checksum.h"
#include "codec/precomputed/mesh_manifest.h"
#include "store/local/memory_file.h"

namespace unshard {
namespace {

// The versions of one mesh; one of them may be null.
struct MeshFiles {
  WrittenVersionPtr manifest, fragments;
};

std::map<ShardPlace, MeshFiles> PairFiles(const std::vector<WrittenVersionPtr>& versions) {
  std::map<ShardPlace, MeshFiles> by_place;
  for (const WrittenVersionPtr& version : versions) {
    MeshFiles& files = by_place[{version->chunk.slot.page, version->chunk.slot.slot}];
    const bool fragments = version->chunk.part == ChunkPart::kFragments;
    (fragments ? files.fragments : files.manifest) = version;
  }
  return by_place;
}

void Append(std::vector<WrittenVersionPtr>& to, const MeshFiles& files) {
  for (const WrittenVersionPtr& half : {files.manifest, files.fragments}) {
    if (half) to.push_back(half);
  }
}

// Whether an earlier mount has committed both halves, or the only one.
bool AreAdopted(const MeshFiles& files) {
  return (!files.manifest || files.manifest->adopted) &&
         (!files.fragments || files.fragments->adopted);
}

// The change puts the manifest that the shard has already: only the fragments are new.
void KeepManifest(ShardChange& change, const ContentPtr& manifest, const Bytes& bytes,
                  std::uint64_t max_bytes) {
  const ChunkFingerprint there{false, bytes.size(), Checksum(bytes.span())};
  change.expected = there;
  change.also_expected.reset();
  change.seen_in.reset();
  change.put = there;
  change.size = manifest->size();
  // In memory: a full spool has no room for it.
  change.open = [manifest, max_bytes]() -> Result<std::shared_ptr<File>> {
    auto copy = std::make_shared<MemoryFile>("the manifest", max_bytes);
    UNSHARD_RETURN_IF_ERROR(ForEachPiece(
        *manifest, [&](std::uint64_t at, ByteSpan piece) { return copy->Write(at, piece); }));
    return copy;
  };
}

void PutFragments(ShardChange& change, const std::shared_ptr<const CommittedVersions>& written,
                  const WrittenVersionPtr& fragments) {
  const ShardChange of_fragments = ChangeOf(written, fragments);
  change.leading_size = fragments->size;
  change.leading = ExpectedBytes{of_fragments.expected, of_fragments.also_expected,
                                 of_fragments.seen_in, of_fragments.put};
  change.open_leading = [written, fragments] { return OpenSpooled(*written, *fragments); };
}

// Nothing where the halves that there are do not fit together.
Result<std::optional<ShardChange>> ChangeOfMesh(
    const std::shared_ptr<const CommittedVersions>& written, const CurrentChunks& current,
    const MeshFiles& files, std::uint64_t max_bytes) {
  const WrittenVersionPtr& half = files.manifest ? files.manifest : files.fragments;
  const ShardSlot slot = half->chunk.slot;
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr manifest,
                           current.Current(half->tree, {slot, ChunkPart::kPlain}));
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr fragments,
                           current.Current(half->tree, {slot, ChunkPart::kFragments}));
  if (!manifest) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const Bytes bytes, ReadAll(*manifest, max_bytes));
  const auto announced = MeshFragmentBytes(bytes.span());
  // A manifest that announces no fragments needs no fragment file.
  const bool none = announced && *announced == 0 && !files.fragments;
  const bool fit = announced && (none || (fragments && *announced == fragments->size()));
  if (!fit) return std::nullopt;
  ShardChange change = ChangeOf(written, half);
  change.yields = AreAdopted(files);
  if (!files.manifest) KeepManifest(change, manifest, bytes, max_bytes);
  if (files.fragments) PutFragments(change, written, files.fragments);
  if (none) {
    change.open_leading = []() -> Result<std::shared_ptr<File>> {
      return std::make_shared<MemoryFile>("no fragments", 0);
    };
  }
  return change;
}

}  // namespace

Result<ShardChanges> MeshChangesOf(const std::shared_ptr<const CommittedVersions>& written,
                                   const CurrentChunks& current,
                                   const std::vector<WrittenVersionPtr>& versions,
                                   std::uint64_t max_manifest_bytes) {
  ShardChanges result;
  for (auto& [place, files] : PairFiles(versions)) {
    if (files.manifest && files.manifest->removed) {
      result.changes.push_back(ChangeOf(written, files.manifest));
      // Fragments that were committed after the removal are the first half of a new mesh.
      const bool anew = files.fragments && !files.fragments->removed &&
                        files.fragments->number > files.manifest->number;
      if (anew) result.waiting.push_back(std::exchange(files.fragments, nullptr));
      result.changes.back().yields = AreAdopted(files);
      Append(result.published, files);
      continue;
    }
    UNSHARD_ASSIGN_OR_RETURN(auto change,
                             ChangeOfMesh(written, current, files, max_manifest_bytes));
    Append(change ? result.published : result.waiting, files);
    if (change) result.changes.push_back(*std::move(change));
  }
  return result;
}

}  // namespace unshard
