// The folder of a disk cache: entries that are read, written, and removed when there are too many.
// Any number of mounts use one folder at once, and none of them waits for another.
//
//   1. An entry is written to a name of its own and renamed: it is seen whole or not at all. Two
//      that write the same entry write the same bytes, or later ones; the last one stays.
//   2. An entry that is read becomes the youngest: its modification time is set, at most once a
//      minute.
//   3. Shrink() adds up all entries, whoever wrote them, and where they are too many removes the
//      oldest. Other mounts may read them meanwhile: an open file stays, and a missing entry is a
//      miss.
//   4. What writers that were killed have left is removed after ten minutes.
//
// Nothing is synced: an entry that a crash has torn fails its checksum, and is a miss.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "codec/core/error.h"
#include "store/cache/entry.h"
#include "store/local/file_system.h"

namespace unshard {

// Thread-safe.
class CacheFiles {
 public:
  // `files`: the folder. `now`: the time of day.
  CacheFiles(std::shared_ptr<FileSystem> files, std::function<timespec()> now);

  struct Found {
    std::optional<CacheEntry> entry;
    bool damaged = false;  // there was a file, which is removed
  };
  // A failure to read is a miss.
  Found Read(const CacheDigest& digest);
  [[nodiscard]] bool Has(const CacheDigest& digest);
  // Returns the bytes that it takes on the disk.
  Result<std::uint64_t> Write(const CacheDigest& digest, const CacheEntry& entry);
  void Remove(const CacheDigest& digest);

  struct Contents {
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;
    std::uint64_t removed = 0;
  };
  // Where the entries take more than `most` bytes, removes the oldest until they take `enough` or
  // less. Costs the same memory for any number of entries.
  Contents Shrink(std::uint64_t most, std::uint64_t enough);

  // What a file of so many bytes takes, as it is counted: whole blocks, so that a cap on the bytes
  // is one on the number of files as well.
  static std::uint64_t BytesOnDisk(std::uint64_t file_bytes);

 private:
  Status WriteFile(const std::string& path, ByteSpan bytes);
  void ForEach(const std::function<void(const std::string& path, bool is_entry,
                                        const FileStatus& status)>& visitor);

  const std::shared_ptr<FileSystem> files_;
  const std::function<timespec()> now_;
};

}  // namespace unshard
