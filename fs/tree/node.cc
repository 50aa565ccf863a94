#include "fs/tree/node.h"

#include "fs/common/request_failures.h"
#include "fs/tree/listing.h"
#include "fs/tree/name.h"
#include "fs/tree/staged_node.h"
#include "fs/tree/superblock.h"

namespace unshard {

Result<Entry> Node::GetAttributes() {
  auto now = AttributesNow();
  if (!superblock_.writable()) return now;
  const auto presented = superblock_.open_versions.Find(id_);
  if (!presented || (now && now->attributes.size == presented->size)) return now;
  return Entry{
      id_, {presented->inode, presented->size, presented->modified, false}, superblock_.Timeout()};
}

Result<Entry> Node::AttributesNow() {
  const auto staged = superblock_.writable() ? Taker() : nullptr;
  if (!staged) return Stat();
  if (staged->ended()) return StaleName();
  return StagedEntry(superblock_, id_, staged);
}

Result<Entry> Node::SetAttributes(OpenFile*, const AttributeChange& change, pid_t) {
  if (change.size) return Fail(ErrorCode::kReadOnly, "cannot be truncated");
  return GetAttributes();
}

Result<std::optional<std::string>> Node::ExtendedAttribute(std::string_view) {
  return std::nullopt;
}

Result<std::optional<Node::Version>> Node::OpenCurrent() { return std::nullopt; }

Result<OpenFilePtr> Node::Open(const OpenRequest&) {
  return Fail(ErrorCode::kInvalidArgument, "not a file");
}

Result<FilePiece> Node::Read(std::uint64_t, std::uint64_t) {
  return Fail(ErrorCode::kInvalidArgument, "not a file");
}

std::shared_ptr<StagedInode> Node::Staged() const { return Taker(); }

std::shared_ptr<StagedInode> Node::Taker() const {
  auto staged = superblock_.open_versions.StagedAt(id_);
  // An arithmetic node that waits for its pages to be dropped.
  if (staged && staged->ended() && UnpackGridNode(id_)) return nullptr;
  if (!staged || superblock_.open_versions.IsTaken(id_) || staged->opens() != 0) return staged;
  // The chunk was created at this node: once `staged` is no writer of it, the node is that of the
  // committed version.
  const auto id = StagedFiles::WriterId(*staged);
  return id && superblock_.writers.IsWriter(*id, staged) ? staged : nullptr;
}

Result<Entry> Node::LinkTo(Name& to) {
  const auto staged = Staged();
  if (!staged || !staged->is_scratch()) {
    return FailWith(EPERM, ErrorCode::kPermissionDenied, to.path(),
                    ": only scratch files can be linked");
  }
  UNSHARD_RETURN_IF_ERROR(to.LinkScratch(staged));
  Entry entry = ReferStaged(superblock_, staged);
  entry.attributes.links = 2;
  return entry;
}

NodePtr Node::MovedTo(const std::string&) { return nullptr; }

Result<Entry> Directory::Lookup(std::string_view name, pid_t thread) {
  UNSHARD_ASSIGN_OR_RETURN(const auto found, Find(name));
  return found->Lookup(thread);
}

Result<bool> Directory::IsEmpty() {
  bool empty = true;
  const DirectoryVisitor visit = [&](const DirectoryName&) { return empty = false; };
  UNSHARD_RETURN_IF_ERROR(List({id(), kAfterDots, false, visit, ListMode::kPresent}));
  return empty;
}

}  // namespace unshard
