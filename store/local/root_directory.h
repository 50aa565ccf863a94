// Opens files below one directory and nowhere else.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "store/local/file_descriptor.h"
#include "store/object/own_mount.h"

namespace unshard {

// The root of a file store. Neither ".." nor symbolic links lead out of it; a link that stays
// inside is followed, absolute ones included. Thread-safe.
class RootDirectory {
 public:
  enum class Resolver { kBest, kPortable };
  // What a root is that was removed meanwhile.
  enum class Removed { kIsEmpty, kFails };

  // kBest asks the kernel (openat2) where it can; kPortable walks and compares real paths, as is
  // done where the kernel cannot. Nothing is opened on `own` (null: there is none). Fails where
  // `path` is no directory that can be opened.
  static Result<std::unique_ptr<RootDirectory>> Open(const std::string& path,
                                                     Resolver resolver = Resolver::kBest,
                                                     std::shared_ptr<const OwnMount> own = nullptr,
                                                     Removed removed = Removed::kIsEmpty);
  // The same of a directory that is open already (O_PATH), whatever has its path by now: messages
  // name `path`.
  static std::unique_ptr<RootDirectory> Of(FileDescriptor root, const std::string& path,
                                           Resolver resolver, std::shared_ptr<const OwnMount> own,
                                           Removed removed);

  // Opens `key` with `flags` (O_CLOEXEC and O_NOCTTY are added). Returns a descriptor, or an
  // invalid one where nothing is there. kPermissionDenied where the key leads out of the root,
  // kInvalidArgument where it is no key, ELOOP where it leads into our own mount, kUnavailable
  // where nothing is there since the root itself was removed, with kFails.
  Result<FileDescriptor> OpenBeneath(std::string_view key, int flags) const;

  // Opens `key` with `flags`, and makes the file with the permission bits `mode` where it is
  // missing. A symbolic link under this name is not followed (ELOOP). ENOENT where its directory is
  // missing.
  Result<FileDescriptor> Create(std::string_view key, int flags, mode_t mode) const;

  // The directory that holds the last component of `key`, opened beneath the root, and that
  // component: for calls that make, rename and remove names. The descriptor is invalid where the
  // directory is missing. kInvalidArgument for the root itself.
  struct Place {
    FileDescriptor directory;
    std::string name;
  };
  Result<Place> OpenParent(std::string_view key) const;

  // True where `key`, a directory, is one of those above it: a symbolic link has led back there.
  // False where that cannot be found out.
  [[nodiscard]] bool LeadsBack(std::string_view key) const;

  // True where the kernel keeps us inside, false where real paths are compared: slower by
  // two system calls a component.
  [[nodiscard]] bool asks_kernel() const { return has_openat2_; }
  // The path that messages name.
  [[nodiscard]] std::string Describe(std::string_view key) const;

 private:
  RootDirectory(std::string path, FileDescriptor descriptor, bool has_openat2,
                std::shared_ptr<const OwnMount> own, Removed removed);
  [[nodiscard]] int TryOpenat2(const char* key, int flags, mode_t mode = 0) const;
  [[nodiscard]] Result<FileDescriptor> OpenByWalking(std::string_view key, int flags) const;
  [[nodiscard]] Result<FileDescriptor> Opened(int descriptor, std::string_view key) const;
  [[nodiscard]] bool IsRemoved() const;

  const std::string path_;
  const FileDescriptor descriptor_;
  const bool has_openat2_;
  const bool fails_when_removed_;
  const std::shared_ptr<const OwnMount> own_;
};

}  // namespace unshard
