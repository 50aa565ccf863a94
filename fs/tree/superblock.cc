#include "fs/tree/superblock.h"

#include <algorithm>
#include <tuple>

#include "fs/tree/grid_directory.h"
#include "fs/tree/source_directory.h"
#include "fs/tree/stored_chunk.h"
#include "store/object/time_now.h"
#include "store/source/memory_shares.h"

namespace unshard {

Superblock::Superblock(std::unique_ptr<Volume> opened, const MountOptions& mount_options)
    : volume(std::move(opened)),
      parts(volume->parts()),
      options(mount_options),
      mount_time(TimeNow()),
      snapshots(MemoryShares(options.memory_bytes).listings),
      arrays(options.files.empty() ? nullptr : std::make_unique<SourceArrays>(parts, options)),
      gzipping(MemoryShares(options.memory_bytes).gzipping),
      writes(volume->writes()) {
  ReferDirectory(*this, "", false, TimeNow());  // the first node is kRootNode
}

void Superblock::StartWriting(WriteNotifications notifications) {
  writing = std::move(notifications);
  if (arrays && writing.drop_pages) {
    writes->OnCommit([this](const ChunkTree& tree) {
      for (const NodeId file : volume_file_nodes.Of(tree.stored_ordinal()))
        writing.drop_pages(file);
    });
  }
  documents = std::make_unique<MetadataDocuments>(*parts.store, *parts.files, *parts.datasets,
                                                  *parts.documents, *writes, options.shard,
                                                  writing.revalidate);
  held_contents =
      std::make_unique<HeldContents>(writes->spool(), MemoryShares(options.memory_bytes).held_open);
  staged_files = std::make_unique<StagedFiles>(StagedFiles::Parts{
      *writes, *parts.written, writers, open_versions, scratch,
      [this] { kept_listings.Committed(); },
      [this](const auto& document, StagedFile& bytes, const timespec& modified) {
        return documents->Commit(document, bytes, modified);
      },
      writing.drop_pages,
      [this](const std::string& path, const Error& error) { Report("release", path, error); }});
}

std::optional<SpoolStatus> Superblock::write_status() const {
  if (!writes) return std::nullopt;
  SpoolStatus status = writes->status();
  std::tie(status.scratch_files, status.scratch) = scratch.Files(SpoolStatus::kShownConflicts);
  return status;
}

NodePtr Superblock::At(NodeId id) {
  const auto grid = UnpackGridNode(id);
  if (!grid) return nodes.Get(id);
  auto tree = parts.datasets->TreeAt(grid->ordinal);
  if (!tree) return nullptr;
  const ChunkTree::Match match = tree->AtPosition(grid->position);
  if (match.kind == ChunkTree::Match::Kind::kDirectory) {
    return std::make_shared<GridDirectoryNode>(*this, id, GridInode(*grid), std::move(tree),
                                               match.directory);
  }
  return std::make_shared<StoredChunkNode>(*this, id, GridInode(*grid), std::move(tree),
                                           match.chunk,
                                           StoredChunkNode::Stored{grid->generation_number, true});
}

void Superblock::Forget(NodeId id, std::uint64_t references) {
  const NodePtr node = At(id);
  if (node) node->Forget(references);
  if (UnpackGridNode(id)) return;
  const bool gone = nodes.Forget(id, references);
  if (node && gone && writable()) open_versions.Forget(id);
}

std::string Superblock::PathOf(NodeId id) {
  const NodePtr node = At(id);
  return node ? node->Path() : "(a file that is gone)";
}

std::string Superblock::PathOf(const OpenFile& file) {
  const auto staged = file.staged();
  return staged ? staged_files->PathOf(*staged) : PathOf(file.node());
}

void Superblock::Report(std::string_view operation, const std::string& path, const Error& error) {
  counters.errors.fetch_add(1, std::memory_order_relaxed);
  errors.Add(operation, path, error);
}

std::uint64_t Superblock::Timeout() const {
  if (options.immutable || parts.watcher->complete()) return kDayMilliseconds;
  return options.ttl_milliseconds;
}

// FUSE_NOTIFY_INVAL_ENTRY waits in the kernel for the lock of the directory that the name is in,
// whose holder may wait for an answer of ours, and all changes of a writable mount come back as
// events of the watcher. So a writable mount never drops names of the source: names of files, and
// negative entries, have no time to live, those of directories a short one.
std::uint64_t Superblock::NameTimeout() const {
  return writable() ? std::min(Timeout(), options.ttl_milliseconds) : Timeout();
}

timespec Superblock::ModifiedOf(const std::string& store_directory) const {
  if (!parts.store->capabilities().keeps_replaced_versions) return mount_time;
  const auto info = parts.store->Stat(store_directory, CallerDeadline());
  return info && *info ? (*info)->modified : mount_time;
}

}  // namespace unshard
