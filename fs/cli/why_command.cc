#include "fs/cli/why_command.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <system_error>

#include "codec/core/escaped_text.h"
#include "fs/cli/absent_path.h"
#include "fs/cli/failure_advice.h"
#include "fs/cli/mount_command.h"
#include "fs/common/bounded_read.h"
#include "fs/kernel/fuse_mount.h"

namespace unshard {
namespace {

// A path inside a mount of ours.
struct Place {
  MountEntry mount;
  std::string inside;  // begins with "/"
};

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::optional<Place> PlaceIn(const std::vector<MountEntry>& table, const std::string& path) {
  auto holding = MountHolding(table, path);
  if (!holding || !IsOurs(*holding)) return std::nullopt;
  const std::string below = path.substr(holding->mount_point.size());
  const std::string inside = (holding->root == "/" ? "" : holding->root) + below;
  // A bind mount of a subdirectory has no control files: the mount of the root has.
  for (const MountEntry& entry : table) {
    const bool is_root = entry.root == "/" && entry.is_on_device_of(*holding);
    if (holding->root != "/" && is_root) holding = entry;
  }
  return Place{*holding, inside.empty() ? "/" : inside};
}

// Matches the path as text first, so that resolving its links does not wait for a mount that hangs.
std::optional<Place> PlaceOf(const std::vector<MountEntry>& table, const std::string& path) {
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(path, failed).lexically_normal();
  if (failed) return std::nullopt;
  if (auto place = PlaceIn(table, WithoutSlash(absolute.string()))) return place;
  const auto resolved = std::filesystem::weakly_canonical(absolute, failed);
  if (failed) return std::nullopt;
  return PlaceIn(table, WithoutSlash(resolved.string()));
}

int Refuse(const std::string& path, const std::string& message) {
  std::cerr << "unshard: " << Printable(path) << ": " << message << "\n";
  return 1;
}

int ReportUnread(const Place& place, const BoundedRead& read) {
  const std::string mount = place.mount.mount_point;
  const bool gone = read.error == ENOTCONN || read.error == ECONNABORTED;
  if (read.state == BoundedRead::State::kSilent)
    return Refuse(
        mount,
        "the mount does not answer: its process is stopped, overloaded or waits for its disk; try "
        "again, or end it with `unshard umount`");
  if (gone) {
    return Refuse(mount,
                  "the process of this mount is gone, so that every request fails; `unshard "
                  "umount` removes it, and the next mount publishes its written chunks");
  }
  return ReportFailure(FailErrno(read.error, mount + "/.unshard/errors").value());
}

// Nothing is recorded of the path: its chunk may be absent, or the kernel refused by itself.
int ReportNoFailure(const std::string& path, const Place& place, const std::string& config) {
  const std::string mount = Printable(place.mount.mount_point);
  struct stat found;
  if (lstat(path.c_str(), &found) != 0 && errno == ENOENT) {
    const std::string why = ExplainAbsentPath(config, place.inside);
    if (!why.empty()) {
      std::cout << Printable(path) << ": does not exist\n    why: " << why
                << "\n    what to do: `unshard info " << Printable(place.mount.source)
                << "` shows shape and chunks\n";
      return 0;
    }
  }
  return Refuse(
      path,
      "no failed request is recorded for this path; the kernel itself refuses writes to a "
      "read-only mount (`unshard status " +
          mount + "`) and access without permission (`ls -ld`)");
}

}  // namespace

int RunWhy(const std::string& path) {
  const auto table = ReadMountTable();
  if (!table) return ReportFailure(table.error());
  const auto place = PlaceOf(*table, path);
  if (!place) {
    return Refuse(path,
                  "no mount of unshard holds it; `unshard list` shows all mounts, and if `unshard "
                  "mount` failed, its message or the system log says why");
  }
  const std::string mount = Printable(place->mount.mount_point);
  const std::string control = place->mount.mount_point + "/.unshard/";
  const auto reads =
      ReadWithin({control + "errors", control + "config.json"}, kControlFileMilliseconds);
  const BoundedRead& read = reads.front();
  if (read.state != BoundedRead::State::kRead) return ReportUnread(*place, read);
  std::optional<LoggedFailure> last;
  std::istringstream lines(read.text);
  for (std::string line; std::getline(lines, line);) {
    const auto failure = ParseLoggedFailure(line);
    if (!failure || !Concerns(*failure, Printable(place->inside))) continue;
    if (!last || !IsConsequence(*failure, *last)) last = failure;
  }
  if (!last) {
    return ReportNoFailure(path, *place, reads.back().text);
  }
  // A commit can fail at RELEASE, after all descriptors are closed: to the caller that is a close.
  const std::string operation = last->operation == "release" ? "close" : last->operation;
  std::cout << mount << last->path << ": " << operation << " failed with " << last->errno_name
            << " at " << last->time << "\n    why: " << last->message
            << "\n    what to do: " << AdviceOn(*last, Printable(place->mount.source), mount)
            << "\n";
  return 0;
}

}  // namespace unshard
