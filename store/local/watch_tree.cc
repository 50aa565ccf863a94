#include "store/local/watch_tree.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "store/local/network_file_system.h"
#include "store/object/key.h"
#include "store/object/keys_below.h"

namespace unshard {
namespace {

constexpr std::uint32_t kNames = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr std::uint32_t kSelf = IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t kContents = IN_MODIFY | IN_CLOSE_WRITE;
constexpr std::uint32_t kGone = kSelf | IN_IGNORED | IN_UNMOUNT;

const std::string& KeyOf(const std::string& key) { return key; }
template <class Value>
const std::string& KeyOf(const std::pair<const std::string, Value>& item) {
  return item.first;
}

// Calls `visitor` with the keys of `sorted` at or below the directory `top` until it returns false.
template <class Sorted, class Visitor>
void ForEachBelow(const Sorted& sorted, const std::string& top, const Visitor& visitor) {
  const auto self = sorted.find(top);
  if (self != sorted.end() && !visitor(KeyOf(*self))) return;
  for (const auto& each : KeysBelow(sorted, top)) {
    if (!visitor(KeyOf(each))) return;
  }
}

}  // namespace

// Asks each file system once.
bool WatchTree::IsOnNetwork(int place) {
  struct statx status {};
  constexpr int kHow = AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
  if (::statx(place, "", kHow, 0, &status) != 0) return false;
  const dev_t device = makedev(status.stx_dev_major, status.stx_dev_minor);
  const auto [known, added] = on_network_.try_emplace(device, false);
  if (added) known->second = IsNetworkFileSystem(place);
  return known->second;
}

int WatchTree::AddWatch(const std::string& directory, bool asked_for) {
  const auto place = root_.OpenBeneath(directory, O_PATH | O_DIRECTORY);
  if (!place) errno = place.error().system_errno;
  if (place && !place->valid()) errno = ENOENT;
  if (!place || !place->valid()) return -1;
  if (IsOnNetwork(place->get())) {  // what other hosts do there makes no event
    errno = EOPNOTSUPP;
    return -1;
  }
  const std::string path = "/proc/self/fd/" + std::to_string(place->get());
  const std::uint32_t mask = kNames | kSelf | (asked_for ? kContents : 0u);
  return ::inotify_add_watch(inotify_, path.c_str(), mask | IN_ONLYDIR | IN_MASK_ADD);
}

bool WatchTree::Watch(std::string_view directory) {
  const std::lock_guard lock(mutex_);
  const auto node = nodes_.find(directory);
  if (node != nodes_.end() && node->second.asked_for) return true;
  if (missing_.contains(directory)) return true;
  return Attach(std::string(directory));
}

// From the root downwards: what appears after a level was tried is an event of the level above.
bool WatchTree::Attach(const std::string& directory) {
  for (std::size_t end = 0;;) {
    const std::string level = directory.substr(0, end);
    const bool asked_for = end == directory.size();
    const auto node = nodes_.find(level);
    if (node == nodes_.end() || (asked_for && !node->second.asked_for)) {
      const int watch = AddWatch(level, asked_for);
      if (watch >= 0) {
        SetNode(level, Node{watch, asked_for});
      } else if (errno == ENOENT || errno == ENOTDIR) {
        missing_.insert(directory);
        return true;
      } else if (asked_for || errno != EACCES) {
        return false;
      }
    }
    if (asked_for) return true;
    end = std::min(directory.find('/', end == 0 ? 0 : end + 1), directory.size());
  }
}

void WatchTree::SetNode(const std::string& directory, const Node& node) {
  const auto [known, added] = nodes_.try_emplace(directory, node);
  // Another watch than before: the directory has been replaced, and the event is still to come.
  if (!added && known->second.watch != node.watch) Detach(directory, known->second);
  if (added || known->second.watch != node.watch) by_watch_[node.watch].push_back(directory);
  known->second = node;
}

void WatchTree::Detach(const std::string& directory, const Node& node) {
  const auto keys = by_watch_.find(node.watch);
  if (keys == by_watch_.end()) return;
  std::erase(keys->second, directory);
  if (!keys->second.empty()) return;
  by_watch_.erase(keys);
  ::inotify_rm_watch(inotify_, node.watch);
}

// Sets the watches at and below `top` anew: the paths may lead to other directories now. Returns
// those whose watch was asked for: events that their old watches have queued are not delivered.
std::vector<std::string> WatchTree::Renew(const std::string& top) {
  std::vector<std::string> asked_for;
  std::vector<std::string> stale;
  ForEachBelow(missing_, top, [&](const std::string& key) {
    asked_for.push_back(key);
    return true;
  });
  for (const std::string& key : asked_for) missing_.erase(key);
  ForEachBelow(nodes_, top, [&](const std::string& key) {
    stale.push_back(key);
    return true;
  });
  for (const std::string& key : stale) {
    const Node node = nodes_[key];
    nodes_.erase(key);
    Detach(key, node);
    if (node.asked_for) asked_for.push_back(key);
  }
  // If this fails, the directory is not watched: the listener asks again; Watch() returns false.
  for (const std::string& key : asked_for) Attach(key);
  return asked_for;
}

bool WatchTree::HasBelow(const std::string& top) const {
  bool found = false;
  const auto note = [&](const std::string&) {
    found = true;
    return false;
  };
  ForEachBelow(nodes_, top, note);
  if (!found) ForEachBelow(missing_, top, note);
  return found;
}

std::vector<std::string> WatchTree::Take(int watch, std::uint32_t mask, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = by_watch_.find(watch);
  if (found == by_watch_.end()) return {};  // removed by us, and delivered as changed then
  std::vector<std::string> keys;
  for (const std::string& directory : found->second) keys.push_back(JoinPath(directory, name));
  std::vector<std::string> renewed;
  for (const std::string& key : keys) {
    const bool gone = name.empty() && (mask & kGone) != 0;
    if (!gone && ((mask & kNames) == 0 || !HasBelow(key))) continue;
    std::vector<std::string> below = Renew(key);
    std::move(below.begin(), below.end(), std::back_inserter(renewed));
  }
  std::move(renewed.begin(), renewed.end(), std::back_inserter(keys));
  return keys;
}

void WatchTree::Rebuild() {
  const std::lock_guard lock(mutex_);
  on_network_.clear();
  Renew("");
}

}  // namespace unshard
