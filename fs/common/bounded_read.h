// Reading files that may never answer: control files of mounts whose processes hang or are gone.
#pragma once

#include <string>
#include <vector>

namespace unshard {

// How long commands wait for the control files of mounts.
inline constexpr int kControlFileMilliseconds = 5000;

struct BoundedRead {
  enum class State { kRead, kFailed, kSilent };
  State state = State::kSilent;
  int error = 0;     // kFailed: the errno
  std::string text;  // kRead
};

// Reads all `paths` at once, each in a process of its own, and returns what arrived within
// `milliseconds`, in the same order. A process that waits for a silent mount cannot always be
// killed: it is left behind without any file of ours open. Requires: no other thread runs.
std::vector<BoundedRead> ReadWithin(const std::vector<std::string>& paths, int milliseconds);

}  // namespace unshard
