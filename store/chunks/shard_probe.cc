#include "store/chunks/shard_probe.h"

#include <atomic>
#include <optional>
#include <utility>

#include "store/object/parallel.h"

namespace unshard {
namespace {

// Errors of the store rather than of one object: the other requests would meet them, too.
bool EndsProbing(const Error& error) { return error.code == ErrorCode::kUnavailable; }

}  // namespace

Result<ShardProbe::Numbers> ShardProbe::List(std::uint64_t count, bool begins) {
  {
    const std::lock_guard lock(mutex_);
    if (!begins && latest_) return latest_;
  }
  std::vector<char> found(count);
  std::atomic<bool> failed = false;
  std::mutex failure_mutex;
  std::optional<Error> failure;  // guarded by failure_mutex
  const Deadline deadline = CallerDeadline();
  ForEachInParallel(count, kAtOnce, [&](std::size_t shard) {
    if (failed) return;
    const auto generation = shards_.Current(shard, deadline);
    found[shard] = !generation || (*generation)->object;
    if (generation || !EndsProbing(generation.error())) return;
    failed = true;
    const std::lock_guard lock(failure_mutex);
    failure = generation.error();
  });
  if (failure) return tl::unexpected<Error>(*std::move(failure));
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t shard = 0; shard < count; ++shard) {
    if (found[shard] != 0) numbers.push_back(shard);
  }
  auto listed = std::make_shared<const std::vector<std::uint64_t>>(std::move(numbers));
  const std::lock_guard lock(mutex_);
  latest_ = listed;
  return listed;
}

}  // namespace unshard
