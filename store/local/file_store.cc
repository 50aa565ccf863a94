#include "store/local/file_store.h"

#include <fcntl.h>

#include <cerrno>

#include "store/local/directory_entries.h"
#include "store/local/file_object.h"
#include "store/local/posix_file.h"
#include "store/object/key.h"

namespace unshard {
namespace {

constexpr int kAttempts = 8;

class FileStore final : public ObjectStore {
 public:
  explicit FileStore(std::shared_ptr<FileStoreParts> parts) : parts_(std::move(parts)) {}

  Capabilities capabilities() const override { return {}; }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override {
    return ListFrom(key, 0, deadline, visitor);
  }
  Status ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                  const ListVisitor& visitor) override;
  std::string Describe(std::string_view key) const override { return parts_->root->Describe(key); }

 private:
  Result<std::optional<ObjectInfo::Kind>> KindOf(std::string_view key, const dirent& entry);

  const std::shared_ptr<FileStoreParts> parts_;
};

Result<std::optional<ObjectInfo>> FileStore::Stat(std::string_view key, const Deadline&) {
  UNSHARD_ASSIGN_OR_RETURN(const FileDescriptor place, parts_->root->OpenBeneath(key, O_PATH));
  if (!place.valid()) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status,
                           StatDescriptor(place.get(), [&] { return Describe(key); }));
  return InfoOf(status);
}

Result<ObjectStore::Opened> FileStore::Open(std::string_view key, const RangeRequest& first,
                                            const Deadline&) {
  for (int i = 0; i < kAttempts; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(OpenedFile file, OpenFile(*parts_, key));
    if (!file.descriptor.valid()) return Opened{};
    Opened opened;
    if (first.size != 0) {
      UNSHARD_ASSIGN_OR_RETURN(
          ReadResult read, ReadFile(file.descriptor.get(), file.version, {}, first, Describe(key)));
      if (read.state != ReadResult::State::kFound) continue;  // it was written to meanwhile
      opened.first = std::move(read.value);
    }
    opened.version = MakeFileObject(parts_, key, std::move(file));
    return opened;
  }
  return Fail(ErrorCode::kConflict, Describe(key), ": kept changing while it was read");
}

// Nothing for an entry that leads nowhere.
Result<std::optional<ObjectInfo::Kind>> FileStore::KindOf(std::string_view key,
                                                          const dirent& entry) {
  if (entry.d_type == DT_REG) return ObjectInfo::Kind::kFile;
  if (entry.d_type == DT_DIR) return ObjectInfo::Kind::kDirectory;
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return ObjectInfo::Kind::kOther;
  const auto info = Stat(JoinPath(key, entry.d_name), Deadline::None());
  // A link that leads out of the store, or in a circle, is listed nevertheless.
  if (!info) return ObjectInfo::Kind::kOther;
  if (!*info) return std::nullopt;
  // Programs that walk the tree would never end, as there is no link that they could see.
  const bool leads_back = (*info)->kind == ObjectInfo::Kind::kDirectory &&
                          parts_->root->LeadsBack(JoinPath(key, entry.d_name));
  return leads_back ? ObjectInfo::Kind::kOther : (*info)->kind;
}

// Entries are numbered as the file system numbers them: such a number stays good while others are
// removed.
Status FileStore::ListFrom(std::string_view key, std::uint64_t resume, const Deadline&,
                           const ListVisitor& visitor) {
  UNSHARD_ASSIGN_OR_RETURN(FileDescriptor descriptor,
                           parts_->root->OpenBeneath(key, O_RDONLY | O_DIRECTORY | O_NONBLOCK));
  if (!descriptor.valid()) return {};
  return ForEachEntry(std::move(descriptor), resume, Describe(key),
                      [&](const dirent& entry) -> Result<bool> {
                        UNSHARD_ASSIGN_OR_RETURN(const auto kind, KindOf(key, entry));
                        const auto next = static_cast<std::uint64_t>(entry.d_off);
                        return !kind || visitor(ListEntry{entry.d_name, *kind, next});
                      });
}

}  // namespace

Result<std::shared_ptr<ObjectStore>> OpenFileStore(const std::string& root,
                                                   std::size_t max_descriptors,
                                                   std::shared_ptr<const OwnMount> own) {
  UNSHARD_ASSIGN_OR_RETURN(auto directory,
                           RootDirectory::Open(root, RootDirectory::Resolver::kBest, std::move(own),
                                               RootDirectory::Removed::kFails));
  return std::make_shared<FileStore>(std::shared_ptr<FileStoreParts>(
      new FileStoreParts{std::move(directory), DescriptorPool(max_descriptors)}));
}

}  // namespace unshard
