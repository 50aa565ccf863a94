#include "fs/kernel/mount_record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <fstream>

#include "store/local/file_descriptor.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/spool/sealed_name.h"

namespace unshard {
namespace {

constexpr mode_t kPrivateDirectory = 0700;
constexpr mode_t kPrivateFile = 0600;

// A folder in memory, which ends at a reboot as mounts do; "" where there is none.
std::string RecordFolder() {
  if (::geteuid() == 0) return "/run/unshard";
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime == nullptr || *runtime != '/') return "";
  return std::string(runtime) + "/unshard";
}

// Resolves only the parent: a dead mount cannot be resolved.
std::string RecordPath(const std::string& mount_point) {
  const std::string folder = RecordFolder();
  const std::string parent = ParentPath(mount_point);
  char above[PATH_MAX];
  if (folder.empty() || ::realpath(parent.empty() ? "/" : parent.c_str(), above) == nullptr) {
    return "";
  }
  return folder + "/" + DatasetDirectory(JoinPath(above, BaseName(mount_point)));
}

}  // namespace

MountRecord::MountRecord(const std::string& mount_point, const std::vector<std::string>& spools) {
  const std::string path = RecordPath(mount_point);
  if (path.empty()) return;
  ::mkdir(RecordFolder().c_str(), kPrivateDirectory);
  const FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kPrivateFile));
  std::string text;
  for (const std::string& spool : spools) text += spool + '\0';
  if (file.valid() &&
      ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    path_ = path;
  } else {
    LogDebug(path +
             ": cannot be written; `unshard umount` will not find the spool of this mount "
             "if it is killed");
  }
}

MountRecord::~MountRecord() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::vector<std::string> TakeMountRecord(const std::string& mount_point) {
  std::vector<std::string> spools;
  const std::string path = RecordPath(mount_point);
  if (path.empty()) return spools;
  std::ifstream file(path);
  for (std::string spool; std::getline(file, spool, '\0');) spools.push_back(spool);
  ::unlink(path.c_str());
  return spools;
}

}  // namespace unshard
