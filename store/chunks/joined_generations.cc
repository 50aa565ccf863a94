#include "store/chunks/joined_generations.h"

#include <algorithm>
#include <utility>

#include "store/chunks/sharded_chunks.h"

namespace unshard {
namespace {

constexpr std::size_t kLeastKnown = 1024;

// What tells the versions of one part apart.
std::uint64_t IdentityOf(const JoinedVersion::Part& part) {
  if (part.written != 0) return 2 * part.written + 1;
  const ShardGenerationPtr shard = ShardGenerationOf(part.stored);
  return shard ? 2 * shard->serial : 0;
}

}  // namespace

ChunkGeneration JoinedGenerations::Of(std::uint64_t position,
                                      std::vector<JoinedVersion::Part> parts,
                                      const timespec& modified) {
  Key key{position};
  for (const JoinedVersion::Part& part : parts) key.push_back(IdentityOf(part));
  const std::lock_guard lock(mutex_);
  if (const auto found = numbers_.find(key); found != numbers_.end()) {
    return known_.at(found->second).generation;
  }
  if (known_.size() >= sweep_at_) Sweep();
  auto made = std::make_shared<JoinedVersion>();
  do {
    made->serial = ++last_serial_;
    made->number = static_cast<std::uint32_t>(made->serial);
  } while (known_.contains(made->number));
  made->parts = std::move(parts);
  const std::uint32_t number = made->number;
  const ChunkGeneration generation{number, modified, std::move(made)};
  known_.emplace(number, Known{key, generation, 0});
  numbers_.emplace(std::move(key), number);
  return generation;
}

void JoinedGenerations::Sweep() {
  std::erase_if(known_, [&](const auto& entry) {
    const Known& known = entry.second;
    // One is that of `known`.
    const bool unused = known.references == 0 && known.generation.lease.use_count() == 1;
    if (unused) numbers_.erase(known.key);
    return unused;
  });
  sweep_at_ = std::max(kLeastKnown, 2 * known_.size());
}

std::optional<ChunkGeneration> JoinedGenerations::Find(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(number);
  if (found == known_.end()) return std::nullopt;
  return found->second.generation;
}

void JoinedGenerations::AddReference(const ChunkGeneration& generation) {
  const std::lock_guard lock(mutex_);
  if (const auto found = known_.find(generation.number); found != known_.end()) {
    ++found->second.references;
  }
}

void JoinedGenerations::DropReferences(std::uint32_t number, std::uint64_t references) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(number);
  if (found == known_.end()) return;
  std::uint64_t& left = found->second.references;
  left -= std::min(left, references);
}

}  // namespace unshard
