#include "fs/tree/chunk_node.h"

#include <algorithm>

#include "fs/common/request_failures.h"
#include "fs/tree/chunk_opening.h"
#include "fs/tree/staged_node.h"
#include "fs/tree/superblock.h"

namespace unshard {
namespace {

constexpr std::string_view kPrefix = "user.unshard.";

}  // namespace

timespec PresentedTime(const Superblock& superblock, const ChunkTree& tree, const ChunkRef& chunk,
                       const ChunkGeneration& generation) {
  if (!superblock.writable() || superblock.given_times.empty()) return generation.modified;
  const auto given =
      superblock.given_times.Find(JoinPath(tree.directory(), tree.Path(chunk)), generation.number);
  return given.value_or(generation.modified);
}

void SetPresentedTime(Superblock& superblock, ChunkTree& tree, const ChunkRef& chunk,
                      const WrittenVersionPtr& latest, const timespec& modified) {
  if (latest) {
    superblock.parts.written->SetModified(*latest, modified);
    return;
  }
  const auto generation = tree.chunks().Current(chunk, CallerDeadline());
  if (!generation) return;
  superblock.given_times.Set(JoinPath(tree.directory(), tree.Path(chunk)), generation->number,
                             modified);
}

std::string ChunkNode::Path() const { return JoinPath(tree_->directory(), tree_->Path(chunk_)); }

WrittenVersionPtr ChunkNode::Latest() const {
  const auto& written = superblock().parts.written;
  return written ? written->Find(chunk_id()) : nullptr;
}

bool ChunkNode::IsUnremembered(const Seen&) const { return use_ != NodeUse::kCached; }

Result<OpenFilePtr> ChunkNode::Open(const OpenRequest& request) {
  return OpenChunk(superblock(), *this, request);
}

Result<Entry> ChunkNode::SetAttributes(OpenFile*, const AttributeChange& change, pid_t thread) {
  if (change.size) {
    const auto fixed = tree_->FixedSize(chunk_);
    UNSHARD_ASSIGN_OR_RETURN(const Entry now, GetAttributes());
    if (fixed && *change.size != *fixed && *change.size != 0) {
      return Fail(ErrorCode::kInvalidArgument, "a chunk of this array has ", *fixed,
                  " bytes and cannot be truncated to ", *change.size);
    }
    if (*change.size != now.attributes.size) return Truncate(*change.size, thread);
  }
  const Seen seen = FindLatest();
  if (IsRemoved(seen)) return StaleName();
  if (change.modified) {
    SetPresentedTime(superblock(), *tree_, chunk_, seen.latest, *change.modified);
  }
  return GetAttributes();
}

// truncate(2) by path: the same as open, ftruncate and close.
Result<Entry> ChunkNode::Truncate(std::uint64_t size, pid_t thread) {
  OpenRequest request;
  request.read = false;
  request.write = true;
  request.truncate = size == 0;
  request.thread = thread;
  UNSHARD_ASSIGN_OR_RETURN(const OpenFilePtr file, Open(request));
  const std::shared_ptr<StagedInode> staged = file->staged();
  UNSHARD_RETURN_IF_ERROR(staged->Truncate(size));
  if (size != 0) UNSHARD_RETURN_IF_ERROR(superblock().staged_files->Commit(*staged));
  Entry entry = StagedEntry(superblock(), id(), staged);
  entry.attributes_milliseconds = 0;
  return entry;
}

Result<std::optional<std::string>> ChunkNode::ExtendedAttribute(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  UNSHARD_ASSIGN_OR_RETURN(const auto generation, Generation());
  if (!generation) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const auto location, tree_->chunks().Locate(chunk_, *generation));
  if (!location) return std::nullopt;
  if (name == "shard") return location->object;
  if (name == "offset") return std::to_string(location->stored.begin);
  if (name == "length") return std::to_string(location->stored.size);
  if (name == "id") return std::to_string(location->id);
  // A number, as the other attributes are; the same in every mount of the same shard.
  if (name == "generation") return std::to_string(StableInode(location->generation));
  return std::nullopt;
}

std::vector<std::string> ChunkNode::ExtendedAttributes() {
  // A chunk that is not in its shard yet has none of these attributes.
  if (!ExtendedAttribute("user.unshard.shard").value_or(std::nullopt)) return {};
  return {"user.unshard.shard", "user.unshard.offset", "user.unshard.length", "user.unshard.id",
          "user.unshard.generation"};
}

}  // namespace unshard
