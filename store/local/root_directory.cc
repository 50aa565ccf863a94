#include "store/local/root_directory.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <optional>

#include "store/local/path_walk.h"
#include "store/object/key.h"
#include "store/object/object_store.h"

namespace unshard {
namespace {

constexpr int kNamesToTry = 16;

int Openat2(int directory, const char* path, int flags, mode_t mode, __u64 resolve) {
  open_how how{};
  how.mode = mode;
  // openat2 refuses flags that mean nothing together, such as these two.
  const int terminal = (flags & O_PATH) != 0 ? 0 : O_NOCTTY;
  how.flags = static_cast<__u64>(flags | O_CLOEXEC | terminal);
  how.resolve = resolve | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof(how)));
}

bool IsInside(std::string_view path, std::string_view root) {
  if (root.empty() || !path.starts_with(root)) return false;
  return root == "/" || path.size() == root.size() || path[root.size()] == '/';
}

// 1 where that cannot be asked.
nlink_t NamesOf(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? status.st_nlink : 1;
}

}  // namespace

Result<std::unique_ptr<RootDirectory>> RootDirectory::Open(const std::string& path,
                                                           Resolver resolver,
                                                           std::shared_ptr<const OwnMount> own,
                                                           Removed removed) {
  FileDescriptor root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return FailErrno(errno, path + ": opening the directory");
  return Of(std::move(root), path, resolver, std::move(own), removed);
}

std::unique_ptr<RootDirectory> RootDirectory::Of(FileDescriptor root, const std::string& path,
                                                 Resolver resolver,
                                                 std::shared_ptr<const OwnMount> own,
                                                 Removed removed) {
  // Old kernels answer ENOSYS, some containers EPERM: any failure here means "not available".
  const FileDescriptor probe(resolver == Resolver::kBest ? Openat2(root.get(), ".", O_PATH, 0, 0)
                                                         : -1);
  return std::unique_ptr<RootDirectory>(
      new RootDirectory(path, std::move(root), probe.valid(), std::move(own), removed));
}

RootDirectory::RootDirectory(std::string path, FileDescriptor descriptor, bool has_openat2,
                             std::shared_ptr<const OwnMount> own, Removed removed)
    : path_(std::move(path)),
      descriptor_(std::move(descriptor)),
      has_openat2_(has_openat2),
      fails_when_removed_(removed == Removed::kFails && NamesOf(descriptor_.get()) > 0),
      own_(std::move(own)) {}

int RootDirectory::TryOpenat2(const char* key, int flags, mode_t mode) const {
  int descriptor = -1;
  const __u64 resolve = own_ && own_->known() ? RESOLVE_NO_XDEV : 0;
  // EAGAIN: a rename somewhere in the system kept the kernel from proving that we stayed inside.
  for (int i = 0; i < kNamesToTry; ++i) {
    descriptor = Openat2(descriptor_.get(), key, flags, mode, resolve);
    if (descriptor >= 0 || (errno != EINTR && errno != EAGAIN)) break;
  }
  return descriptor;
}

// Follows what the kernel refuses as a whole: absolute links that come back into the root, and
// other mounts, of which one may be our own.
Result<FileDescriptor> RootDirectory::OpenByWalking(std::string_view key, int flags) const {
  auto place = WalkPath(descriptor_.get(), std::string(key), own_.get());
  if (!place) return Forward(std::move(place).error(), Describe(key));
  if (!place->valid()) {
    errno = ENOENT;
    return Opened(-1, key);
  }
  if (!IsInside(RealPath(place->get()), RealPath(descriptor_.get()))) {
    return Fail(ErrorCode::kPermissionDenied, Describe(key),
                ": a symbolic link leads out of the mounted directory");
  }
  // Through the descriptor, not the path: what is opened is what was checked.
  const std::string link = "/proc/self/fd/" + std::to_string(place->get());
  int descriptor = -1;
  do {
    descriptor = ::open(link.c_str(), flags | O_CLOEXEC | O_NOCTTY);
  } while (descriptor < 0 && errno == EINTR);
  return Opened(descriptor, key);
}

// An invalid descriptor where nothing is there; by errno.
Result<FileDescriptor> RootDirectory::Opened(int descriptor, std::string_view key) const {
  FileDescriptor opened(descriptor);
  const int error = opened.valid() ? 0 : errno;
  const bool missing = error == ENOENT || error == ENOTDIR;
  if ((missing || key.empty()) && IsRemoved()) {
    return Fail(
        ErrorCode::kUnavailable, path_,
        ": this directory was removed; unmount, and mount the directory that has its name now");
  }
  if (error == 0 || missing) return opened;
  return FailErrno(error, Describe(key) + ": opening");
}

// Whether the last name of the root is gone: the kernel then shows an empty directory. Some file
// systems count no names.
bool RootDirectory::IsRemoved() const {
  return fails_when_removed_ && NamesOf(descriptor_.get()) == 0;
}

Result<FileDescriptor> RootDirectory::OpenBeneath(std::string_view key, int flags) const {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  if (!has_openat2_) return OpenByWalking(key, flags);
  const int descriptor = TryOpenat2(key.empty() ? "." : std::string(key).c_str(), flags);
  if (descriptor < 0 && errno == EXDEV) return OpenByWalking(key, flags);
  return Opened(descriptor, key);
}

Result<FileDescriptor> RootDirectory::Create(std::string_view key, int flags, mode_t mode) const {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  const int how = flags | O_CREAT | O_NOFOLLOW;
  int descriptor = -1;
  errno = EXDEV;  // what openat2 fails with where the path has to be walked
  if (has_openat2_ && !key.empty()) descriptor = TryOpenat2(std::string(key).c_str(), how, mode);
  if (descriptor < 0 && errno == EXDEV) {
    UNSHARD_ASSIGN_OR_RETURN(const Place place, OpenParent(key));
    errno = ENOENT;
    if (place.directory.valid()) {
      do {
        descriptor = ::openat(place.directory.get(), place.name.c_str(), how | O_CLOEXEC, mode);
      } while (descriptor < 0 && errno == EINTR);
    }
  }
  if (descriptor >= 0) return FileDescriptor(descriptor);
  return FailErrno(errno == ENOTDIR ? ENOENT : errno, Describe(key) + ": making it");
}

Result<RootDirectory::Place> RootDirectory::OpenParent(std::string_view key) const {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  if (key.empty()) {
    return Fail(ErrorCode::kInvalidArgument, Describe(key), ": expected a path below the root");
  }
  UNSHARD_ASSIGN_OR_RETURN(FileDescriptor directory,
                           OpenBeneath(ParentPath(key), O_PATH | O_DIRECTORY));
  return Place{std::move(directory), BaseName(key)};
}

bool RootDirectory::LeadsBack(std::string_view key) const {
  const auto status_of = [&](std::string_view path) -> std::optional<struct stat> {
    struct stat status {};
    const auto opened = OpenBeneath(path, O_PATH);
    if (!opened || !opened->valid() || ::fstat(opened->get(), &status) != 0) return std::nullopt;
    return status;
  };
  const auto at = status_of(key);
  for (std::string above(key); at && !above.empty();) {
    above = ParentPath(above);
    const auto status = status_of(above);
    if (status && status->st_dev == at->st_dev && status->st_ino == at->st_ino) return true;
  }
  return false;
}

std::string RootDirectory::Describe(std::string_view key) const {
  std::string path = path_;
  if (key.empty()) return path;
  if (!path.ends_with('/')) path += '/';
  path += key;
  return path;
}

}  // namespace unshard
