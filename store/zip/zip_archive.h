// One version of a ZIP archive: its directory in memory, its entries read from that version alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "store/object/index_cache.h"
#include "store/object/object_store.h"
#include "store/zip/zip_directory.h"

namespace unshard {

// Thread-safe.
class ZipArchive {
 public:
  // Reads the directory of the archive `key`. Null where it is missing. `opened`: what
  // OpenZipTail gave; costs a request for each 16 MiB of a directory that is not in it. Fails with
  // kConflict where the archive was replaced meanwhile, and like ParseZipEnd and
  // ZipDirectoryReader.
  static Result<std::shared_ptr<ZipArchive>> Read(ObjectStore& below, std::string_view key,
                                                  ObjectStore::Opened opened,
                                                  const Deadline& deadline);

  // Of this object, never used again.
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] const ObjectInfo& info() const { return version_->info(); }
  [[nodiscard]] const ZipDirectory& directory() const { return directory_; }
  [[nodiscard]] const std::string& comment() const { return comment_; }
  [[nodiscard]] ObjectVersion& version() const { return *version_; }

  // The length of an entry's local header; 0 until SetHeaderBytes.
  [[nodiscard]] std::uint32_t header_bytes(std::size_t entry) const {
    return header_bytes_[entry].load(std::memory_order_relaxed);
  }
  // Takes the start of a local header. Fails like ParseZipLocalHeader, and where the entry would
  // then reach into the directory.
  Status SetHeader(std::size_t entry, ByteSpan header);

  // A read has shown that the archive was replaced.
  void SetReplaced() { replaced_ = true; }
  [[nodiscard]] bool is_replaced() const { return replaced_; }

 private:
  ZipArchive(std::shared_ptr<ObjectVersion> version, const ZipEnd& end, ZipDirectory directory);

  const std::uint64_t id_ = NewCacheOwner();
  const std::shared_ptr<ObjectVersion> version_;
  const std::uint64_t entries_end_;
  const std::string comment_;
  const ZipDirectory directory_;
  const std::unique_ptr<std::atomic<std::uint32_t>[]> header_bytes_;
  std::atomic<bool> replaced_ = false;
};

// Opens the archive with its last bytes, which hold the whole directory of most archives of shards.
RangeRequest ZipTail();

}  // namespace unshard
