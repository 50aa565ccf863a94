#include "store/local/path_walk.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <optional>

namespace unshard {
namespace {

constexpr int kMostLinks = 40;  // as many as the kernel follows

int OpenRetrying(int directory, const char* name, int flags) {
  int descriptor = -1;
  do {
    descriptor = ::openat(directory, name, flags | O_PATH | O_NOFOLLOW | O_CLOEXEC);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

// As a directory first, which has autofs mount what belongs there.
FileDescriptor OpenComponent(int directory, const std::string& name) {
  const int as_directory = OpenRetrying(directory, name.c_str(), O_DIRECTORY);
  if (as_directory >= 0 || errno != ENOTDIR) return FileDescriptor(as_directory);
  return FileDescriptor(OpenRetrying(directory, name.c_str(), 0));
}

// What a symbolic link leads to; nothing of any other file.
std::optional<std::string> LinkTarget(int descriptor) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlinkat(descriptor, "", target.data(), target.size());
  if (size < 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(size));
}

// The first component of `path`, which is taken off; empty where none is left.
std::string TakeComponent(std::string& path) {
  const std::size_t begin = std::min(path.find_first_not_of('/'), path.size());
  const std::size_t end = std::min(path.find('/', begin), path.size());
  std::string component = path.substr(begin, end - begin);
  path.erase(0, end);
  return component;
}

}  // namespace

Result<FileDescriptor> WalkPath(int directory, std::string path, const OwnMount* own) {
  FileDescriptor here(OpenRetrying(directory, ".", O_DIRECTORY));
  if (!here.valid()) return FailErrno(errno, "opening");
  for (int links = 0;;) {
    const std::string component = TakeComponent(path);
    if (component.empty()) return here;
    FileDescriptor next = OpenComponent(here.get(), component);
    if (!next.valid() && (errno == ENOENT || errno == ENOTDIR)) return FileDescriptor();
    if (!next.valid()) return FailErrno(errno, "opening");
    // Before anything is asked of it.
    if (own != nullptr && own->Holds(next.get())) {
      return FailErrno(ELOOP,
                       "this mount would hold itself, because it is bound into its own source at " +
                           RealPath(next.get()) + "; unmount it there");
    }
    const auto target = LinkTarget(next.get());
    if (!target) {
      here = std::move(next);
      continue;
    }
    if (++links > kMostLinks) return FailErrno(ELOOP, "opening");
    if (target->starts_with('/')) here = FileDescriptor(OpenRetrying(AT_FDCWD, "/", O_DIRECTORY));
    if (!here.valid()) return FailErrno(errno, "opening");
    path = *target + path;
  }
}

std::string RealPath(int descriptor) {
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  std::array<char, PATH_MAX> buffer;
  const ssize_t size = ::readlink(link.c_str(), buffer.data(), buffer.size());
  if (size <= 0 || static_cast<std::size_t>(size) == buffer.size()) return {};
  return {buffer.data(), static_cast<std::size_t>(size)};
}

}  // namespace unshard
