#include "fs/shard_lister.h"

#include <algorithm>

namespace unshard {

Result<ShardLister::Numbers> ShardLister::List(const std::string& store_directory,
                                               const NameParser& parse, bool fresh) {
  const auto same = [&](const auto& entry) { return entry.first == store_directory; };
  if (!fresh) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(recent_.begin(), recent_.end(), same);
    if (found != recent_.end()) {
      recent_.splice(recent_.begin(), recent_, found);
      return found->second;
    }
  }
  std::vector<std::uint64_t> numbers;
  UNSHARD_RETURN_IF_ERROR(store_->List(store_directory, [&](const ListEntry& entry) {
    if (const auto number = parse(entry.name)) numbers.push_back(*number);
    return true;
  }));
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  auto listed = std::make_shared<const std::vector<std::uint64_t>>(std::move(numbers));

  const std::lock_guard lock(mutex_);
  recent_.remove_if(same);
  recent_.emplace_front(store_directory, listed);
  if (recent_.size() > kRemembered) recent_.pop_back();
  return listed;
}

void ShardLister::Forget() {
  const std::lock_guard lock(mutex_);
  recent_.clear();
}

}  // namespace unshard
