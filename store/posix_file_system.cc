#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "store/file_system.h"
#include "store/posix_file.h"
#include "store/root_directory.h"

namespace unshard {
namespace {

constexpr mode_t kFileMode = 0666;
constexpr mode_t kDirectoryMode = 0777;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

class PosixFileSystem final : public FileSystem {
 public:
  explicit PosixFileSystem(std::unique_ptr<RootDirectory> root) : root_(std::move(root)) {}

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
};

// The parent of a name that is to be made: a missing one is a failure.
Result<RootDirectory::Place> PosixFileSystem::ExistingParent(const std::string& path) const {
  UNSHARD_ASSIGN_OR_RETURN(RootDirectory::Place place, root_->OpenParent(path));
  if (!place.directory.valid()) {
    return FailErrno(ENOENT, "opening the directory of " + Describe(path));
  }
  return place;
}

Result<FileDescriptor> PosixFileSystem::Create(const std::string& path, const OpenFlags& flags,
                                               int access) {
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place place, ExistingParent(path));
  // A file is never made through a symbolic link: where that leads has not been checked.
  const int how = access | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (flags.exclusive ? O_EXCL : 0);
  for (;;) {
    FileDescriptor descriptor(::openat(place.directory.get(), place.name.c_str(), how, kFileMode));
    if (descriptor.valid()) return descriptor;
    if (errno != EINTR) return FailErrno(errno, "making " + Describe(path));
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
    return FailErrno(EISDIR, "opening " + Describe(path));
  }
  if (status.kind != FileStatus::Kind::kFile) {
    return Fail(ErrorCode::kDataLoss, Describe(path) + ": expected a file, found a special file");
  }
  return file;
}

Result<std::optional<FileStatus>> PosixFileSystem::Stat(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const FileDescriptor descriptor, root_->OpenBeneath(path, O_PATH));
  if (!descriptor.valid()) return std::nullopt;
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) {
    return FailErrno(errno, "reading the attributes of " + Describe(path));
  }
  return FileStatusOf(status);
}

Status PosixFileSystem::Rename(const std::string& from, const std::string& to) {
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place source, ExistingParent(from));
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place target, ExistingParent(to));
  if (::renameat(source.directory.get(), source.name.c_str(), target.directory.get(),
                 target.name.c_str()) == 0) {
    return {};
  }
  return FailErrno(errno, "renaming " + Describe(from) + " to " + Describe(to));
}

Status PosixFileSystem::Link(const std::string& from, const std::string& to) {
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place source, ExistingParent(from));
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place target, ExistingParent(to));
  if (::linkat(source.directory.get(), source.name.c_str(), target.directory.get(),
               target.name.c_str(), 0) == 0) {
    return {};
  }
  return FailErrno(errno, "linking " + Describe(from) + " to " + Describe(to));
}

Result<bool> PosixFileSystem::Remove(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place place, root_->OpenParent(path));
  if (!place.directory.valid()) return false;
  if (::unlinkat(place.directory.get(), place.name.c_str(), 0) == 0) return true;
  if (errno == EISDIR && ::unlinkat(place.directory.get(), place.name.c_str(), AT_REMOVEDIR) == 0) {
    return true;
  }
  if (errno == ENOENT) return false;
  return FailErrno(errno, "removing " + Describe(path));
}

Result<bool> PosixFileSystem::MakeDirectory(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const RootDirectory::Place place, ExistingParent(path));
  if (::mkdirat(place.directory.get(), place.name.c_str(), kDirectoryMode) == 0) return true;
  if (errno != EEXIST) return FailErrno(errno, "making the directory " + Describe(path));
  UNSHARD_ASSIGN_OR_RETURN(const auto status, Stat(path));
  if (status && status->kind == FileStatus::Kind::kDirectory) return false;
  return FailErrno(EEXIST, "making the directory " + Describe(path));
}

Status PosixFileSystem::SyncDirectory(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const FileDescriptor descriptor,
                           root_->OpenBeneath(path, O_RDONLY | O_DIRECTORY));
  if (!descriptor.valid()) return FailErrno(ENOENT, "syncing the directory " + Describe(path));
  while (::fsync(descriptor.get()) != 0) {
    if (errno != EINTR) return FailErrno(errno, "syncing the directory " + Describe(path));
  }
  return {};
}

Status PosixFileSystem::List(const std::string& path,
                             const std::function<bool(std::string_view name)>& visitor) {
  UNSHARD_ASSIGN_OR_RETURN(FileDescriptor descriptor,
                           root_->OpenBeneath(path, O_RDONLY | O_DIRECTORY));
  if (!descriptor.valid()) return {};
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(descriptor.get()));
  if (!directory) return FailErrno(errno, "listing " + Describe(path));
  descriptor.Release();
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (!visitor(name)) return {};
  }
  if (errno != 0) return FailErrno(errno, "listing " + Describe(path));
  return {};
}

Result<std::uint64_t> PosixFileSystem::FreeBytes() {
  UNSHARD_ASSIGN_OR_RETURN(const FileDescriptor root, root_->OpenBeneath("", O_PATH));
  struct statvfs status {};
  if (!root.valid() || ::fstatvfs(root.get(), &status) != 0) {
    return FailErrno(errno, "asking for the free space of " + Describe(""));
  }
  return CheckedMultiply(status.f_bavail, status.f_frsize).value_or(UINT64_MAX);
}

}  // namespace

Result<std::shared_ptr<FileSystem>> OpenPosixFileSystem(const std::string& root) {
  UNSHARD_ASSIGN_OR_RETURN(auto directory, RootDirectory::Open(root));
  return std::make_shared<PosixFileSystem>(std::move(directory));
}

}  // namespace unshard
