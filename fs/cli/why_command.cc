#include "fs/cli/why_command.h"

#include <sys/stat.h>

#include <algorithm>
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
#include "fs/mount/mount_status.h"
#include "store/object/key.h"
#include "store/spool/spool_contents.h"

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
  if (read.error == EACCES) {
    return Refuse(mount,
                  "only the user who mounted it can enter this mount; to let other users enter it, "
                  "mount it with -o allow_other");
  }
  return ReportFailure(FailErrno(read.error, mount + "/.unshard/errors").value());
}

void Explain(const std::string& what, const std::string& why, const std::string& to_do) {
  std::cout << what << "\n    why: " << why << "\n    what to do: " << to_do << "\n";
}

bool ExplainQuarantined(const std::vector<SpoolConflict>& chunks, const std::string& reason,
                        const std::string& path, const Place& place) {
  const std::string name = place.inside.substr(1);
  const std::string source = Printable(place.mount.source);
  for (const SpoolConflict& one : chunks) {
    if (JoinPath(one.dataset, one.chunk) != name) continue;
    Explain(Printable(path) + ": not published, but quarantined",
            reason + "; it is kept as " + Printable(one.path),
            "`unshard spool export DIRECTORY " + source + "` copies it, `unshard spool drop " +
                source + " " + Printable(name) +
                "` removes it for good; then write the chunk anew");
    return true;
  }
  return false;
}

// Explains that a chunk was quarantined, if it was.
bool ExplainQuarantined(const std::string& path, const Place& place, const SpoolStatus& write) {
  return ExplainQuarantined(write.conflicting,
                            "another program has changed this chunk in the source", path, place) ||
         ExplainQuarantined(write.quarantined,
                            "it does not fit the source as it is now, or is damaged", path, place);
}

// Explains what was written there, as long as it is not in the source.
bool ExplainWritten(const std::string& path, const Place& place, const SpoolStatus& write) {
  const std::string name = place.inside.substr(1);
  if (std::find(write.scratch.begin(), write.scratch.end(), name) != write.scratch.end()) {
    Explain(Printable(path) + ": is a scratch file",
            "it has no chunk's name, so it stays on this machine and ends with the mount",
            "rename it onto the name of a chunk to store it, or copy it elsewhere");
    return true;
  }
  const auto contents = ReadSpool(write.spool);
  if (!contents) return false;
  for (const SpoolFile& file : contents->chunks) {
    if (JoinPath(file.chunk.dataset, file.chunk.chunk) != name) continue;
    Explain(Printable(path) + ": " + (file.chunk.removed ? "removed" : "written") +
                ", and not published yet",
            "it waits in the spool; programs that read the source see the chunk as it was",
            "`unshard flush " + Printable(place.mount.mount_point) + "` publishes it now");
    return true;
  }
  return false;
}

// Nothing is recorded of the path: its chunk may be absent, or the kernel refused by itself.
int ReportNoFailure(const std::string& path, const Place& place, const std::string& config,
                    const Result<MountStatus>& status) {
  const std::string mount = Printable(place.mount.mount_point);
  if (status && status->write && ExplainWritten(path, place, *status->write)) return 0;
  struct stat found;
  if (lstat(path.c_str(), &found) != 0 && errno == ENOENT) {
    const bool writable = status && !status->read_only;
    const std::string why = ExplainAbsentPath(config, place.inside, writable);
    if (!why.empty()) {
      Explain(Printable(path) + ": does not exist", why,
              "`unshard info " + Printable(place.mount.source) + "` shows shape and chunks");
      return 0;
    }
  }
  std::string message = "no failed request is recorded for this path; ";
  if (status && status->read_only) {
    message +=
        "the mount is read-only, and the kernel refuses writes to it without a record: to "
        "write, mount without ro";
  } else {
    message +=
        "the kernel refuses access without permission by itself (`ls -ld`); `unshard status " +
        mount + "` shows what the mount does";
  }
  return Refuse(path, message);
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
      ReadWithin({control + "errors", control + "config.json", control + "status.json"},
                 kControlFileMilliseconds);
  const BoundedRead& read = reads.front();
  if (read.state != BoundedRead::State::kRead) return ReportUnread(*place, read);
  std::optional<LoggedFailure> last;
  std::istringstream lines(read.text);
  for (std::string line; std::getline(lines, line);) {
    const auto failure = ParseLoggedFailure(line);
    if (!failure || !Concerns(*failure, Printable(place->inside))) continue;
    if (!last || !IsConsequence(*failure, *last)) last = failure;
  }
  const auto status = ParseMountStatus(reads[2].text);
  // That says more than the failure of the flush that has found it.
  const bool may_be_kept = (!last || last->operation == "flush") && status && status->write;
  if (may_be_kept && ExplainQuarantined(path, *place, *status->write)) return 0;
  if (!last) return ReportNoFailure(path, *place, reads[1].text, status);
  // A commit can fail at RELEASE, after all descriptors are closed: to the caller that is a close.
  const std::string operation = last->operation == "release" ? "close" : last->operation;
  Explain(mount + last->path + ": " + operation + " failed with " + last->errno_name + " at " +
              last->time,
          last->message, AdviceOn(*last, Printable(place->mount.source), mount));
  return 0;
}

}  // namespace unshard
