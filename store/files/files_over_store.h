// An object store as the programs of one mount see it: files that were committed and are not put
// yet hide the objects that they will replace.
#pragma once

#include <memory>
#include <string>

#include "store/files/file_table.h"
#include "store/object/object_store.h"

namespace unshard {

// Thread-safe. Bytes that programs have written and not committed are not seen; listings have the
// names of such files.
class FilesOverStore final : public ObjectStore {
 public:
  FilesOverStore(std::shared_ptr<ObjectStore> store, std::shared_ptr<const FileTable> table)
      : store_(std::move(store)), table_(std::move(table)) {}

  [[nodiscard]] Capabilities capabilities() const override { return store_->capabilities(); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  Opened OpenCached(std::string_view key, const RangeRequest& first) override {
    if (table_->Find(std::string(key)).waiting) return {};
    return store_->OpenCached(key, first);
  }
  std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) override {
    return store_->Recall(key, info);
  }
  void Replaced(std::string_view key, const std::optional<ObjectInfo>& now) override {
    store_->Replaced(key, now);
  }
  [[nodiscard]] std::string Identity() const override { return store_->Identity(); }
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override;
  Status ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                  const ListVisitor& visitor) override;
  [[nodiscard]] std::string Describe(std::string_view key) const override {
    return store_->Describe(key);
  }

 private:
  const std::shared_ptr<ObjectStore> store_;
  const std::shared_ptr<const FileTable> table_;
};

// What programs see of a file that waits; its generation is its own.
ObjectInfo InfoOf(const WaitingFile& file, const std::optional<FileState::Remembered>& attributes);
// Its bytes. kNotFound where the store has them by now.
Result<std::shared_ptr<ObjectVersion>> OpenWaiting(const WaitingFile& file);

}  // namespace unshard
