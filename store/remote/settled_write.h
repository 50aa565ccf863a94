// One conditional write to a remote store, and what has become of it.
//
// A write that is answered may have been applied before, by the same request when its first answer
// was lost, and a write without an answer may be applied later. So:
//
//   1. Send the write. It is conditional on the base, and marks the version with the attempt's id.
//   2. Applied: done. Refused for good: an error. No connection: the object is unchanged; wait, and
//      start over.
//   3. Every other answer, or none: the outcome is not known. Ask for the object as it is now.
//      a. It carries the attempt's id, as its own or as one of those before it: applied.
//      b. It still is the base: not applied. Wait, longer each time, and start over.
//      c. It is anything else, or missing: the condition has failed.
//      d. The request for it fails: the outcome is unknown.
//   4. After the last try the object is unchanged, or, where a try was never answered and may still
//      be on its way, the outcome is unknown.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "store/object/object_replacement.h"
#include "store/remote/object_writer.h"

namespace unshard {

struct WriteTries {
  int most = 8;
  std::chrono::milliseconds least_delay{100};
  std::chrono::milliseconds most_delay{5000};
  // Waits before another try; false: there is to be none, because the mount is ending.
  std::function<bool(std::chrono::milliseconds)> wait;
};

struct SettledWrite {
  Committed committed;
  std::optional<RemoteObject> now;  // kCommitted: the object as the write has left it
};

// What is written: called once a try.
using TryWrite = std::function<WriteAnswer()>;

// Makes the version that `attempt` stands for, of `size` bytes, in place of `base`. kDataLoss where
// the service then holds another number of bytes.
Result<SettledWrite> SettleCommit(ObjectWriter& writer, const std::string& key,
                                  const std::optional<RemoteObject>& base,
                                  const std::string& attempt, std::uint64_t size,
                                  const TryWrite& write, const WriteTries& tries);
// Removes `base`. An object that is missing after a try without a clear answer counts as removed.
Result<SettledWrite> SettleRemoval(ObjectWriter& writer, const std::string& key,
                                   const RemoteObject& base, const TryWrite& write,
                                   const WriteTries& tries);

}  // namespace unshard
