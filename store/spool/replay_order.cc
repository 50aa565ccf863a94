#include "store/spool/replay_order.h"

#include <optional>
#include <utility>

#include "store/object/time_now.h"

namespace unshard {

std::vector<ReplayedChunk> InReplayOrder(std::vector<std::vector<SpooledChunk>> spools) {
  std::vector<ReplayedChunk> ordered;
  std::vector<std::size_t> next(spools.size(), 0);
  const auto time = [&](std::size_t spool) { return spools[spool][next[spool]].committed; };
  for (;;) {
    std::optional<std::size_t> earliest;
    for (std::size_t i = 0; i < spools.size(); ++i) {
      if (next[i] == spools[i].size()) continue;
      if (!earliest || IsLater(time(*earliest), time(i))) earliest = i;
    }
    if (!earliest) return ordered;
    ordered.push_back({*earliest, std::move(spools[*earliest][next[*earliest]++])});
  }
}

}  // namespace unshard
