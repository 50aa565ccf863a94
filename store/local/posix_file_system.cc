#include "store/local/posix_file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "store/local/directory_entries.h"
#include "store/local/open_directories.h"
#include "store/local/posix_file.h"
#include "store/local/root_directory.h"
#include "store/object/key.h"
#include "store/object/object_store.h"

namespace unshard {
namespace {

constexpr mode_t kPrivateFileMode = 0600;
constexpr mode_t kPrivateDirectoryMode = 0700;
constexpr mode_t kPermissions = 0777;

class PosixFileSystem final : public FileSystem {
 public:
  PosixFileSystem(std::unique_ptr<RootDirectory> root, NewFiles modes, Directories directories)
      : root_(std::move(root)),
        private_(modes == NewFiles::kPrivate),
        synced_(root_->OpenBeneath("", O_RDONLY | O_DIRECTORY)) {
    if (directories == Directories::kKeptOpen) kept_.emplace(*root_);
  }

  Result<std::shared_ptr<File>> Open(const std::string& path, const OpenFlags& flags) override;
  Result<std::optional<FileStatus>> Stat(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Link(const std::string& from, const std::string& to) override;
  Result<bool> Remove(const std::string& path) override;
  using FileSystem::MakeDirectory;
  Result<bool> MakeDirectory(const std::string& path, std::uint32_t mode) override;
  Status SyncDirectory(const std::string& path) override;
  Status SyncAll() override;
  Status List(const std::string& path,
              const std::function<bool(std::string_view name)>& visitor) override;
  Result<std::uint64_t> FreeBytes() override;
  std::string Describe(const std::string& path) const override { return root_->Describe(path); }

 private:
  // A name, and the directory that it is in; null where that is missing.
  struct Place {
    OpenDirectories::Descriptor directory;
    std::string name;
    [[nodiscard]] int parent() const { return directory->get(); }
    [[nodiscard]] const char* c_str() const { return name.c_str(); }
  };
  Result<Place> Find(const std::string& path);
  Result<Place> FindExisting(const std::string& path);
  // Names have changed: what is below them is found anew.
  void Forget(const std::string& path) {
    if (kept_) kept_->Forget(path);
  }
  Result<FileDescriptor> Create(const std::string& path, const OpenFlags& flags, int access) const;
  [[nodiscard]] bool IsKnownToFit(bool made, const OpenFlags& flags) const;

  const std::unique_ptr<RootDirectory> root_;
  const bool private_;
  // The root, for SyncAll. Linux tells a descriptor of failed writes since it was opened: this one
  // is opened before the first write, and hears of those that another sync has collected.
  const Result<FileDescriptor> synced_;
  std::atomic<bool> makes_private_{false};  // the umask leaves kPrivateFileMode as it is
  std::optional<OpenDirectories> kept_;
};

Result<PosixFileSystem::Place> PosixFileSystem::Find(const std::string& path) {
  if (kept_ && !path.empty()) {
    UNSHARD_RETURN_IF_ERROR(CheckKey(path));
    UNSHARD_ASSIGN_OR_RETURN(auto directory, kept_->Get(ParentPath(path)));
    return Place{std::move(directory), BaseName(path)};
  }
  UNSHARD_ASSIGN_OR_RETURN(RootDirectory::Place place, root_->OpenParent(path));
  if (!place.directory.valid()) return Place{nullptr, std::move(place.name)};
  return Place{std::make_shared<const FileDescriptor>(std::move(place.directory)),
               std::move(place.name)};
}

// The place of a name that is to be made: a missing directory is a failure.
Result<PosixFileSystem::Place> PosixFileSystem::FindExisting(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(Place place, Find(path));
  if (!place.directory) return FailErrno(ENOENT, Describe(path) + ": opening its directory");
  return place;
}

Result<FileDescriptor> PosixFileSystem::Create(const std::string& path, const OpenFlags& flags,
                                               int access) const {
  // A file is never made through a symbolic link: where that leads has not been checked.
  return root_->Create(path, access | (flags.exclusive ? O_EXCL : 0),
                       private_ ? kPrivateFileMode : flags.mode & kPermissions);
}

// Of what was opened: a regular file, with the mode it may have. A private tree holds regular files
// alone beside its directories, which are not opened for writing; and all files that are made in it
// get the mode that one of them got.
bool PosixFileSystem::IsKnownToFit(bool made, const OpenFlags& flags) const {
  if (private_) return made ? makes_private_.load() : flags.write;
  return made && flags.exclusive;
}

Result<std::shared_ptr<File>> PosixFileSystem::Open(const std::string& path,
                                                    const OpenFlags& flags) {
  const int access = flags.attributes ? O_PATH
                                      : (flags.write ? O_RDWR : O_RDONLY) |
                                            (flags.truncate ? O_TRUNC : 0) | O_NONBLOCK;
  FileDescriptor descriptor;
  if (!flags.create || !flags.exclusive) {
    UNSHARD_ASSIGN_OR_RETURN(descriptor, root_->OpenBeneath(path, access));
  }
  const bool made = !descriptor.valid();
  if (made) {
    if (!flags.create) return nullptr;
    UNSHARD_ASSIGN_OR_RETURN(descriptor, Create(path, flags, access));
  }
  const std::string described = Describe(path);
  if (IsKnownToFit(made, flags)) {
    return std::make_shared<PosixFile>(std::move(descriptor), described);
  }
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status,
                           StatDescriptor(descriptor.get(), [&] { return described; }));
  if (status.kind == FileStatus::Kind::kDirectory && !flags.attributes) {
    return FailErrno(EISDIR, Describe(path) + ": opening");
  }
  if (status.kind == FileStatus::Kind::kOther) {
    return Fail(ErrorCode::kDataLoss, Describe(path), ": expected a file, found a special file");
  }
  auto file = std::make_shared<PosixFile>(std::move(descriptor), described, status);
  if (!made || !private_) return file;
  // A umask may have taken the owner's own rights.
  if ((status.mode & kPermissions) == kPrivateFileMode) {
    makes_private_ = true;
  } else {
    UNSHARD_RETURN_IF_ERROR(file->SetMode(kPrivateFileMode));
  }
  return file;
}

Result<std::optional<FileStatus>> PosixFileSystem::Stat(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const FileDescriptor descriptor, root_->OpenBeneath(path, O_PATH));
  if (!descriptor.valid()) return std::nullopt;
  return StatDescriptor(descriptor.get(), [&] { return Describe(path); });
}

Status PosixFileSystem::Rename(const std::string& from, const std::string& to) {
  UNSHARD_ASSIGN_OR_RETURN(const Place source, FindExisting(from));
  UNSHARD_RETURN_IF_ERROR(CheckKey(to));
  Place target{source.directory, BaseName(to)};
  if (to.empty() || ParentPath(from) != ParentPath(to)) {
    UNSHARD_ASSIGN_OR_RETURN(target, FindExisting(to));
  }
  if (::renameat(source.parent(), source.c_str(), target.parent(), target.c_str()) != 0) {
    const int error = errno;
    Forget(ParentPath(from));
    Forget(ParentPath(to));
    return FailErrno(error, Describe(from) + ": renaming to " + Describe(to));
  }
  Forget(from);
  Forget(to);
  return {};
}

Status PosixFileSystem::Link(const std::string& from, const std::string& to) {
  UNSHARD_ASSIGN_OR_RETURN(const Place source, FindExisting(from));
  UNSHARD_ASSIGN_OR_RETURN(const Place target, FindExisting(to));
  if (::linkat(source.parent(), source.c_str(), target.parent(), target.c_str(), 0) == 0) return {};
  return FailErrno(errno, Describe(from) + ": linking to " + Describe(to));
}

Result<bool> PosixFileSystem::Remove(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const Place place, Find(path));
  if (!place.directory) return false;
  if (::unlinkat(place.parent(), place.c_str(), 0) == 0) return true;
  if (errno == EISDIR && ::unlinkat(place.parent(), place.c_str(), AT_REMOVEDIR) == 0) {
    Forget(path);
    return true;
  }
  if (errno == ENOENT) return false;
  return FailErrno(errno, Describe(path) + ": removing");
}

