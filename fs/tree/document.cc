#include "fs/tree/document.h"

#include <algorithm>

#include "fs/common/request_failures.h"
#include "fs/tree/chunk_opening.h"
#include "fs/tree/free_node.h"
#include "fs/tree/scratch_name.h"
#include "fs/tree/source_name.h"
#include "fs/tree/staged_node.h"
#include "fs/tree/superblock.h"

namespace unshard {
namespace {

StagedInode::Document PurposeOf(const std::string& path) {
  return {ParentPath(path), BaseName(path), false};
}

}  // namespace

std::uint64_t InodeOfDocument(const std::string& path) { return LastInode("f:" + path); }

DocumentNode::DocumentNode(Superblock& superblock, NodeId id, const std::string& path,
                           const Document& document)
    : TextNode(superblock, id, InodeOfDocument(path), path, document.text,
               document.source.modified) {}

Result<Entry> DocumentNode::Stat() {
  return Entry{id(), {inode(), text()->size(), modified(), false}, superblock().Timeout()};
}

Result<OpenFilePtr> DocumentNode::Open(const OpenRequest& request) {
  Superblock& sb = superblock();
  const StagedInode::Document purpose = PurposeOf(path());
  const ChunkId of = StagedFiles::DocumentId(purpose);
  if (const auto staged = Staged()) return OpenTaken(sb, id(), of, staged, request);
  if (!request.write) {
    const OpenVersions::Presented presented{inode(), text()->size(), modified()};
    if (!sb.open_versions.Opened(id(), presented)) return AnswerStale(sb, of, id(), request);
    return std::make_unique<OpenContent>(id(), request, text(), &sb.open_versions);
  }
  auto staged = sb.writers.Latest(of);
  if (staged && !request.truncate && staged->Hold()) return Join(sb, of, staged, id(), request);
  staged = std::make_shared<StagedInode>(sb.writes->spool(), purpose,
                                         request.truncate ? nullptr : text(), inode());
  UNSHARD_RETURN_IF_ERROR(staged->Reserve());
  if (!staged->Hold()) return tl::unexpected<Error>(StaleNode());
  return TakeOver(sb, id(), of, staged, request);
}

// On a writable mount the name of a document has no time to live.
Result<Entry> DocumentName::Lookup(pid_t) {
  Superblock& sb = superblock();
  sb.parts.watcher->Watch(directory());
  NodeUse use = NodeUse::kCached;
  if (sb.writable()) {
    use = std::max(NodeUse::kRevalidated,
                   sb.choice.UseFor(StagedFiles::DocumentId(PurposeOf(path()))));
  }
  const std::string identity = "m:" + path() + '\n' + document_.source.generation.tag + '\n' +
                               std::to_string(std::hash<std::string>()(*document_.text));
  const Attributes attributes{InodeOfDocument(path()), document_.text->size(),
                              document_.source.modified, false};
  Entry entry = ReferFreeNode(sb, identity, use, attributes, [&](NodeId id, NodeUse) {
    return std::make_shared<DocumentNode>(sb, id, path(), document_);
  });
  if (sb.writable()) entry.attributes_milliseconds = 0;
  return entry;
}

Status DocumentName::Remove() { return superblock().documents->Remove(path()); }

Status DocumentName::Commit(const std::shared_ptr<StagedInode>& staged) {
  return CommitAs(superblock(), staged, PurposeOf(path()));
}

Status DocumentName::TakeScratch(const ScratchName& from, bool replace) {
  if (!replace) UNSHARD_RETURN_IF_ERROR(MustBeNew());
  return from.BecomeBy([&](const auto& staged) { return Commit(staged); }, *this);
}

Status DocumentName::TakeSource(const SourceName& from, bool replace) {
  if (!replace) UNSHARD_RETURN_IF_ERROR(MustBeNew());
  return from.BecomeBy([&](const auto& staged) { return Commit(staged); });
}

tl::unexpected<Error> DocumentName::Refuse() const {
  return FailWith(EPERM, ErrorCode::kPermissionDenied, path(),
                  ": metadata of a sharded dataset cannot be moved");
}

}  // namespace unshard
