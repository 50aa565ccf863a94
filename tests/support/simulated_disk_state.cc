#include "tests/support/simulated_disk_state.h"

#include <algorithm>
#include <cerrno>
#include <new>

namespace unshard {
namespace {

constexpr std::uint64_t kSector = 512;

bool IsRead(DiskOperation operation) {
  return operation == DiskOperation::kRead || operation == DiskOperation::kStat ||
         operation == DiskOperation::kList;
}

// Writes of `change` only the sectors that `keeps` chooses.
template <class Keeps>
void ApplySectors(const FileChange& change, ByteVector& bytes, const Keeps& keeps) {
  for (std::uint64_t done = 0; done < change.bytes.size();) {
    const std::uint64_t at = change.offset + done;
    const std::uint64_t size =
        std::min<std::uint64_t>(kSector - at % kSector, change.bytes.size() - done);
    if (keeps()) {
      if (bytes.size() < at + size) bytes.resize(at + size);
      std::copy_n(change.bytes.begin() + static_cast<std::ptrdiff_t>(done), size,
                  bytes.begin() + static_cast<std::ptrdiff_t>(at));
    }
    done += size;
  }
}

}  // namespace

void ApplyNameChange(const NameChange& change, std::map<DiskName, std::uint64_t>& names) {
  if (change.gone) names.erase(*change.gone);
  if (change.made) names[*change.made] = change.node;
}

void ApplyFileChange(const FileChange& change, ByteVector& bytes) {
  if (change.truncates) {
    bytes.resize(change.offset);
  } else if (change.lost) {
    bytes.resize(std::max<std::uint64_t>(bytes.size(), change.size_after));
  } else {
    ApplySectors(change, bytes, [] { return true; });
  }
}

ByteVector SurvivingBytes(const DiskNode& node, Survival survival, std::mt19937_64& random) {
  ByteVector bytes = node.durable;
  if (survival == Survival::kNothing) return bytes;
  std::vector<std::uint64_t> sizes = {bytes.size()};
  for (const FileChange& change : node.changes) {
    sizes.push_back(change.size_after);
    if (survival == Survival::kEverything) {
      ApplyFileChange(change, bytes);
      continue;
    }
    const auto fate = random() % 3;
    if (change.truncates) {
      if (fate != 0) bytes.resize(change.offset);
    } else if (!change.lost && fate != 0) {
      ApplySectors(change, bytes, [&] { return fate == 1 || random() % 2 == 0; });
    }
  }
  // The length survives independently of the bytes: it may be that of any moment since the last
  // Sync.
  const auto which = survival == Survival::kEverything ? sizes.size() - 1 : random() % sizes.size();
  bytes.resize(sizes[which]);
  return bytes;
}

int SimulatedDisk::State::Begin(DiskOperation operation) {
  if (crashed) return EIO;
  const auto failing_kind = failing.find(operation);
  if (!IsRead(operation) || options.counts_reads) {
    ++operations;
    if (operations == crash_at) {
      crashed = true;
      unlocked.notify_all();
      return EIO;
    }
    if (operations == fail_at || (fail_at != 0 && fail_lasts && operations > fail_at)) {
      return fail_errno;
    }
  }
  if (failing_kind == failing.end()) return 0;
  if (failing_kind->second == kThrows) throw std::bad_alloc();
  return failing_kind->second;
}

Status SimulatedDisk::State::Check(DiskOperation operation, const std::string& path) {
  const int failed = Begin(operation);
  if (failed == 0) return {};
  return FailErrno(failed, (crashed ? "after the crash: " : "by request: ") + path);
}

std::uint64_t SimulatedDisk::State::Find(std::string_view path) const {
  std::uint64_t node = kRoot;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const auto& names = nodes.at(node).names;
    const auto found = names.find(std::string(path.substr(begin, end - begin)));
    if (found == names.end()) return 0;
    node = found->second;
    begin = end + 1;
  }
  return node;
}

DiskName SimulatedDisk::State::Locate(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  const bool in_root = slash == std::string::npos;
  const std::uint64_t parent = in_root ? kRoot : Find(std::string_view(path).substr(0, slash));
  const bool is_directory = parent != 0 && nodes.at(parent).directory;
  return {is_directory ? parent : 0, in_root ? path : path.substr(slash + 1)};
}

