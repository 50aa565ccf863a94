#include "store/files/files_over_store.h"

#include <algorithm>
#include <map>
#include <utility>

#include "store/object/key.h"
#include "store/object/read_through.h"

namespace unshard {
namespace {

// Where entries of the store are resumed; before, those of this mount are.
constexpr std::uint64_t kOfStore = std::uint64_t{1} << 20;
// A waiting file is put meanwhile, each time by a later version.
constexpr int kTries = 8;

ObjectInfo Directory(const timespec& modified) {
  ObjectInfo info;
  info.kind = ObjectInfo::Kind::kDirectory;
  info.modified = modified;
  return info;
}

}  // namespace

ObjectInfo InfoOf(const WaitingFile& file, const std::optional<FileState::Remembered>& attributes) {
  ObjectInfo info;
  info.size = file.chunk.size;
  info.generation.tag = "waiting:" + file.spool->Describe(file.chunk);
  info.modified = attributes ? attributes->modified : file.chunk.committed;
  return info;
}

Result<std::shared_ptr<ObjectVersion>> OpenWaiting(const WaitingFile& file) {
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> bytes, file.spool->Open(file.chunk));
  return MakeObjectOf(
      InfoOf(file, std::nullopt), file.spool->Describe(file.chunk),
      [bytes](std::uint64_t at, std::span<std::uint8_t> to) { return bytes->Read(at, to); });
}

Result<std::optional<ObjectInfo>> FilesOverStore::Stat(std::string_view key,
                                                       const Deadline& deadline) {
  const std::string path(key);
  const FileState state = table_->Find(path);
  if (state.waiting && !state.waiting->removed()) return InfoOf(*state.waiting, state.remembered);
  if (table_->IsMade(path)) return Directory(table_->begun());
  if (!path.empty() && table_->IsHidden(path)) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(auto info, store_->Stat(key, deadline));
  const bool removed = state.is_removed() && info && info->kind == ObjectInfo::Kind::kFile;
  if (info && !removed) return info;
  if (table_->HasFileBelow(path)) return Directory(table_->begun());
  return std::nullopt;
}

Result<ObjectStore::Opened> FilesOverStore::Open(std::string_view key, const RangeRequest& first,
                                                 const Deadline& deadline) {
  for (int i = 1;; ++i) {
    const FileState state = table_->Find(std::string(key));
    if (!state.waiting) return store_->Open(key, first, deadline);
    if (state.waiting->removed()) return Opened{};
    auto version = OpenWaiting(*state.waiting);
    if (!version && version.error().code == ErrorCode::kNotFound && i < kTries) continue;
    UNSHARD_RETURN_IF_ERROR(version);
    Opened opened{*std::move(version), {}};
    const ByteRange range = ClipRange(first, opened.version->info().size);
    if (range.size == 0) return opened;
    UNSHARD_ASSIGN_OR_RETURN(
        ReadResult read, opened.version->Read(RangeRequest::At(range.begin, range.size), deadline));
    opened.first = std::move(read.value);
    return opened;
  }
}

Status FilesOverStore::List(std::string_view key, const Deadline& deadline,
                            const ListVisitor& visitor) {
  return ListFrom(key, 0, deadline, visitor);
}

// First the names that this mount has made, by number, then those of the store without these.
Status FilesOverStore::ListFrom(std::string_view key, std::uint64_t resume,
                                const Deadline& deadline, const ListVisitor& visitor) {
  const std::string path(key);
  const std::map<std::string, FileTable::Shown> own = table_->NamesIn(path);
  std::uint64_t number = 0;
  for (const auto& [name, shown] : own) {
    if (++number <= resume || number >= kOfStore || shown == FileTable::Shown::kRemoved) continue;
    const auto kind = shown == FileTable::Shown::kDirectory ? ObjectInfo::Kind::kDirectory
                                                            : ObjectInfo::Kind::kFile;
    if (!visitor({name, kind, number})) return {};
  }
  if (!path.empty() && table_->IsHidden(path)) return {};
  const std::uint64_t from = std::max(resume, kOfStore) - kOfStore;
  return store_->ListFrom(key, from, deadline, [&](const ListEntry& entry) {
    const auto found = own.find(std::string(entry.name));
    // A removed file may have the name of a directory, whose keys go on.
    const bool other = found != own.end() && found->second == FileTable::Shown::kRemoved &&
                       entry.kind == ObjectInfo::Kind::kDirectory &&
                       !table_->IsHidden(JoinPath(path, entry.name));
    if (found != own.end() && !other) return true;
    return visitor({entry.name, entry.kind, entry.resume + kOfStore});
  });
}

}  // namespace unshard