Result<bool> PosixFileSystem::MakeDirectory(const std::string& path, std::uint32_t mode) {
  UNSHARD_ASSIGN_OR_RETURN(const Place place, FindExisting(path));
  if (private_) mode = kPrivateDirectoryMode;
  if (::mkdirat(place.parent(), place.c_str(), mode & kPermissions) == 0) {
    Forget(path);  // an earlier directory of this name, which another process has removed
    if (!private_ || ::fchmodat(place.parent(), place.c_str(), mode, 0) == 0) return true;
    return FailErrno(errno, Describe(path) + ": setting its mode");
  }
  if (errno != EEXIST) return FailErrno(errno, Describe(path) + ": making the directory");
  UNSHARD_ASSIGN_OR_RETURN(const auto status, Stat(path));
  if (status && status->kind == FileStatus::Kind::kDirectory) return false;
  return FailErrno(EEXIST, Describe(path) + ": making the directory");
}

Status PosixFileSystem::SyncDirectory(const std::string& path) {
  OpenDirectories::Descriptor directory;
  if (kept_) {
    UNSHARD_ASSIGN_OR_RETURN(directory, kept_->Get(path));
  } else {
    UNSHARD_ASSIGN_OR_RETURN(FileDescriptor opened,
                             root_->OpenBeneath(path, O_RDONLY | O_DIRECTORY));
    if (opened.valid()) directory = std::make_shared<const FileDescriptor>(std::move(opened));
  }
  if (!directory) return FailErrno(ENOENT, Describe(path) + ": syncing the directory");
  while (::fsync(directory->get()) != 0) {
    if (errno != EINTR) return FailErrno(errno, Describe(path) + ": syncing the directory");
  }
  return {};
}

