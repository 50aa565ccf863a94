#include "store/zip/entered_archives.h"

#include <algorithm>

namespace unshard {
namespace {

constexpr std::size_t kMostArchives = 16;

}  // namespace

Capabilities EnteredArchives::capabilities() const {
  Capabilities capabilities = below_->capabilities();
  capabilities.writes = Capabilities::Writes::kNone;
  return capabilities;
}

std::shared_ptr<ZipStore> EnteredArchives::ArchiveAt(std::string_view key) {
  const std::lock_guard lock(mutex_);
  auto found = std::find_if(archives_.begin(), archives_.end(),
                            [&](const auto& each) { return each.first == key; });
  if (found == archives_.end()) {
    if (archives_.size() == kMostArchives) archives_.pop_back();
    auto archive = std::make_shared<ZipStore>(below_, std::string(key), "", options_);
    found = archives_.insert(archives_.end(), {std::string(key), std::move(archive)});
  }
  std::rotate(archives_.begin(), found, found + 1);
  return archives_.front().second;
}

Result<std::optional<EnteredArchives::Place>> EnteredArchives::Find(std::string_view key,
                                                                    const Deadline& deadline) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  for (std::size_t begin = 0; begin < key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    if (HasZipName(key.substr(begin, end - begin))) {
      UNSHARD_ASSIGN_OR_RETURN(const auto info, below_->Stat(key.substr(0, end), deadline));
      if (!info) return std::nullopt;
      if (info->kind == ObjectInfo::Kind::kFile) {
        return Place{ArchiveAt(key.substr(0, end)), key.substr(std::min(end + 1, key.size()))};
      }
    }
    begin = end + 1;
  }
  return std::nullopt;
}

Result<std::optional<ObjectInfo>> EnteredArchives::Stat(std::string_view key,
                                                        const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(const auto place, Find(key, deadline));
  if (place && !place->inside.empty()) return place->archive->Stat(place->inside, deadline);
  auto info = below_->Stat(key, deadline);
  if (place && info && *info) {
    (*info)->kind = ObjectInfo::Kind::kDirectory;
    (*info)->size = 0;
  }
  return info;
}

Result<ObjectStore::Opened> EnteredArchives::Open(std::string_view key, const RangeRequest& first,
                                                  const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(const auto place, Find(key, deadline));
  if (!place) return below_->Open(key, first, deadline);
  if (!place->inside.empty()) return place->archive->Open(place->inside, first, deadline);
  return Fail(ErrorCode::kDataLoss, Describe(key), ": expected a file, found a directory");
}

Status EnteredArchives::List(std::string_view key, const Deadline& deadline,
                             const ListVisitor& visitor) {
  return ListFrom(key, 0, deadline, visitor);
}

Status EnteredArchives::ListFrom(std::string_view key, std::uint64_t resume,
                                 const Deadline& deadline, const ListVisitor& visitor) {
  UNSHARD_ASSIGN_OR_RETURN(const auto place, Find(key, deadline));
  if (place) return place->archive->ListFrom(place->inside, resume, deadline, visitor);
  return below_->ListFrom(key, resume, deadline, [&](const ListEntry& entry) {
    ListEntry shown = entry;
    const bool is_archive = entry.kind == ObjectInfo::Kind::kFile && HasZipName(entry.name);
    if (is_archive) shown.kind = ObjectInfo::Kind::kDirectory;
    return visitor(shown);
  });
}

}  // namespace unshard
