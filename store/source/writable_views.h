// Writing below the directories of `view=all`: the source's files and objects under the names that
// AllViewsStore gives them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/local/file_system.h"
#include "store/object/object_replacement.h"
#include "store/source/all_views.h"

namespace unshard {

// Shards are those of one view alone, whichever view they are written through: so they have one
// name, and chunks of all views meet there.
inline constexpr std::string_view kViewOfShards = "native";

// "NAME/key" is the object `key` of the replacer below. Thread-safe.
class AllViewsReplacer final : public ObjectReplacer {
 public:
  explicit AllViewsReplacer(std::shared_ptr<ObjectReplacer> below) : below_(std::move(below)) {}

  Status CanReplace(const std::string& key) override { return below_->CanReplace(Below(key)); }
  Result<std::unique_ptr<ObjectReplacement>> Begin(const ReplacedObject& object,
                                                   const Deadline& deadline) override;
  Status MakeDurable(const std::string& directory) override {
    return below_->MakeDurable(Below(directory));
  }
  Result<std::vector<std::string>> Attempts(const std::string& key) override {
    return below_->Attempts(Below(key));
  }
  // Under the keys of the replacer below.
  void RecordUploads(std::shared_ptr<UploadRecords> records) override {
    below_->RecordUploads(std::move(records));
  }
  Status DropUpload(const std::string& key, const std::string& upload) override {
    return below_->DropUpload(Below(key), upload);
  }
  [[nodiscard]] bool removes_atomically() const override { return below_->removes_atomically(); }
  [[nodiscard]] std::chrono::milliseconds least_interval() const override {
    return below_->least_interval();
  }
  [[nodiscard]] std::string Describe(const std::string& key) const override {
    return below_->Describe(Below(key));
  }

 private:
  static std::string Below(std::string_view key) { return std::string(SplitView(key).path); }

  const std::shared_ptr<ObjectReplacer> below_;
};

// "NAME/path" is the file `path` of the file system below. The directories of the views cannot be
// changed (EPERM), and nothing is renamed from one to another (EXDEV). Thread-safe.
class AllViewsFiles final : public FileSystem {
 public:
  // `views`: which of them are there.
  AllViewsFiles(std::shared_ptr<FileSystem> below, std::shared_ptr<const AllViewsStore> views)
      : below_(std::move(below)), views_(std::move(views)) {}

  Result<std::shared_ptr<File>> Open(const std::string& path, const OpenFlags& flags) override;
  Result<std::optional<FileStatus>> Stat(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Link(const std::string& from, const std::string& to) override;
  Result<bool> Remove(const std::string& path) override;
  using FileSystem::MakeDirectory;
  Result<bool> MakeDirectory(const std::string& path, std::uint32_t mode) override;
  Status SyncDirectory(const std::string& path) override;
  Status List(const std::string& path,
              const std::function<bool(std::string_view name)>& visitor) override;
  Result<std::uint64_t> FreeBytes() override { return below_->FreeBytes(); }
  [[nodiscard]] std::string Describe(const std::string& path) const override {
    return below_->Describe(std::string(SplitView(path).path));
  }

 private:
  // Fails for what is no name below a view.
  Result<std::string> Changed(const std::string& path) const;
  Result<std::pair<std::string, std::string>> InOneView(const std::string& from,
                                                        const std::string& to) const;

  [[nodiscard]] bool IsBelowView(std::string_view path) const {
    return views_->views().contains(SplitView(path).view);
  }

  const std::shared_ptr<FileSystem> below_;
  const std::shared_ptr<const AllViewsStore> views_;
};

}  // namespace unshard