Status PosixFileSystem::SyncAll() {
  if (!synced_) return tl::unexpected<Error>(synced_.error());
  if (synced_->valid() && ::syncfs(synced_->get()) == 0) return {};
  return FailErrno(synced_->valid() ? errno : ENOENT, Describe("") + ": syncing its file system");
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

// Folders of this program's own files may be cleaned away, and are made again.
RootDirectory::Removed WhenRemoved(NewFiles modes) {
  return modes == NewFiles::kPrivate ? RootDirectory::Removed::kIsEmpty
                                     : RootDirectory::Removed::kFails;
}

}  // namespace

Result<std::shared_ptr<FileSystem>> OpenPosixFileSystem(const std::string& root, NewFiles modes,
                                                        std::shared_ptr<const OwnMount> own,
                                                        Directories directories) {
  UNSHARD_ASSIGN_OR_RETURN(auto directory, RootDirectory::Open(root, RootDirectory::Resolver::kBest,
                                                               std::move(own), WhenRemoved(modes)));
  return std::make_shared<PosixFileSystem>(std::move(directory), modes, directories);
}

Result<std::shared_ptr<FileSystem>> OpenBelow(FileSystem& files, const std::string& path,
                                              NewFiles modes, Directories directories) {
  UNSHARD_ASSIGN_OR_RETURN(const auto directory, files.Open(path, {.attributes = true}));
  errno = ENOENT;
  FileDescriptor root(
      directory ? ::openat(directory->descriptor(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1);
  if (!root.valid()) return FailErrno(errno, files.Describe(path) + ": opening the directory");
  return std::make_shared<PosixFileSystem>(
      RootDirectory::Of(std::move(root), files.Describe(path), RootDirectory::Resolver::kBest,
                        nullptr, WhenRemoved(modes)),
      modes, directories);
}

}  // namespace unshard
