#include "store/source/catalog_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <utility>

#include "codec/grid/chunk_key.h"
#include "store/object/key.h"
#include "store/object/parallel.h"
#include "store/object/time_now.h"
#include "store/source/document_names.h"

namespace unshard {
namespace {

constexpr std::array<std::string_view, 5> kFirstDocuments = {"zarr.json", "info", ".zgroup",
                                                             ".zarray", "attributes.json"};

bool IsDocument(std::string_view key) { return IsMetadataOfAnyFormat(BaseName(key)); }

// Whether `relative`, a path below a directory of chunks, is one of the directories between.
bool IsChunkDirectory(const CatalogStore::ChunkDirectories& chunks, std::string_view relative) {
  std::size_t levels = 0;
  bool expects_prefix = !chunks.prefix.empty();
  while (!relative.empty()) {
    const std::size_t slash = std::min(relative.find('/'), relative.size());
    const std::string_view name = relative.substr(0, slash);
    relative.remove_prefix(std::min(slash + 1, relative.size()));
    if (expects_prefix) {
      if (name != chunks.prefix) return false;
      expects_prefix = false;
    } else if (!ParseDecimal(name) || ++levels > chunks.levels) {
      return false;
    }
  }
  return true;
}

}  // namespace

CatalogStore::CatalogStore(std::shared_ptr<ObjectStore> below)
    : below_(std::move(below)), made_(TimeNow()), names_{{"", {}}} {}

void CatalogStore::AddLocked(std::string_view key, ObjectInfo::Kind kind) {
  for (std::string path(key); !path.empty() && count_ < kMostNames; path = ParentPath(path)) {
    if (kind == ObjectInfo::Kind::kDirectory) names_.try_emplace(path);
    const bool added = names_[ParentPath(path)].insert_or_assign(BaseName(path), kind).second;
    if (!added) return;
    ++count_;
    kind = ObjectInfo::Kind::kDirectory;
  }
}

void CatalogStore::AddDirectory(std::string_view key) {
  const std::lock_guard lock(mutex_);
  AddLocked(key, ObjectInfo::Kind::kDirectory);
}

void CatalogStore::AddDocument(std::string_view key) {
  if (!IsDocument(key)) return;
  const std::lock_guard lock(mutex_);
  AddLocked(key, ObjectInfo::Kind::kFile);
}

std::vector<std::string> CatalogStore::DocumentsIn(std::string_view key) const {
  std::vector<std::string> documents;
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(key);
  if (found == names_.end()) return documents;
  for (const auto& [name, kind] : found->second) {
    if (kind == ObjectInfo::Kind::kFile) documents.push_back(name);
  }
  return documents;
}

void CatalogStore::SetDataDirectory(std::string_view key, const ChunkDirectories& chunks) {
  const std::lock_guard lock(mutex_);
  AddLocked(key, ObjectInfo::Kind::kDirectory);
  if (data_.size() < kMostNames) data_.insert_or_assign(std::string(key), chunks);
}

CatalogStore::Place CatalogStore::PlaceOf(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  if (names_.contains(key)) return Place::kDirectory;
  for (std::string above(key); !above.empty();) {
    above = ParentPath(above);
    const auto data = data_.find(above);
    if (data == data_.end()) continue;
    const std::string_view relative = key.substr(above.empty() ? 0 : above.size() + 1);
    return IsChunkDirectory(data->second, relative) ? Place::kDirectory : Place::kInData;
  }
  return Place::kUnknown;
}

ObjectInfo CatalogStore::Directory() const {
  ObjectInfo info;
  info.kind = ObjectInfo::Kind::kDirectory;
  info.modified = made_;
  return info;
}

Result<std::optional<ObjectInfo>> CatalogStore::Stat(std::string_view key,
                                                     const Deadline& deadline) {
  const Place place = PlaceOf(key);
  if (place == Place::kDirectory) return Directory();
  UNSHARD_ASSIGN_OR_RETURN(const auto info, below_->Stat(key, deadline));
  if (info && info->kind == ObjectInfo::Kind::kFile) {
    if (IsDocument(key)) {
      const std::lock_guard lock(mutex_);
      AddLocked(key, ObjectInfo::Kind::kFile);
    }
    return info;
  }
  if (info && info->kind == ObjectInfo::Kind::kDirectory) {
    AddDirectory(key);
    return Directory();
  }
  const bool hidden = BaseName(std::string(key)).starts_with('.');
  if (place == Place::kInData || hidden || IsDocument(key)) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const bool is_dataset, HoldsDocuments(std::string(key), deadline));
  if (!is_dataset) return std::nullopt;
  AddDirectory(key);
  return Directory();
}

Result<bool> CatalogStore::HoldsDocuments(const std::string& key, const Deadline& deadline) {
  std::array<Status, kFirstDocuments.size()> failed;
  std::atomic<bool> found = false;
  ForEachInParallel(kFirstDocuments.size(), kFirstDocuments.size(), [&](std::size_t i) {
    const std::string document = JoinPath(key, kFirstDocuments[i]);
    const auto info = below_->Stat(document, deadline);
    if (!info) {
      failed[i] = tl::unexpected<Error>(info.error());
    } else if (*info && (*info)->kind == ObjectInfo::Kind::kFile) {
      found = true;
      const std::lock_guard lock(mutex_);
      AddLocked(document, ObjectInfo::Kind::kFile);
    }
  });
  if (found) return true;
  for (const Status& status : failed) UNSHARD_RETURN_IF_ERROR(status);
  return false;
}

Result<ObjectStore::Opened> CatalogStore::Open(std::string_view key, const RangeRequest& first,
                                               const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(Opened opened, below_->Open(key, first, deadline));
  if (!IsDocument(key)) return opened;
  const std::lock_guard lock(mutex_);
  if (opened.version) {
    AddLocked(key, ObjectInfo::Kind::kFile);
  } else if (const auto directory = names_.find(ParentPath(std::string(key)));
             directory != names_.end()) {
    const auto name = directory->second.find(BaseName(std::string(key)));
    if (name == directory->second.end() || name->second != ObjectInfo::Kind::kFile) return opened;
    directory->second.erase(name);
    --count_;
  }
  return opened;
}

Status CatalogStore::List(std::string_view key, const Deadline&, const ListVisitor& visitor) {
  std::map<std::string, ObjectInfo::Kind, std::less<>> names;
  {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(key);
    if (found != names_.end()) names = found->second;
  }
  std::uint64_t resume = 0;
  for (const auto& [name, kind] : names) {
    if (!visitor({name, kind, ++resume})) break;
  }
  return {};
}

}  // namespace unshard
