// Own publishes: a shard that we replace ourselves.
//
//   1. BeginReplacement takes the place of a look, once the one that is under way has ended. Looks
//      that are wanted from now on wait: none sees the store between the rename and step 3.
//      Generations that are known meanwhile go on being given out and read.
//   2. The caller renames.
//   3. Finish looks at the store. An object that is the published one, on a base that was the
//      current generation, takes that generation's place with its count; anything else was done by
//      somebody else and is a change like all others. Those who wait get what was found.
//   4. Without Finish nothing is known to have happened: those who wait look by themselves.
#include <utility>

#include "store/shard/set_state.h"

namespace unshard {

ShardSet::Replacement ShardSet::BeginReplacement(std::uint64_t shard) {
  Locked locked(mutex_);
  while (const std::shared_ptr<Looking> looking = Remember(locked, shard).looking) {
    looking->done.wait(locked.lock, [&] { return looking->over; });
  }
  return {*this, shard, BeginLook(locked, shard)};
}

Result<ShardGenerationPtr> ShardSet::Replacement::Finish(const OwnPublish& own) {
  Locked locked(set_->mutex_);
  const std::shared_ptr<Looking> looking = std::exchange(looking_, nullptr);
  set_->FinishLook(locked, shard_, looking, &own, Deadline::None());
  return *looking->result;
}

ShardSet::Replacement::~Replacement() {
  if (!looking_) return;
  Locked locked(set_->mutex_);
  set_->Remember(locked, shard_).looking = nullptr;
  looking_->over = true;
  looking_->done.notify_all();
}

void ShardSet::Renew(std::uint64_t shard) {
  Locked locked(mutex_);
  const auto found = shards_.find(shard);
  if (found == shards_.end()) return;
  found->second->stale_since = ++epoch_;
  found->second->Retire(locked.retired);
}

}  // namespace unshard
