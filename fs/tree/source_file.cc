#include "fs/tree/source_file.h"

#include <algorithm>

#include "fs/common/request_failures.h"
#include "fs/tree/superblock.h"

namespace unshard {

SourceFile::SourceFile(Superblock& superblock, NodeId id, std::string path, ObjectInfo info)
    : Node(superblock, id, StableInode("f:" + path)),
      path_(std::move(path)),
      info_(std::move(info)) {}

Entry ReferSourceFile(Superblock& superblock, const std::string& path, const ObjectInfo& info) {
  const std::string identity = "f:" + path + '\n' + info.generation.tag;
  const NodePtr node = superblock.nodes.Refer(identity, [&](NodeId id) {
    return std::make_shared<SourceFile>(superblock, id, path, info);
  });
  return Entry{node->id(), {node->inode(), info.size, info.modified, false}, superblock.Timeout()};
}

Result<Entry> SourceFile::Stat() {
  return Entry{id(), {inode(), info_.size, info_.modified, false}, superblock().Timeout()};
}

Result<std::shared_ptr<ObjectVersion>> SourceFile::Opened() {
  {
    const std::lock_guard lock(mutex_);
    if (handle_) return handle_;
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto opened, superblock().parts.store->Open(
                                                  path_, RangeRequest::At(0, 0), CallerDeadline()));
  const std::shared_ptr<ObjectVersion>& handle = opened.version;
  // No bytes of this node have been read yet, so any version of the announced size is consistent.
  if (!handle || handle->info().size != info_.size) return tl::unexpected<Error>(StaleNode());
  const std::lock_guard lock(mutex_);
  handle_ = handle;
  return handle;
}

Result<FilePiece> SourceFile::Read(std::uint64_t offset, std::uint64_t size) {
  UNSHARD_ASSIGN_OR_RETURN(const auto handle, Opened());
  const std::uint64_t begin = std::min(offset, info_.size);
  const ByteRange range{begin, std::min(size, info_.size - begin)};
  if (range.size == 0) return FilePiece(Bytes());
  if (auto slice = handle->Slice(range)) return FilePiece(*std::move(slice));
  UNSHARD_ASSIGN_OR_RETURN(
      ReadResult read, handle->Read(RangeRequest::At(range.begin, range.size), CallerDeadline()));
  if (read.state != ReadResult::State::kFound) return tl::unexpected<Error>(StaleNode());
  return FilePiece(std::move(read.value));
}

}  // namespace unshard