std::uint64_t SimulatedDisk::State::Make(const DiskName& name, bool directory) {
  const std::uint64_t node = ++last_node;
  nodes[node].directory = directory;
  Change({std::nullopt, name, node});
  return node;
}

void SimulatedDisk::State::Change(NameChange change) {
  if (!options.clock_stands) ++ticks;
  if (change.gone) {
    auto& names = nodes.at(change.gone->directory).names;
    --nodes.at(names.at(change.gone->name)).links;
    names.erase(change.gone->name);
    nodes.at(change.gone->directory).modified = ticks;
  }
  if (change.made) {
    auto& names = nodes.at(change.made->directory).names;
    const auto replaced = names.find(change.made->name);
    if (replaced != names.end()) --nodes.at(replaced->second).links;
    names[change.made->name] = change.node;
    ++nodes.at(change.node).links;
    nodes.at(change.made->directory).modified = ticks;
  }
  name_changes.push_back(std::move(change));
}

std::uint64_t SimulatedDisk::State::UsedBytes() const {
  std::uint64_t used = 0;
  for (const auto& [number, node] : nodes) used += node.links > 0 ? node.now.size() : 0;
  return used;
}

Status SimulatedDisk::State::Write(std::uint64_t node, std::uint64_t offset, ByteSpan bytes) {
  if (crashed) return FailErrno(EIO, "after the crash");
  const int failed = Begin(DiskOperation::kWrite);
  if (failed != 0) bytes = bytes.first(random() % (bytes.size() + 1));
  DiskNode& file = nodes.at(node);
  if (failed == 0 && options.capacity != UINT64_MAX) {
    const std::uint64_t end = offset + bytes.size();
    const std::uint64_t grows = end > file.now.size() ? end - file.now.size() : 0;
    if (UsedBytes() + grows > options.capacity) return FailErrno(ENOSPC, "the disk is full");
  }
  if (!bytes.empty()) {
    FileChange change{false, offset, ByteVector(bytes.begin(), bytes.end()), 0, false};
    ApplyFileChange(change, file.now);
    change.size_after = file.now.size();
    file.changes.push_back(std::move(change));
    file.modified = ++ticks;
  }
  if (failed != 0) return FailErrno(failed, crashed ? "after the crash" : "by request");
  return {};
}

void SimulatedDisk::State::Resize(DiskNode& node, std::uint64_t size) {
  node.now.resize(size);
  node.changes.push_back({true, size, {}, size, false});
  node.modified = ++ticks;
}

Status SimulatedDisk::State::SyncFile(std::uint64_t node) {
  DiskNode& file = nodes.at(node);
  const int failed = Begin(DiskOperation::kSync);
  if (failed == 0) {
    for (const FileChange& change : file.changes) ApplyFileChange(change, file.durable);
    file.changes.clear();
    return {};
  }
  if (crashed) return FailErrno(failed, "after the crash");
  bool any_lost = false;
  for (FileChange& change : file.changes) {
    if (!change.truncates && random() % 2 == 0) any_lost = change.lost = true;
  }
  if (any_lost && options.failed_sync_evicts) {
    file.now = file.durable;
    for (const FileChange& change : file.changes) ApplyFileChange(change, file.now);
  }
  return FailErrno(failed, "by request");
}

void SimulatedDisk::State::SyncNames(std::uint64_t directory) {
  const auto in_directory = [&](const NameChange& change) {
    return (change.gone && change.gone->directory == directory) ||
           (change.made && change.made->directory == directory);
  };
  // From the last change to the first: whatever an applied change needs is applied as well.
  std::vector<NameChange> applied;
  std::vector<NameChange> kept;
  for (std::size_t i = name_changes.size(); i-- > 0;) {
    NameChange& change = name_changes[i];
    const bool needed = std::any_of(applied.begin(), applied.end(),
                                    [&](const auto& later) { return later.Shares(change); });
    (in_directory(change) || needed ? applied : kept).push_back(std::move(change));
  }
  std::for_each(applied.rbegin(), applied.rend(),
                [&](const auto& change) { ApplyNameChange(change, durable_names); });
  std::reverse(kept.begin(), kept.end());
  name_changes = std::move(kept);
}

}  // namespace unshard
