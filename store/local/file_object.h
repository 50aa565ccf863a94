// One version of one file below a root directory.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "store/local/descriptor_pool.h"
#include "store/local/file_system.h"
#include "store/local/root_directory.h"
#include "store/object/object_store.h"

namespace unshard {

// The version that a file's stat(2) identifies.
struct FileVersion {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec modified{};
  timespec changed{};
  nlink_t links = 0;

  static FileVersion Of(const FileStatus& status);
  // True where the path still leads to the same version.
  [[nodiscard]] bool SameAs(const FileVersion& other) const;
  // True where the open file still has this version's bytes. A file that lost a name is the same
  // file although its change time moved: that is what happens when it is replaced by renaming.
  [[nodiscard]] bool SameBytesNow(const FileVersion& now) const;
  [[nodiscard]] Generation generation() const;
};

// What a store of files shares with its handles.
struct FileStoreParts {
  std::unique_ptr<RootDirectory> root;
  DescriptorPool pool;
};

// An opened file with what was true of it then; an invalid descriptor where it is missing.
struct OpenedFile {
  FileDescriptor descriptor;
  FileVersion version;
};

// Opens a file for reading; never blocks on a pipe or device. kDataLoss where it is no file.
Result<OpenedFile> OpenFile(FileStoreParts& parts, std::string_view key);

// Reads `range` of an open file, and fails with kConditionFailed where the file is not `version`
// any more once the bytes are there.
Result<ReadResult> ReadFile(int descriptor, const FileVersion& version,
                            const Generation& generation, const RangeRequest& range,
                            const std::string& described);

ObjectInfo InfoOf(const FileStatus& status);

// A handle on `opened`, whose descriptor goes to the pool.
std::shared_ptr<ObjectVersion> MakeFileObject(std::shared_ptr<FileStoreParts> parts,
                                              std::string_view key, OpenedFile opened);

}  // namespace unshard
