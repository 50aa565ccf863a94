#include "fs/tree/plain_chunk_name.h"

#include <algorithm>

#include "fs/tree/superblock.h"
#include "store/dataset/chunk_in_tree.h"

namespace unshard {

bool PlainChunkName::MayBe(std::string_view name) {
  return name.find('-') != std::string_view::npos &&
         name.find_first_not_of("0123456789-_") == std::string_view::npos;
}

Result<Name*> PlainChunkName::Meant() {
  Superblock& sb = superblock();
  UNSHARD_ASSIGN_OR_RETURN(const auto status, sb.parts.files->Stat(path()));
  if (status || !FindPlainChunk()) return &file_;
  const auto& [tree, ref, presented] = chunk_->chunk();
  const ChunkId id = ChunkId::Of(*tree, ref);
  if (sb.parts.written->Find(id) || sb.writers.HasWriter(id)) return &*chunk_;
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr content, sb.writes->current().Current(tree, ref));
  return content ? static_cast<Name*>(&*chunk_) : &file_;
}

bool PlainChunkName::FindPlainChunk() {
  DatasetTree& datasets = *superblock().parts.datasets;
  for (const auto& tree : datasets.StoredIn(directory())) {
    if (chunk_) break;
    const auto place = FindChunk(tree, name());
    if (!place) continue;
    chunk_.emplace(superblock(), directory(), name(), ChunkName::Chunk{place->tree, place->chunk},
                   nullptr);
  }
  return chunk_.has_value();
}

// The kernel is not notified under this name of changes of "<chunk>.gz".
Result<Entry> PlainChunkName::Lookup(pid_t thread) {
  const Superblock& sb = superblock();
  UNSHARD_ASSIGN_OR_RETURN(Entry entry, file_.Lookup(thread));
  if (entry.node != 0 || !FindPlainChunk()) return entry;
  UNSHARD_ASSIGN_OR_RETURN(entry, chunk_->Lookup(thread));
  if (sb.options.immutable) return entry;
  const std::uint64_t longest = sb.writable() ? 0 : sb.options.ttl_milliseconds;
  entry.timeout_milliseconds = std::min(entry.timeout_milliseconds, longest);
  entry.attributes_milliseconds = entry.timeout_milliseconds;
  return entry;
}

Result<bool> PlainChunkName::Exists() {
  UNSHARD_ASSIGN_OR_RETURN(const Name* const meant, Meant());
  if (meant != &file_) return true;
  UNSHARD_ASSIGN_OR_RETURN(const auto status, superblock().parts.files->Stat(path()));
  return status.has_value();
}

Result<Created> PlainChunkName::Create(const OpenRequest& request) {
  UNSHARD_ASSIGN_OR_RETURN(Name* const meant, Meant());
  return meant->Create(request);
}

Result<Entry> PlainChunkName::MakeFile(pid_t thread, mode_t mode) {
  UNSHARD_ASSIGN_OR_RETURN(Name* const meant, Meant());
  return meant->MakeFile(thread, mode);
}

Status PlainChunkName::Remove() {
  UNSHARD_ASSIGN_OR_RETURN(Name* const meant, Meant());
  return meant->Remove();
}

Result<Entry> PlainChunkName::MakeDirectory(mode_t mode) {
  UNSHARD_ASSIGN_OR_RETURN(Name* const meant, Meant());
  return meant->MakeDirectory(mode);
}

Status PlainChunkName::RenameTo(Name& to, bool replace) {
  UNSHARD_ASSIGN_OR_RETURN(Name* const meant, Meant());
  return meant->RenameTo(to, replace);
}

Status PlainChunkName::TakeScratch(const ScratchName& from, bool replace) {
  UNSHARD_ASSIGN_OR_RETURN(Name* const meant, Meant());
  return meant->TakeScratch(from, replace);
}

Status PlainChunkName::TakeChunk(const ChunkName& from, bool replace) {
  UNSHARD_ASSIGN_OR_RETURN(Name* const meant, Meant());
  return meant->TakeChunk(from, replace);
}

Status PlainChunkName::TakeSource(const SourceName& from, bool replace) {
  UNSHARD_ASSIGN_OR_RETURN(Name* const meant, Meant());
  return meant->TakeSource(from, replace);
}

Result<Entry> PlainChunkName::LinkSource(const std::string& existing) {
  UNSHARD_ASSIGN_OR_RETURN(Name* const meant, Meant());
  return meant->LinkSource(existing);
}

Status PlainChunkName::LinkScratch(const std::shared_ptr<StagedInode>& staged) {
  UNSHARD_ASSIGN_OR_RETURN(Name* const meant, Meant());
  return meant->LinkScratch(staged);
}

}  // namespace unshard
