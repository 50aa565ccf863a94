// Writes a ZIP archive that all readers of Zarr take: entries are stored, each name once, with
// sizes and checksums in the local headers.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "store/local/file_system.h"
#include "store/zip/zip_records.h"

namespace unshard {

// Used by one thread. After a failure the file is no archive.
class ZipWriter {
 public:
  // `file`: empty, open for writing.
  explicit ZipWriter(std::shared_ptr<File> file) : file_(std::move(file)) {}

  // Adds all bytes of `source`. Requires: no entry has this name. Fails with kInvalidArgument where
  // the name has more than 65535 bytes, and with kConflict where the file changes meanwhile.
  Status Add(std::string_view name, File& source);
  // Writes the directory, and returns once all is on the disk. `comment`: at most 65535 bytes.
  Status Finish(std::string_view comment);

  [[nodiscard]] std::uint64_t entries() const { return entries_; }
  [[nodiscard]] std::uint64_t bytes() const { return at_; }

 private:
  const std::shared_ptr<File> file_;
  std::uint64_t at_ = 0;
  std::uint64_t entries_ = 0;
  ByteVector records_;
};

}  // namespace unshard
