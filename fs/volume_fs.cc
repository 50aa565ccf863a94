#include "fs/volume_fs.h"

#include "fs/common/request_failures.h"
#include "fs/tree/chunk_opening.h"
#include "fs/tree/staged_node.h"

namespace unshard {
namespace {

// Directories of a bucket have no time of their own by which the kernel would notice a change.
bool ListingsChangeUnseen(const Superblock& superblock) {
  const Capabilities store = superblock.parts.store->capabilities();
  return store.lists && !store.keeps_replaced_versions && !superblock.options.immutable;
}

// Whether Load() has anything to do on a read-only mount.
bool LoadsAtOpen(const Superblock& superblock) {
  const MountOptions& options = superblock.options;
  const bool keeps = superblock.parts.store->capabilities().keeps_replaced_versions;
  return !options.immutable && (!keeps || !options.files.empty());
}

tl::unexpected<Error> NotADirectory() {
  return FailWith(ENOTDIR, ErrorCode::kInvalidArgument, "not a directory");
}

}  // namespace

Result<VolumeFs::NamedIn> VolumeFs::Find(NodeId parent, std::string_view name) {
  UNSHARD_RETURN_IF_ERROR(CheckName(name));
  NodePtr node = superblock_.At(parent);
  if (!node) return Fail(ErrorCode::kConflict, "the directory is gone");
  Directory* const directory = node->directory();
  if (directory == nullptr) return NotADirectory();
  UNSHARD_ASSIGN_OR_RETURN(NamePtr found, directory->Find(name));
  return NamedIn{std::move(node), std::move(found)};
}

Result<Entry> VolumeFs::Lookup(NodeId parent, std::string_view name, pid_t thread) {
  const auto look_up = [&]() -> Result<Entry> {
    UNSHARD_RETURN_IF_ERROR(CheckName(name));
    const NodePtr node = superblock_.At(parent);
    if (!node) return tl::unexpected<Error>(StaleNode());
    Directory* const directory = node->directory();
    if (directory == nullptr) return NotADirectory();
    return directory->Lookup(name, thread);
  };
  const std::uint64_t moves = superblock_.directory_moves.Count();
  auto entry = look_up();
  if (entry && !superblock_.directory_moves.NoneSince(moves)) entry->timeout_milliseconds = 0;
  // If it was for an open(2), that has failed as well.
  if (!entry) EndOpen(superblock_, thread, &entry.error());
  return entry;
}

Result<Entry> VolumeFs::GetAttributes(NodeId id) {
  const NodePtr node = superblock_.At(id);
  return node ? node->GetAttributes() : tl::unexpected<Error>(StaleNode());
}

Result<FilePiece> VolumeFs::Read(NodeId id, std::uint64_t offset, std::uint64_t size) {
  const NodePtr node = superblock_.At(id);
  return node ? node->Read(offset, size) : tl::unexpected<Error>(StaleNode());
}

Status VolumeFs::ReadDirectory(NodeId id, std::uint64_t cookie, bool with_attributes,
                               const DirectoryVisitor& visitor) {
  const NodePtr node = superblock_.At(id);
  if (!node) return Fail(ErrorCode::kConflict, "the directory is gone");
  Directory* const directory = node->directory();
  if (directory == nullptr) return NotADirectory();
  return directory->List({id, cookie, with_attributes, visitor, superblock_.options.list});
}

NeededOpens VolumeFs::needed_opens() const {
  if (writable()) return {};
  return {.of_files = LoadsAtOpen(superblock_),
          .of_directories = ListingsChangeUnseen(superblock_)};
}

ListingUse VolumeFs::OpenDirectory(NodeId id) {
  if (ListingsChangeUnseen(superblock_)) return ListingUse::kNotKept;
  const NodePtr node = superblock_.At(id);
  const Directory* const directory = node ? node->directory() : nullptr;
  if (directory == nullptr || !directory->ListingIsKept()) return ListingUse::kNotKept;
  return superblock_.kept_listings.Opened(id) ? ListingUse::kKept : ListingUse::kKeptAnew;
}

Result<PageUse> VolumeFs::Load(NodeId id) {
  const NodePtr node = LoadsAtOpen(superblock_) ? superblock_.At(id) : nullptr;
  if (!node) return PageUse::kKept;
  if (!superblock_.parts.store->capabilities().keeps_replaced_versions) {
    UNSHARD_RETURN_IF_ERROR(node->Load());
  }
  return node->PagesAtOpen();
}

Result<std::optional<std::string>> VolumeFs::GetExtendedAttribute(NodeId id,
                                                                  std::string_view name) {
  const NodePtr node = superblock_.At(id);
  if (!node) return std::nullopt;
  return node->ExtendedAttribute(name);
}

std::vector<std::string> VolumeFs::ListExtendedAttributes(NodeId id) {
  const NodePtr node = superblock_.At(id);
  return node ? node->ExtendedAttributes() : std::vector<std::string>();
}

Result<OpenFilePtr> VolumeFs::Open(NodeId id, const OpenRequest& request) {
  const NodePtr node = superblock_.At(id);
  if (!node) return tl::unexpected<Error>(StaleNode());
  if (WasLedAstray(superblock_, id, request)) return StaleName();
  auto file = node->Open(request);
  EndOpen(superblock_, request.thread, file ? nullptr : &file.error());
  return file;
}

Result<VolumeFs::Created> VolumeFs::Create(NodeId parent, std::string_view name,
                                           const OpenRequest& request) {
  UNSHARD_ASSIGN_OR_RETURN(const NamedIn found, Find(parent, name));
  auto created = found->Create(request);
  EndOpen(superblock_, request.thread, created ? nullptr : &created.error());
  return created;
}

Result<Entry> VolumeFs::MakeFile(NodeId parent, std::string_view name, pid_t thread, mode_t mode) {
  UNSHARD_ASSIGN_OR_RETURN(const NamedIn found, Find(parent, name));
  return found->MakeFile(thread, mode);
}

Status VolumeFs::Write(OpenFile& file, std::uint64_t offset, ByteSpan bytes) {
  superblock_.counters.bytes_written.fetch_add(bytes.size(), std::memory_order_relaxed);
  return file.Write(offset, bytes);
}

Result<Entry> VolumeFs::SetAttributes(NodeId id, OpenFile* file, const AttributeChange& change,
                                      pid_t thread) {
  const NodePtr node = superblock_.At(id);
  const auto opened = file != nullptr ? file->staged() : nullptr;
  const auto staged = opened || !node ? opened : node->Staged();
  if (!staged && !node) return tl::unexpected<Error>(StaleNode());
  const auto apply = [&]() -> Result<Entry> {
    if (!staged) return node->SetAttributes(file, change, thread);
    // What has ended is no version of the file any more: the name leads to another node.
    if (!staged->Hold()) return StaleName();
    auto entry = SetStagedAttributes(superblock_, id, staged, file, change);
    superblock_.staged_files->Release(staged);
    return entry;
  };
  auto changed = apply();
  EndOpen(superblock_, thread, changed ? nullptr : &changed.error());
  return changed;
}

Status VolumeFs::SyncDirectory(NodeId id) {
  const NodePtr node = superblock_.At(id);
  Directory* const directory = node ? node->directory() : nullptr;
  return directory != nullptr ? directory->Sync() : Status();
}

Status VolumeFs::Remove(NodeId parent, std::string_view name) {
  UNSHARD_ASSIGN_OR_RETURN(const NamedIn found, Find(parent, name));
  return found->Remove();
}

Status VolumeFs::Rename(NodeId parent, std::string_view name, NodeId new_parent,
                        std::string_view new_name, bool replace) {
  UNSHARD_ASSIGN_OR_RETURN(const NamedIn from, Find(parent, name));
  UNSHARD_ASSIGN_OR_RETURN(const NamedIn to, Find(new_parent, new_name));
  return from->RenameTo(*to, replace);
}

Result<Entry> VolumeFs::Link(NodeId id, NodeId new_parent, std::string_view new_name) {
  UNSHARD_ASSIGN_OR_RETURN(const NamedIn to, Find(new_parent, new_name));
  const NodePtr node = superblock_.At(id);
  return node ? node->LinkTo(*to) : tl::unexpected<Error>(StaleNode());
}

Result<Entry> VolumeFs::MakeDirectory(NodeId parent, std::string_view name, mode_t mode) {
  UNSHARD_ASSIGN_OR_RETURN(const NamedIn found, Find(parent, name));
  return found->MakeDirectory(mode);
}

Status VolumeFs::RemoveDirectory(NodeId parent, std::string_view name, pid_t thread) {
  UNSHARD_ASSIGN_OR_RETURN(const NamedIn found, Find(parent, name));
  return found->RemoveDirectory(thread);
}

Status VolumeFs::FlushAll() { return writable() ? superblock_.writes->Flush() : Status{}; }

void VolumeFs::End() {
  if (writable()) superblock_.writes->End();
}

}  // namespace unshard
