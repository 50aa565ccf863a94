#include "store/chunks/shard_lister.h"

#include <algorithm>

namespace unshard {

ShardLister::Known* ShardLister::Find(const std::string& store_directory) {
  const auto found = std::find_if(recent_.begin(), recent_.end(), [&](const Known& known) {
    return known.directory == store_directory;
  });
  if (found == recent_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found);
  return &recent_.front();
}

// Discards what was read before the last Forget(): it may be stale.
void ShardLister::Remember(std::uint64_t epoch, const std::string& store_directory,
                           const std::function<void(Known&)>& change) {
  const std::lock_guard lock(mutex_);
  if (epoch != epoch_) return;
  if (Find(store_directory) == nullptr) {
    recent_.push_front({store_directory, nullptr, {}, false, std::nullopt});
    if (recent_.size() > kRemembered) recent_.pop_back();
  }
  change(recent_.front());
}

Result<ShardLister::Listing> ShardLister::List(const std::string& store_directory,
                                               const NameParser& parse, Time since) {
  // Before the listing, so that each change after it gives an event.
  const bool watched = watch_(store_directory);
  const Time begun = clock_();
  std::uint64_t epoch = 0;
  {
    const std::lock_guard lock(mutex_);
    epoch = epoch_;
    const Known* known = Find(store_directory);
    if (known != nullptr && known->numbers) {
      if (watched && known->numbers_are_watched) return Listing{known->numbers, begun};
      if (known->read >= since) return Listing{known->numbers, known->read};
    }
  }
  std::vector<std::uint64_t> numbers;
  UNSHARD_RETURN_IF_ERROR(
      store_->List(store_directory, CallerDeadline(), [&](const ListEntry& entry) {
        if (const auto number = parse(entry.name)) numbers.push_back(*number);
        return true;
      }));
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  auto listed = std::make_shared<const std::vector<std::uint64_t>>(std::move(numbers));
  Remember(epoch, store_directory, [&](Known& known) {
    known.numbers = listed;
    known.read = begun;
    known.numbers_are_watched = watched;
  });
  return Listing{listed, begun};
}

Result<std::optional<timespec>> ShardLister::Modified(const std::string& store_directory) {
  // What keys of a remote store go through has no time of its own.
  if (!store_->capabilities().keeps_replaced_versions) return std::nullopt;
  std::uint64_t epoch = 0;
  {
    const std::lock_guard lock(mutex_);
    epoch = epoch_;
    const Known* known = Find(store_directory);
    if (known != nullptr && known->modified) return known->modified;
  }
  const auto look = [&]() -> Result<std::optional<timespec>> {
    UNSHARD_ASSIGN_OR_RETURN(const auto info, store_->Stat(store_directory, CallerDeadline()));
    if (!info || info->kind != ObjectInfo::Kind::kDirectory) return std::nullopt;
    return info->modified;
  };
  UNSHARD_ASSIGN_OR_RETURN(auto modified, look());
  // The number of names that do not exist is unlimited: they are neither watched nor remembered.
  if (!modified || !watch_(store_directory)) return modified;
  UNSHARD_ASSIGN_OR_RETURN(modified, look());
  if (modified) Remember(epoch, store_directory, [&](Known& known) { known.modified = modified; });
  return modified;
}

void ShardLister::Forget() {
  const std::lock_guard lock(mutex_);
  ++epoch_;
  recent_.clear();
}

}  // namespace unshard
