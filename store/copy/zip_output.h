// A ZIP archive as the destination of a copy: the dataset is made in a directory beside the
// archive, packed, and given the archive's name once it is whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "codec/core/error.h"
#include "store/local/file_system.h"

namespace unshard {

// The directory has a name of its own for each `work`: a copy that goes on with the same work finds
// what an earlier one has made. Directories of other works, of copies that have ended, are removed.
// Used by one thread.
class ZipOutput {
 public:
  // `path`: of the archive. `work`: tells copies apart that would make different archives of that
  // name. `replaces`: an archive that is there will be replaced. Fails with kInvalidArgument where
  // one is there otherwise, where the directory above is missing, and with kConflict where another
  // process is at the same work.
  static Result<std::unique_ptr<ZipOutput>> Begin(const std::string& path, const std::string& work,
                                                  bool replaces);

  // Fails like Begin where an archive is there, or the directory above is missing.
  static Status Check(const std::string& path, bool replaces);

  // Where the dataset is made.
  [[nodiscard]] const std::string& directory() const { return directory_; }
  // A text that names places in the directory, as if it named them in the archive.
  [[nodiscard]] std::string Shown(std::string text) const;

  // Packs the dataset: zarr.json first, by their depth and path, then all other files by theirs,
  // with a comment as RFC-9 has it where the root is an OME-Zarr. Then the archive has its name,
  // durably, and the directory is gone. Fails naming the file; the directory stays.
  struct Packed {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;  // of the archive
  };
  Result<Packed> Finish();

 private:
  ZipOutput(std::string path, bool replaces, std::shared_ptr<FileSystem> files, std::string work)
      : path_(std::move(path)),
        replaces_(replaces),
        files_(std::move(files)),
        work_(std::move(work)) {}
  Status GiveName();

  const std::string path_;
  const bool replaces_;
  const std::shared_ptr<FileSystem> files_;  // of the directory above the archive
  const std::string work_;                   // the key of the directory of this work
  std::string directory_;
  std::shared_ptr<File> lock_;
};

}  // namespace unshard
