// Which directories below a root inotify watches, kept right while directories come and go.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/local/root_directory.h"

namespace unshard {

// Watches each asked-for directory and, lightly, all directories above it: a parent that appears or
// is replaced is itself an event, and the watches below it are set anew before it is delivered.
// Thread-safe.
class WatchTree {
 public:
  // Borrows both.
  WatchTree(int inotify, const RootDirectory& root) : inotify_(inotify), root_(root) {}

  // False where the directory cannot be watched. If it is missing, its appearance is watched for.
  bool Watch(std::string_view directory);
  // Takes one event in; returns the keys that it is about. A directory whose watch was set anew is
  // among them: anything in it may have changed.
  std::vector<std::string> Take(int watch, std::uint32_t mask, std::string_view name);
  // Sets every watch anew, for when events were lost, or other file systems are mounted.
  void Rebuild();

 private:
  // A watched directory. If it was asked for, it has events of changed contents too; if it is only
  // on the way to such a directory, only events of names that come and go.
  struct Node {
    int watch = -1;
    bool asked_for = false;
  };

  // These are called with mutex_ held.
  [[nodiscard]] bool IsOnNetwork(int place);
  [[nodiscard]] int AddWatch(const std::string& directory, bool asked_for);
  bool Attach(const std::string& directory);
  void SetNode(const std::string& directory, const Node& node);
  void Detach(const std::string& directory, const Node& node);
  std::vector<std::string> Renew(const std::string& top);
  [[nodiscard]] bool HasBelow(const std::string& top) const;

  const int inotify_;
  const RootDirectory& root_;
  std::mutex mutex_;
  // All guarded by mutex_.
  std::map<std::string, Node, std::less<>> nodes_;
  std::set<std::string, std::less<>> missing_;                  // asked for, not there yet
  std::unordered_map<int, std::vector<std::string>> by_watch_;  // links may lead to one directory
  std::map<dev_t, bool> on_network_;                            // by device
};

}  // namespace unshard
