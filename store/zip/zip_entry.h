// The entries of a ZIP archive as objects.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "store/object/object_store.h"
#include "store/zip/zip_archive.h"

namespace unshard {

// One entry of one version of an archive.
struct ZipEntryRef {
  std::shared_ptr<ZipArchive> archive;
  std::size_t number = 0;
  std::string described;  // for messages

  [[nodiscard]] const ZipDirectory::Entry& entry() const {
    return archive->directory().entry(number);
  }
};

// Its size, and a generation that also tells the archive's versions apart.
ObjectInfo InfoOfZipEntry(const ZipEntryRef& ref);

// Fails with kNotSupported, naming it, where the entry is encrypted, or compressed by another
// method than deflate.
Status CheckZipMethod(const ZipEntryRef& ref);

// As ObjectStore::Open of a stored entry: one request, or two where `first` is neither at the
// start of a long entry nor in a short one and the local header was not read before. Null: the
// archive was replaced. A read of all bytes fails with kDataLoss where their CRC-32 is wrong.
Result<ObjectStore::Opened> OpenStoredEntry(const ZipEntryRef& ref, const RangeRequest& first,
                                            const Deadline& deadline);

// The version without a read. Requires: the entry is stored.
std::shared_ptr<ObjectVersion> MakeStoredEntry(const ZipEntryRef& ref);

// The plain bytes of a deflated entry, in one request. Nothing where the archive was replaced.
// kDataLoss where the stream, the size or the CRC-32 is wrong. Requires: the caller bounds the
// size and the stored bytes.
Result<std::optional<Bytes>> InflateEntry(const ZipEntryRef& ref, const Deadline& deadline);

// The version of bytes that were inflated at `asked`.
std::shared_ptr<ObjectVersion> MakeInflatedEntry(const ZipEntryRef& ref, Bytes plain,
                                                 std::chrono::steady_clock::time_point asked);

}  // namespace unshard
