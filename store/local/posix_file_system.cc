#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "store/local/directory_entries.h"
#include "store/local/file_system.h"
#include "store/local/posix_file.h"
#include "store/local/root_directory.h"

namespace unshard {
namespace {

constexpr mode_t kFileMode = 0666;
constexpr mode_t kDirectoryMode = 0777;
constexpr mode_t kPrivateFileMode = 0600;
constexpr mode_t kPrivateDirectoryMode = 0700;

class PosixFileSystem final : public FileSystem {
 public:
  PosixFileSystem(std::unique_ptr<RootDirectory> root, NewFiles modes)
      : root_(std::move(root)), private_(modes == NewFiles::kPrivate) {}

  Result<std::shared_ptr<File>> Open(const std::string& path, const OpenFlags& flags) override;
  Result<std::optional<FileStatus>> Stat(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Link(const std::string& from, const std::string& to) override;
  Result<bool> Remove(const std::string& path) override;
  Result<bool> MakeDirectory(const std::string& path) override;
  Status SyncDirectory(const std::string& path) override;
  Status List(const std::string& path,
              const std::function<bool(std::string_view name)>& visitor) override;
  Result<std::uint64_t> FreeBytes() override;
  std::string Describe(const std::string& path) const override { return root_->Describe(path); }

 private:
  Result<RootDirectory::Place> ExistingParent(const std::string& path) const;
  Result<FileDescriptor> Create(const std::string& path, const OpenFlags& flags, int access);

  const std::unique_ptr<RootDirectory> root_;
  const bool private_;
};

// The parent of a name that is to be made: a missing one is a failure.
Result<RootDirectory::Place> PosixFileSystem::ExistingParent(const std::string& path) const {
  UNSHARD_ASSIGN_OR_RETURN(RootDirectory::Place place, root_->OpenParent(path));
  if (!place.directory.valid()) {
    return FailErrno(ENOENT, Describe(path) + ": opening its directory");
  }
  return place;
}

Result<FileDescriptor> PosixFileSystem::Create(const std::string& path, const OpenFlags& flags,
                                               int access) {
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place place, ExistingParent(path));
  // A file is never made through a symbolic link: where that leads has not been checked.
  const int how = access | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (flags.exclusive ? O_EXCL : 0);
  for (;;) {
    FileDescriptor descriptor(::openat(place.directory.get(), place.name.c_str(), how,
                                       private_ ? kPrivateFileMode : kFileMode));
    // A umask may have taken the owner's own rights.
    if (descriptor.valid() && private_ && ::fchmod(descriptor.get(), kPrivateFileMode) != 0) {
      return FailErrno(errno, Describe(path) + ": setting its mode");
    }
    if (descriptor.valid()) return descriptor;
    if (errno != EINTR) return FailErrno(errno, Describe(path) + ": making it");
  }
}

Result<std::shared_ptr<File>> PosixFileSystem::Open(const std::string& path,
                                                    const OpenFlags& flags) {
  const int access =
      (flags.write ? O_RDWR : O_RDONLY) | (flags.truncate ? O_TRUNC : 0) | O_NONBLOCK;
  FileDescriptor descriptor;
  if (!flags.create || !flags.exclusive) {
    UNSHARD_ASSIGN_OR_RETURN(descriptor, root_->OpenBeneath(path, access));
  }
  if (!descriptor.valid()) {
    if (!flags.create) return nullptr;
    UNSHARD_ASSIGN_OR_RETURN(descriptor, Create(path, flags, access));
  }
  auto file = std::make_shared<PosixFile>(std::move(descriptor), Describe(path));
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->Stat());
  if (status.kind == FileStatus::Kind::kDirectory) {
    return FailErrno(EISDIR, Describe(path) + ": opening");
  }
  if (status.kind != FileStatus::Kind::kFile) {
    return Fail(ErrorCode::kDataLoss, Describe(path) + ": expected a file, found a special file");
  }
  return file;
}

Result<std::optional<FileStatus>> PosixFileSystem::Stat(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const FileDescriptor descriptor, root_->OpenBeneath(path, O_PATH));
  if (!descriptor.valid()) return std::nullopt;
  return StatDescriptor(descriptor.get(), [&] { return Describe(path); });
}

