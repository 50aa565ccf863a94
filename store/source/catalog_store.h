// Directories for a store that cannot list: those that metadata documents name.
#pragma once

#include <cstddef>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/object/object_store.h"

namespace unshard {

// Forwards reads to the store below. Its listings and directories are those that were added and the
// documents that have been read; they are presented with the time at which this object was made. A
// listing is what is known, not all there is: capabilities().lists stays false.
//
// Stat of a known directory costs nothing. Every other name costs a request, after which it is a
// file, a directory of which the store below knows, or neither: then, unless it lies in a data
// directory, the documents that a dataset begins with are requested, all at once, and with one of
// them it is a directory. Missing names are not remembered: the kernel caches them for the ttl.
// Thread-safe; no lock is held across I/O.
class CatalogStore final : public ObjectStore {
 public:
  explicit CatalogStore(std::shared_ptr<ObjectStore> below);

  // Adds a directory and those above it. More than kMostNames are not remembered.
  void AddDirectory(std::string_view key);
  // A document that is there, as another one says. It is forgotten where it turns out to be
  // missing.
  void AddDocument(std::string_view key);
  // The documents of a directory that are known; none where nothing is known of it.
  [[nodiscard]] std::vector<std::string> DocumentsIn(std::string_view key) const;
  // The directory holds chunks, in up to `levels` levels of directories whose names are decimal,
  // below one named `prefix` unless that is "". Nothing below is a dataset.
  struct ChunkDirectories {
    std::string prefix;
    std::size_t levels = 0;
  };
  void SetDataDirectory(std::string_view key, const ChunkDirectories& chunks);

  Capabilities capabilities() const override { return below_->capabilities(); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  Opened OpenCached(std::string_view key, const RangeRequest& first) override {
    return below_->OpenCached(key, first);
  }
  std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) override {
    return below_->Recall(key, info);
  }
  void Replaced(std::string_view key, const std::optional<ObjectInfo>& now) override {
    below_->Replaced(key, now);
  }
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override;
  std::string Describe(std::string_view key) const override { return below_->Describe(key); }

  static constexpr std::size_t kMostNames = std::size_t{1} << 20;

 private:
  enum class Place { kUnknown, kDirectory, kInData };
  [[nodiscard]] Place PlaceOf(std::string_view key) const;
  [[nodiscard]] ObjectInfo Directory() const;
  void AddLocked(std::string_view key, ObjectInfo::Kind kind);
  // Whether documents of a dataset are directly below `key`; adds them.
  Result<bool> HoldsDocuments(const std::string& key, const Deadline& deadline);

  const std::shared_ptr<ObjectStore> below_;
  const timespec made_;
  mutable std::mutex mutex_;
  // All guarded by mutex_. Names in each known directory.
  std::map<std::string, std::map<std::string, ObjectInfo::Kind, std::less<>>, std::less<>> names_;
  std::map<std::string, ChunkDirectories, std::less<>> data_;
  std::size_t count_ = 0;
};

}  // namespace unshard
