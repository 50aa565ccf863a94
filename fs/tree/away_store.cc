#include "fs/tree/away_store.h"

#include <algorithm>
#include <chrono>

#include "fs/common/request_failures.h"
#include "fs/tree/chunk_lookup.h"
#include "fs/tree/free_node.h"
#include "fs/tree/stored_chunk.h"
#include "fs/tree/superblock.h"

namespace unshard {
namespace {

using Clock = std::chrono::steady_clock;

// Of a request, while the store is not known to be away, and while it is.
constexpr std::chrono::milliseconds kLongestRequest{5000};
constexpr std::chrono::milliseconds kLongestRequestWhileAway{100};

bool WritesToNetwork(const Superblock& sb) { return sb.writable() && sb.writes->is_remote(); }

}  // namespace

BriefWait::BriefWait(const Superblock& superblock) {
  if (!WritesToNetwork(superblock)) return;
  const auto longest =
      superblock.writes->StoreIsAway() ? kLongestRequestWhileAway : kLongestRequest;
  const Deadline deadline = CallerDeadline();
  const Deadline interruptible = InterruptibleDeadline();
  caller_.emplace(
      std::min(deadline.at, Clock::now() + longest), [stop = interruptible.stop] { return stop; },
      [stop = deadline.stop] { return stop; });
}

bool IsStoreAway(const Superblock& superblock, const Error& error) {
  return WritesToNetwork(superblock) && MeansAway(error);
}

Result<std::optional<FileStatus>> StatBriefly(Superblock& superblock, const std::string& path) {
  const BriefWait brief(superblock);
  return superblock.parts.files->Stat(path);
}

Result<std::optional<ChunkNode::Version>> UnknownChunk::OpenVersion(const Seen&) {
  return std::nullopt;
}

Result<Entry> UnknownChunk::Stat() {
  UNSHARD_ASSIGN_OR_RETURN(Entry found, LookupChunk(superblock(), tree(), chunk(), 0));
  if (found.node == 0) return NotCommitted();
  superblock().Forget(found.node, 1);
  found.node = id();
  found.attributes_milliseconds = 0;
  return found;
}

Entry ReferUnknownChunk(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                        const ChunkRef& chunk) {
  const Attributes attributes{InodeOfChunk(superblock, *tree, chunk), 0, {}, false};
  return ReferFreeNode(superblock, "u:" + JoinPath(tree->directory(), tree->Path(chunk)),
                       NodeUse::kOwn, attributes, [&](NodeId id, NodeUse) {
                         return std::make_shared<UnknownChunk>(superblock, id, attributes.inode,
                                                               tree, chunk);
                       });
}

}  // namespace unshard
