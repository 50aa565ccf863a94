// Copies files that belong to no array, byte by byte.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/copy/copy_counters.h"
#include "store/copy/copy_mode.h"
#include "store/copy/dataset_members.h"
#include "store/copy/limits.h"
#include "store/local/file_system.h"
#include "store/object/object_replacement.h"
#include "store/object/object_store.h"

namespace unshard {

// Used by one thread; starts others.
class FileCopy {
 public:
  struct Parts {
    std::shared_ptr<ObjectStore> from;
    std::shared_ptr<ObjectStore> to;
    std::shared_ptr<ObjectReplacer> replacer;
    std::shared_ptr<FileSystem> files;  // null where `to` is remote
    std::shared_ptr<CopyCounters> counters;
    CopyMode mode = {};
  };
  FileCopy(Parts parts, const CopyLimits& limits) : parts_(std::move(parts)), limits_(limits) {}

  // Copies each file to the same path, whole and durably. A file of the destination is kept where
  // it has the same size and the same first and last 64 KiB, and was written no earlier than that
  // of the source was changed, unless the mode replaces it. What is no regular file (a socket) is
  // left out, with a line in the log. Fails naming the file.
  Status Run(const FileDirectory& directory);
  // Compares all bytes. Fails with kDataLoss, naming the file and its first byte that differs.
  Status Verify(const FileDirectory& directory);

 private:
  using FileWork = std::function<Status(const std::string& key)>;
  Status ForEach(const FileDirectory& directory, const FileWork& work);
  // The files directly in `path`; the directories in it are added to `below`.
  Status ForEachIn(const std::string& path, const FileDirectory& directory, const FileWork& work,
                   std::vector<std::string>& below);
  Status WorkOn(std::vector<std::string>& keys, const FileWork& work) const;
  Status Copy(const std::string& key) const;
  Status Compare(const std::string& key) const;
  [[nodiscard]] Result<ObjectStore::Opened> OpenSource(const std::string& key) const;
  [[nodiscard]] Result<bool> IsThere(const std::string& key,
                                     const ObjectStore::Opened& source) const;

  const Parts parts_;
  const CopyLimits limits_;
};

}  // namespace unshard
