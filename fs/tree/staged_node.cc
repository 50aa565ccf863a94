#include "fs/tree/staged_node.h"

#include "fs/common/request_failures.h"
#include "fs/tree/chunk_node.h"
#include "fs/tree/superblock.h"

namespace unshard {
namespace {

// A scratch file that was linked onto a chunk's name has that name as well. A scratch file that was
// removed has 0 links, which tells a program that waits for its lock that the name leads elsewhere.
std::uint32_t LinksOf(const Superblock& superblock, const std::shared_ptr<StagedInode>& staged) {
  const std::size_t own = StagedFiles::WriterId(*staged) ? 1 : 0;
  return static_cast<std::uint32_t>(superblock.scratch.Links(*staged) + own);
}

}  // namespace

std::string StagedNode::Path() const { return superblock().staged_files->PathOf(*staged_); }

Result<Entry> StagedNode::Stat() { return StagedEntry(superblock(), id(), staged_); }

Result<OpenFilePtr> StagedNode::Open(const OpenRequest& request) {
  return OpenStaged(superblock(), id(), staged_, request);
}

Entry ReferStaged(Superblock& superblock, const std::shared_ptr<StagedInode>& staged) {
  if (UnpackGridNode(staged->node())) {
    // The node exists, because the kernel refers to it for the file that was created.
    if (const NodePtr node = superblock.At(staged->node())) node->ReferAgain();
  } else if (!superblock.nodes.ReferAgain(staged->node())) {
    // A staged inode lives as long as it is open or has a name, and as its node, which refers to
    // it: its address is unique that long.
    const auto address = reinterpret_cast<std::uintptr_t>(staged.get());
    const NodePtr node = superblock.nodes.Refer("u:" + std::to_string(address), [&](NodeId id) {
      return std::make_shared<StagedNode>(superblock, id, staged);
    });
    staged->SetNode(node->id());
  }
  return StagedEntry(superblock, staged->node(), staged);
}

Entry StagedEntry(const Superblock& superblock, NodeId node,
                  const std::shared_ptr<StagedInode>& staged) {
  Entry entry{
      node,
      {staged->inode(), staged->size(), staged->modified(), false, LinksOf(superblock, staged)},
      0};
  // All changes of the attributes come through the kernel, which updates its own. The name has no
  // time to live: it leads to another node once the file is committed.
  if (node == staged->node()) entry.attributes_milliseconds = superblock.Timeout();
  return entry;
}

Result<Entry> SetStagedAttributes(Superblock& superblock, NodeId node,
                                  const std::shared_ptr<StagedInode>& staged, const OpenFile* file,
                                  const AttributeChange& change) {
  if (change.size && *change.size != staged->size()) {
    UNSHARD_RETURN_IF_ERROR(staged->Truncate(*change.size));
    if (file == nullptr && StagedFiles::WriterId(*staged)) {
      UNSHARD_RETURN_IF_ERROR(superblock.staged_files->Commit(*staged));
    }
  }
  if (change.modified) {
    staged->SetModified(*change.modified);
    const auto chunk = staged->chunk();
    if (chunk && !staged->dirty()) {
      SetPresentedTime(superblock, *chunk->tree, chunk->chunk,
                       superblock.parts.written->Find(*StagedFiles::WriterId(*staged)),
                       *change.modified);
    }
  }
  return StagedEntry(superblock, node, staged);
}

Result<OpenFilePtr> OpenStaged(Superblock& superblock, NodeId node,
                               const std::shared_ptr<StagedInode>& staged,
                               const OpenRequest& request) {
  if (request.write && !staged->ended()) {
    UNSHARD_RETURN_IF_ERROR(staged->Reserve());
  }
  OpenFilePtr file = superblock.staged_files->Open(staged, node, request);
  if (!file) return StaleName();
  if (request.truncate && staged->size() != 0) UNSHARD_RETURN_IF_ERROR(staged->Truncate(0));
  return file;
}

Status CommitAs(Superblock& superblock, const std::shared_ptr<StagedInode>& staged,
                StagedInode::Purpose purpose) {
  const StagedInode::Purpose before = staged->purpose();
  staged->SetOnTrial(true);
  superblock.staged_files->ChangePurpose(staged, std::move(purpose));
  const Status committed = superblock.staged_files->Commit(*staged);
  if (!committed) superblock.staged_files->ChangePurpose(staged, before);
  staged->SetOnTrial(false);
  return committed;
}

}  // namespace unshard
