#include "store/local/private_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "store/object/key.h"

namespace unshard {
namespace {

constexpr mode_t kOthers = 0077;

// Of the directory that was opened: its path may lead elsewhere by now.
Status CheckIsPrivate(const PrivateFolder& folder, FileSystem& files) {
  UNSHARD_ASSIGN_OR_RETURN(const auto opened, files.Open("", {.attributes = true}));
  struct stat status {};
  if (::fstat(opened->descriptor(), &status) != 0) return FailErrno(errno, folder.path);
  const std::string named = folder.path + ": this " + std::string(folder.kind);
  if (status.st_uid != ::geteuid()) {
    return Fail(ErrorCode::kPermissionDenied, named, " belongs to user ", status.st_uid,
                ", but must belong to user ", ::geteuid(), "; ", folder.way_out);
  }
  if ((status.st_mode & kOthers) == 0) return {};
  char mode[16];
  std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(status.st_mode & 07777));
  return Fail(ErrorCode::kPermissionDenied, named, " has mode ", mode,
              ", which lets other users in; close it with `chmod 0700 ", folder.path, "`, ",
              folder.way_out);
}

}  // namespace

Result<std::shared_ptr<FileSystem>> MakeFolder(const std::string& given, NewFiles modes) {
  std::string folder = given;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  std::string there = folder;
  struct stat status {};
  while (::stat(there.c_str(), &status) != 0 && errno == ENOENT && there.size() > 1) {
    there = ParentPath(there);
    if (there.empty()) there = "/";
  }
  if (there != folder) {
    const auto above = OpenPosixFileSystem(there, modes);
    Status made = above ? Status() : tl::unexpected<Error>(above.error());
    if (made) made = MakeDirectories(**above, folder.substr(there == "/" ? 1 : there.size() + 1));
    if (!made) return Forward(std::move(made).error(), folder + ": making the directory");
  }
  return OpenPosixFileSystem(folder, modes);
}

Result<std::shared_ptr<FileSystem>> MakePrivateFolder(const PrivateFolder& folder) {
  auto made = MakeFolder(folder.path, NewFiles::kPrivate);
  if (!made) {
    Error error = std::move(made).error();
    error.message += "; it is the " + std::string(folder.kind) + ": " + std::string(folder.way_out);
    return tl::unexpected<Error>(std::move(error));
  }
  UNSHARD_RETURN_IF_ERROR(CheckIsPrivate(folder, **made));
  return made;
}

}  // namespace unshard
