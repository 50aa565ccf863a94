// The objects of a directory and of the ZIP archives in it, as if each archive were a directory.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/object/object_store.h"
#include "store/zip/zip_store.h"

namespace unshard {

// A decorator, read-only: a file of the store below whose name ends with .ozx or .zip is a
// directory with the entries of the archive. An archive in an archive stays a file. A damaged
// archive fails where something in it is asked for, and nowhere else. Thread-safe; no lock is held
// across I/O.
class EnteredArchives final : public ObjectStore {
 public:
  // Requires: a Stat of `below` costs no request.
  EnteredArchives(std::shared_ptr<ObjectStore> below, const ZipStoreOptions& options)
      : below_(std::move(below)), options_(options) {}

  Capabilities capabilities() const override;
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override;
  Status ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                  const ListVisitor& visitor) override;
  std::string Describe(std::string_view key) const override { return below_->Describe(key); }

 private:
  // Where a key lies in an archive.
  struct Place {
    std::shared_ptr<ZipStore> archive;
    std::string_view inside;  // "": the archive itself
  };
  // Nothing where the key is in none.
  Result<std::optional<Place>> Find(std::string_view key, const Deadline& deadline);
  std::shared_ptr<ZipStore> ArchiveAt(std::string_view key);

  const std::shared_ptr<ObjectStore> below_;
  const ZipStoreOptions options_;
  std::mutex mutex_;
  // Guarded by mutex_: those that were used last, the latest first. Each holds its directory.
  std::vector<std::pair<std::string, std::shared_ptr<ZipStore>>> archives_;
};

}  // namespace unshard