Status PosixFileSystem::Rename(const std::string& from, const std::string& to) {
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place source, ExistingParent(from));
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place target, ExistingParent(to));
  if (::renameat(source.directory.get(), source.name.c_str(), target.directory.get(),
                 target.name.c_str()) == 0) {
    return {};
  }
  return FailErrno(errno, Describe(from) + ": renaming to " + Describe(to));
}

Status PosixFileSystem::Link(const std::string& from, const std::string& to) {
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place source, ExistingParent(from));
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place target, ExistingParent(to));
  if (::linkat(source.directory.get(), source.name.c_str(), target.directory.get(),
               target.name.c_str(), 0) == 0) {
    return {};
  }
  return FailErrno(errno, Describe(from) + ": linking to " + Describe(to));
}

Result<bool> PosixFileSystem::Remove(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place place, root_->OpenParent(path));
  if (!place.directory.valid()) return false;
  if (::unlinkat(place.directory.get(), place.name.c_str(), 0) == 0) return true;
  if (errno == EISDIR && ::unlinkat(place.directory.get(), place.name.c_str(), AT_REMOVEDIR) == 0) {
    return true;
  }
  if (errno == ENOENT) return false;
  return FailErrno(errno, Describe(path) + ": removing");
}

Result<bool> PosixFileSystem::MakeDirectory(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place place, ExistingParent(path));
  const char* const name = place.name.c_str();
  const mode_t mode = private_ ? kPrivateDirectoryMode : kDirectoryMode;
  if (::mkdirat(place.directory.get(), name, mode) == 0) {
    if (!private_ || ::fchmodat(place.directory.get(), name, mode, 0) == 0) return true;
    return FailErrno(errno, Describe(path) + ": setting its mode");
  }
  if (errno != EEXIST) return FailErrno(errno, Describe(path) + ": making the directory");
  UNSHARD_ASSIGN_OR_RETURN(const auto status, Stat(path));
  if (status && status->kind == FileStatus::Kind::kDirectory) return false;
  return FailErrno(EEXIST, Describe(path) + ": making the directory");
}

Status PosixFileSystem::SyncDirectory(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const FileDescriptor descriptor,
                           root_->OpenBeneath(path, O_RDONLY | O_DIRECTORY));
  if (!descriptor.valid()) return FailErrno(ENOENT, Describe(path) + ": syncing the directory");
  while (::fsync(descriptor.get()) != 0) {
    if (errno != EINTR) return FailErrno(errno, Describe(path) + ": syncing the directory");
  }
  return {};
}

Status PosixFileSystem::List(const std::string& path,
                             const std::function<bool(std::string_view name)>& visitor) {
  UNSHARD_ASSIGN_OR_RETURN(FileDescriptor descriptor,
                           root_->OpenBeneath(path, O_RDONLY | O_DIRECTORY));
  if (!descriptor.valid()) return {};
  return ForEachEntry(std::move(descriptor), 0, Describe(path),
                      [&](const dirent& entry) -> Result<bool> { return visitor(entry.d_name); });
}

Result<std::uint64_t> PosixFileSystem::FreeBytes() {
  UNSHARD_ASSIGN_OR_RETURN(const FileDescriptor root, root_->OpenBeneath("", O_PATH));
  struct statvfs status {};
  if (!root.valid() || ::fstatvfs(root.get(), &status) != 0) {
    return FailErrno(errno, Describe("") + ": asking for its free space");
  }
  return CheckedMultiply(status.f_bavail, status.f_frsize).value_or(UINT64_MAX);
}

}  // namespace

Result<std::shared_ptr<FileSystem>> OpenPosixFileSystem(const std::string& root, NewFiles modes,
                                                        std::shared_ptr<const OwnMount> own) {
  UNSHARD_ASSIGN_OR_RETURN(
      auto directory, RootDirectory::Open(root, RootDirectory::Resolver::kBest, std::move(own)));
  return std::make_shared<PosixFileSystem>(std::move(directory), modes);
}

}  // namespace unshard
