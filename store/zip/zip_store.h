// The entries of a ZIP archive as a store, read-only: the archive is an object of any other store.
//
// Each look-up is answered from one version of the archive, and each version of an entry is read
// from the version of the archive in which it was found: bytes of two archives are never mixed.
// Where the archive was replaced its directory is read again.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "store/object/index_cache.h"
#include "store/object/object_store.h"
#include "store/zip/zip_archive.h"
#include "store/zip/zip_entry.h"

namespace unshard {

// Whether a name ends with .ozx or .zip, in either case of letters.
bool HasZipName(std::string_view name);
// Whether it ends with .ozx: by that name an archive is an OME-Zarr of RFC-9.
bool HasOzxName(std::string_view name);

struct ZipStoreOptions {
  // For so long look-ups believe that the archive was not replaced: only of stores that do not keep
  // replaced versions; others are asked each time, which costs no request.
  std::chrono::nanoseconds believed{0};
  // The archive is never replaced.
  bool immutable = false;
  // Of one deflated entry, plain and stored; a longer one is kResourceExhausted.
  std::uint64_t max_inflated_bytes = std::uint64_t{128} << 20;
  // Of all deflated entries that are kept.
  std::uint64_t inflated_cache_bytes = std::uint64_t{64} << 20;
};

// Thread-safe; no lock is held across I/O. Capabilities: lists; keeps replaced versions where the
// store below does. All modification times are that of the archive. Open of a stored entry costs
// one or two requests (OpenStoredEntry), of a deflated one, which is inflated whole, one. Where the
// archive is missing or damaged every method fails, until there is another one: voxels of an
// archive that went away would else be taken for the fill value.
class ZipStore final : public ObjectStore {
 public:
  // The directory `inside` of the archive `key` is the root; "": the root of the archive.
  ZipStore(std::shared_ptr<ObjectStore> below, std::string key, std::string inside,
           const ZipStoreOptions& options);

  // The archive as it is now; null where it is missing. The first call reads its directory: one
  // request, and one more for each 16 MiB of a directory that its last 128 KiB do not hold.
  Result<std::shared_ptr<ZipArchive>> Current(const Deadline& deadline);

  Capabilities capabilities() const override;
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  // Of stored entries of the version that is current, without asking.
  std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) override;
  std::string Identity() const override;
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override;
  Status ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                  const ListVisitor& visitor) override;
  std::string Describe(std::string_view key) const override;

 private:
  struct Checked {
    std::shared_ptr<ZipArchive> archive;
  };
  [[nodiscard]] std::string KeyInside(std::string_view key) const;
  // As Current; kUnavailable where it is missing.
  Result<std::shared_ptr<ZipArchive>> Present(const Deadline& deadline);
  // False where that would cost a request.
  Result<bool> IsCurrent(const ZipArchive& archive, const Deadline& deadline);
  // Asks whether `known`, which may be null, is current, and reads the directory where it is not.
  Result<std::shared_ptr<ZipArchive>> Ask(const std::shared_ptr<ZipArchive>& known,
                                          const Deadline& deadline);
  Result<Opened> OpenEntry(const ZipEntryRef& ref, const RangeRequest& first,
                           const Deadline& deadline);

  const std::shared_ptr<ObjectStore> below_;
  const std::string key_;
  const std::string inside_;
  const ZipStoreOptions options_;
  const bool is_local_;       // to ask costs nothing
  ByteBudgetCache checks_;    // one question at a time, by the number of the check
  ByteBudgetCache inflated_;  // by the archive's id, and the number of the entry
  std::mutex mutex_;
  // All guarded by mutex_.
  std::shared_ptr<ZipArchive> current_;
  std::chrono::steady_clock::time_point checked_;  // when the store was asked for current_
  std::uint64_t check_ = 0;                        // the number of the next check
};

}  // namespace unshard
