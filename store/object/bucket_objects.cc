#include "store/object/bucket_objects.h"

#include <utility>

#include "store/object/key.h"

namespace unshard {
namespace {

constexpr std::size_t kNamesInPage = 1000;  // the most that the services send
constexpr std::size_t kKeptPages = 64;

class BucketObjects final : public ObjectStore {
 public:
  BucketObjects(std::shared_ptr<ObjectStore> files, ListBucket list)
      : files_(std::move(files)), list_(std::move(list)) {}

  Capabilities capabilities() const override {
    Capabilities capabilities;
    capabilities.lists = static_cast<bool>(list_);
    capabilities.keeps_replaced_versions = false;
    capabilities.writes = Capabilities::Writes::kConditional;
    return capabilities;
  }

  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override {
    UNSHARD_ASSIGN_OR_RETURN(auto file, files_->Stat(key, deadline));
    if (file || !list_) return file;
    std::string next;
    do {
      UNSHARD_ASSIGN_OR_RETURN(ListedPage page, list_(key, next, 1, deadline));
      if (page.any) {
        ObjectInfo directory;
        directory.kind = ObjectInfo::Kind::kDirectory;
        return directory;
      }
      if (!page.next.empty() && page.next == next) {
        return Fail(ErrorCode::kUnavailable, Describe(key),
                    ": the store names the same page of a listing as the next one");
      }
      next = std::move(page.next);
    } while (!next.empty());
    return std::nullopt;
  }

  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override {
    return files_->Open(key, first, deadline);
  }
  Result<Opened> OpenUnlessKnown(std::string_view key, const RangeRequest& first,
                                 const ObjectInfo& known, const Deadline& deadline) override {
    return files_->OpenUnlessKnown(key, first, known, deadline);
  }

  std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) override {
    return files_->Recall(key, info);
  }
  std::string Identity() const override { return files_->Identity(); }

  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override {
    return ListFrom(key, 0, deadline, visitor);
  }

  Status ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                  const ListVisitor& visitor) override {
    UNSHARD_RETURN_IF_ERROR(CheckKey(key));
    if (!list_) return {};
    const auto fetch = [&](const std::string& next, const Deadline& until) {
      return list_(key, next, kNamesInPage, until);
    };
    return listings_.ListFrom(resume, fetch, deadline, visitor);
  }

  std::string Describe(std::string_view key) const override { return files_->Describe(key); }

 private:
  const std::shared_ptr<ObjectStore> files_;
  const ListBucket list_;
  PagedListings listings_{kKeptPages};
};

}  // namespace

std::shared_ptr<ObjectStore> MakeBucketObjects(std::shared_ptr<ObjectStore> files,
                                               ListBucket list) {
  return std::make_shared<BucketObjects>(std::move(files), std::move(list));
}

}  // namespace unshard
