#include "store/local/source_identity.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "store/local/file_system.h"
#include "store/local/network_file_system.h"
#include "store/local/posix_file_system.h"

namespace unshard {
namespace {

constexpr const char* kNetwork = "network";
constexpr std::array<const char*, 4> kDocuments = {"zarr.json", "info", ".zgroup", ".zarray"};

std::string MachineId() {
  std::ifstream file("/etc/machine-id");
  std::string id;
  return std::getline(file, id) && !id.empty() ? id : "unknown";
}

std::string BornText(const std::string& root) {
  struct statx status {};
  if (::statx(AT_FDCWD, root.c_str(), 0, STATX_BTIME, &status) != 0) return "";
  if ((status.stx_mask & STATX_BTIME) == 0) return "";
  return std::to_string(status.stx_btime.tv_sec) + "." + std::to_string(status.stx_btime.tv_nsec);
}

// What cannot be read counts as missing: the next mount reads it again.
std::string DocumentText(FileSystem& files) {
  for (const char* name : kDocuments) {
    const auto file = files.Open(name, {});
    if (!file || !*file) continue;
    const auto status = (*file)->Stat();
    if (!status) return "";
    const auto sum = ReadWithChecksum(**file, {0, status->size});
    if (!sum) return "";
    return std::string(name) + " " + std::to_string(status->size) + " " + std::to_string(*sum);
  }
  return "";
}

}  // namespace

Result<SourceIdentity> IdentifySource(const std::string& root) {
  UNSHARD_ASSIGN_OR_RETURN(const auto files, OpenPosixFileSystem(root));
  UNSHARD_ASSIGN_OR_RETURN(const auto status, files->Stat(""));
  if (!status) return FailErrno(ENOENT, root);
  SourceIdentity identity;
  identity.machine = IsNetworkFileSystem(root) ? kNetwork : MachineId();
  identity.device = status->device;
  identity.inode = status->inode;
  identity.born = BornText(root);
  identity.document = DocumentText(*files);
  return identity;
}

bool IsNetworkSource(const SourceIdentity& identity) { return identity.machine == kNetwork; }

bool IsSameSource(const SourceIdentity& recorded, const SourceIdentity& present) {
  if (!recorded.url.empty() || !present.url.empty()) return recorded.url == present.url;
  if (recorded.machine != present.machine) return false;  // 1
  const bool same_inode = recorded.inode == present.inode;
  if (!recorded.born.empty() && !present.born.empty()) {  // 2
    return same_inode && recorded.born == present.born;
  }
  if (same_inode && recorded.device == present.device) return true;                      // 3
  if (recorded.document.empty() || recorded.document != present.document) return false;  // 4
  return same_inode || IsNetworkSource(present);
}

bool IsMovedSource(const SourceIdentity& recorded, const SourceIdentity& present) {
  if (!present.url.empty()) return recorded.url == present.url;
  const bool decided = !recorded.born.empty() && !present.born.empty();
  return decided && !IsNetworkSource(present) && IsSameSource(recorded, present);
}

}  // namespace unshard
