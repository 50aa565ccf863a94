#include "fs/common/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace unshard {
namespace {

Status WriteAll(int descriptor, ByteSpan bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FailErrno(errno, path + ": writing");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status WriteAndRename(int descriptor, const std::string& temporary, const std::string& path,
                      ByteSpan bytes) {
  const Status status = WriteAll(descriptor, bytes, path);
  // Network file systems report a full disk only now.
  const int close_errno = close(descriptor) == 0 ? 0 : errno;
  UNSHARD_RETURN_IF_ERROR(status);
  if (close_errno != 0) return FailErrno(close_errno, path + ": writing");
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    return FailErrno(errno, temporary + ": renaming to " + path);
  }
  return {};
}

}  // namespace

Status WriteNewFile(const std::string& path, ByteSpan bytes) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) return FailErrno(error.value(), parent.string() + ": making the directory");
  const std::string temporary = path + ".partial";
  const int descriptor =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) return FailErrno(errno, path + ": creating");
  Status status = WriteAndRename(descriptor, temporary, path, bytes);
  if (!status) unlink(temporary.c_str());
  return status;
}

}  // namespace unshard
