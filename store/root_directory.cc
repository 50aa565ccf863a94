#include "store/root_directory.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <climits>

#include "store/key.h"
#include "store/kv_store.h"

namespace unshard {
namespace {

constexpr int kAttempts = 16;

int Openat2(int directory, const char* path, int flags) {
  open_how how{};
  // openat2 refuses flags that mean nothing together, such as these two.
  const int terminal = (flags & O_PATH) != 0 ? 0 : O_NOCTTY;
  how.flags = static_cast<__u64>(flags | O_CLOEXEC | terminal);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof(how)));
}

std::string DescriptorLink(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

// The real path of an open file; empty where it cannot be had.
std::string RealPath(int descriptor) {
  std::array<char, PATH_MAX> buffer;
  const ssize_t size = ::readlink(DescriptorLink(descriptor).c_str(), buffer.data(), buffer.size());
  if (size <= 0 || static_cast<std::size_t>(size) == buffer.size()) return {};
  return {buffer.data(), static_cast<std::size_t>(size)};
}

bool IsInside(std::string_view path, std::string_view root) {
  if (root.empty() || !path.starts_with(root)) return false;
  return root == "/" || path.size() == root.size() || path[root.size()] == '/';
}

}  // namespace

Result<std::unique_ptr<RootDirectory>> RootDirectory::Open(const std::string& path,
                                                           Resolver resolver) {
  FileDescriptor root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return FailErrno(errno, "opening the directory " + path);
  // Old kernels answer ENOSYS, some containers EPERM: any failure here means "not available".
  const FileDescriptor probe(resolver == Resolver::kBest ? Openat2(root.get(), ".", O_PATH) : -1);
  return std::unique_ptr<RootDirectory>(new RootDirectory(path, std::move(root), probe.valid()));
}

RootDirectory::RootDirectory(std::string path, FileDescriptor descriptor, bool has_openat2)
    : path_(std::move(path)), descriptor_(std::move(descriptor)), has_openat2_(has_openat2) {}

int RootDirectory::TryOpenat2(const char* key, int flags) const {
  int descriptor = -1;
  // EAGAIN: a rename somewhere in the system kept the kernel from proving that we stayed inside.
  for (int i = 0; i < kAttempts; ++i) {
    descriptor = Openat2(descriptor_.get(), key, flags);
    if (descriptor >= 0 || (errno != EINTR && errno != EAGAIN)) break;
  }
  return descriptor;
}

int RootDirectory::TryPortable(const char* key, int flags) const {
  const FileDescriptor place(::openat(descriptor_.get(), key, O_PATH | O_CLOEXEC));
  if (!place.valid()) return -1;
  if (!IsInside(RealPath(place.get()), RealPath(descriptor_.get()))) {
    errno = EXDEV;
    return -1;
  }
  // Through the descriptor, not the path: what is opened is what was checked.
  return ::open(DescriptorLink(place.get()).c_str(), flags | O_CLOEXEC | O_NOCTTY);
}

Result<FileDescriptor> RootDirectory::OpenBeneath(std::string_view key, int flags) const {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  const std::string path = key.empty() ? "." : std::string(key);
  int descriptor = -1;
  errno = EXDEV;
  if (has_openat2_) descriptor = TryOpenat2(path.c_str(), flags);
  // The kernel refuses each absolute link, also one that comes back into the root.
  for (int i = 0; i < kAttempts && descriptor < 0 && (errno == EXDEV || errno == EINTR); ++i) {
    descriptor = TryPortable(path.c_str(), flags);
    if (descriptor < 0 && errno == EXDEV) break;
  }
  if (descriptor >= 0) return FileDescriptor(descriptor);
  if (errno == ENOENT || errno == ENOTDIR) return FileDescriptor();
  if (errno == EXDEV) {
    return Fail(ErrorCode::kPermissionDenied,
                Describe(key) + ": a symbolic link leads out of the mounted directory");
  }
  return FailErrno(errno, "opening " + Describe(key));
}

Result<RootDirectory::Place> RootDirectory::OpenParent(std::string_view key) const {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  if (key.empty()) {
    return Fail(ErrorCode::kInvalidArgument, Describe(key) + ": expected a path below the root");
  }
  UNSHARD_ASSIGN_OR_RETURN(FileDescriptor directory,
                           OpenBeneath(ParentPath(key), O_PATH | O_DIRECTORY));
  return Place{std::move(directory), BaseName(key)};
}

std::string RootDirectory::Describe(std::string_view key) const {
  std::string path = path_;
  if (key.empty()) return path;
  if (!path.ends_with('/')) path += '/';
  path += key;
  return path;
}

}  // namespace unshard
