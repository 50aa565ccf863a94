#include "store/zip/zip_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codec/core/lower_case.h"
#include "store/object/key.h"

namespace unshard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostTries = 8;
// Values of checks are no larger than this; two of them are kept.
constexpr std::uint64_t kCheckBytes = 1;
constexpr std::uint64_t kCheckBudget = 4 * ByteBudgetCache::kEntryOverhead;

struct Inflated {
  Bytes plain;
  Clock::time_point asked;
};

bool EndsWith(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() &&
         LowerCase(std::string(name.substr(name.size() - suffix.size()))) == suffix;
}

}  // namespace

bool HasOzxName(std::string_view name) { return EndsWith(name, ".ozx"); }

bool HasZipName(std::string_view name) { return HasOzxName(name) || EndsWith(name, ".zip"); }

ZipStore::ZipStore(std::shared_ptr<ObjectStore> below, std::string key, std::string inside,
                   const ZipStoreOptions& options)
    : below_(std::move(below)),
      key_(std::move(key)),
      inside_(std::move(inside)),
      options_(options),
      is_local_(below_->capabilities().keeps_replaced_versions),
      checks_(kCheckBudget),
      inflated_(options.inflated_cache_bytes, 3 * options.max_inflated_bytes) {}

Capabilities ZipStore::capabilities() const {
  Capabilities capabilities;
  capabilities.keeps_replaced_versions = is_local_;
  return capabilities;
}

std::string ZipStore::KeyInside(std::string_view key) const { return JoinPath(inside_, key); }

Result<std::shared_ptr<ZipArchive>> ZipStore::Ask(const std::shared_ptr<ZipArchive>& known,
                                                  const Deadline& deadline) {
  Opened opened;
  if (known && !is_local_) {
    UNSHARD_ASSIGN_OR_RETURN(opened,
                             below_->OpenUnlessKnown(key_, ZipTail(), known->info(), deadline));
  } else {
    UNSHARD_ASSIGN_OR_RETURN(opened, below_->Open(key_, ZipTail(), deadline));
  }
  for (int i = 0;; ++i) {
    if (known && opened.version && opened.version->info().generation == known->info().generation) {
      return known;
    }
    auto read = ZipArchive::Read(*below_, key_, std::move(opened), deadline);
    const bool again = !read && read.error().code == ErrorCode::kConflict && i < kMostTries;
    if (!again) return read;
    UNSHARD_ASSIGN_OR_RETURN(opened, below_->Open(key_, ZipTail(), deadline));
  }
}

Result<bool> ZipStore::IsCurrent(const ZipArchive& archive, const Deadline& deadline) {
  if (!is_local_) return false;
  UNSHARD_ASSIGN_OR_RETURN(const auto now, below_->Stat(key_, deadline));
  return now && now->generation == archive.info().generation;
}

Result<std::shared_ptr<ZipArchive>> ZipStore::Current(const Deadline& deadline) {
  std::shared_ptr<ZipArchive> known;
  std::uint64_t check = 0;
  {
    const std::lock_guard lock(mutex_);
    const bool is_believed =
        options_.immutable || (!is_local_ && Clock::now() - checked_ < options_.believed);
    if (current_ && is_believed && !current_->is_replaced()) return current_;
    known = current_;
    check = check_;
  }
  if (known) {
    UNSHARD_ASSIGN_OR_RETURN(const bool is_current, IsCurrent(*known, deadline));
    if (is_current) return known;
  }
  const auto begun = Clock::now();
  const auto load = [&]() -> Result<ByteBudgetCache::Loaded> {
    UNSHARD_ASSIGN_OR_RETURN(auto archive, Ask(known, deadline));
    return ByteBudgetCache::Loaded{std::make_shared<const Checked>(Checked{std::move(archive)}),
                                   kCheckBytes};
  };
  UNSHARD_ASSIGN_OR_RETURN(const auto value, checks_.Get({0, check, 0, 0}, deadline, load));
  const auto& archive = std::static_pointer_cast<const Checked>(value)->archive;
  const std::lock_guard lock(mutex_);
  if (check_ != check) return archive;
  current_ = archive;
  checked_ = begun;
  ++check_;
  return archive;
}

Result<std::shared_ptr<ZipArchive>> ZipStore::Present(const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(auto archive, Current(deadline));
  if (archive) return archive;
  return Fail(ErrorCode::kUnavailable, below_->Describe(key_),
              ": this archive was removed or renamed; unmount, and mount the archive anew");
}

Result<std::optional<ObjectInfo>> ZipStore::Stat(std::string_view key, const Deadline& deadline) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  UNSHARD_ASSIGN_OR_RETURN(const auto archive, Present(deadline));
  const std::string inside = KeyInside(key);
  if (const auto number = archive->directory().Find(inside)) {
    return InfoOfZipEntry({archive, *number, {}});
  }
  if (!archive->directory().IsDirectory(inside)) return std::nullopt;
  ObjectInfo info;
  info.kind = ObjectInfo::Kind::kDirectory;
  info.generation = archive->info().generation;
  info.modified = archive->info().modified;
  return info;
}

Result<ObjectStore::Opened> ZipStore::Open(std::string_view key, const RangeRequest& first,
                                           const Deadline& deadline) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  const std::string inside = KeyInside(key);
  for (int i = 0; i < kMostTries; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(const auto archive, Present(deadline));
    const auto number = archive->directory().Find(inside);
    if (!number && archive->directory().IsDirectory(inside)) {
      return Fail(ErrorCode::kDataLoss, Describe(key), ": expected a file, found a directory");
    }
    if (!number) return Opened{};
    UNSHARD_ASSIGN_OR_RETURN(Opened opened,
                             OpenEntry({archive, *number, Describe(key)}, first, deadline));
    if (opened.version) return opened;
  }
  return Fail(ErrorCode::kConflict, Describe(key), ": the archive kept changing while it was read");
}

Result<ObjectStore::Opened> ZipStore::OpenEntry(const ZipEntryRef& ref, const RangeRequest& first,
                                                const Deadline& deadline) {
  UNSHARD_RETURN_IF_ERROR(CheckZipMethod(ref));
  const ZipDirectory::Entry& entry = ref.entry();
  if (entry.method == static_cast<std::uint16_t>(ZipMethod::kStored)) {
    return OpenStoredEntry(ref, first, deadline);
  }
  if (std::max(entry.size, entry.stored_bytes) > options_.max_inflated_bytes) {
    return Fail(ErrorCode::kResourceExhausted, ref.described, ": is deflated, and has ", entry.size,
                " bytes; expected at most ", options_.max_inflated_bytes,
                ": store it in the archive without compression");
  }
  const CacheKey key{ref.archive->id(), 0, ref.number, 0};
  const auto load = [&]() -> Result<ByteBudgetCache::Loaded> {
    const auto asked = Clock::now();
    UNSHARD_ASSIGN_OR_RETURN(auto plain, InflateEntry(ref, deadline));
    if (!plain) return ByteBudgetCache::Loaded{nullptr, 0};
    return ByteBudgetCache::Loaded{
        std::make_shared<const Inflated>(Inflated{*std::move(plain), asked}), entry.size};
  };
  UNSHARD_ASSIGN_OR_RETURN(const auto value,
                           inflated_.Get(key, deadline, load, entry.size + 2 * entry.stored_bytes));
  const auto inflated = std::static_pointer_cast<const Inflated>(value);
  if (!inflated) {
    inflated_.Erase(key);
    return Opened{};
  }
  const ByteRange wanted = ClipRange(first, entry.size);
  return Opened{MakeInflatedEntry(ref, inflated->plain, inflated->asked),
                inflated->plain.Slice(static_cast<std::size_t>(wanted.begin),
                                      static_cast<std::size_t>(wanted.size))};
}

std::shared_ptr<ObjectVersion> ZipStore::Recall(std::string_view key, const ObjectInfo& info) {
  std::shared_ptr<ZipArchive> archive;
  {
    const std::lock_guard lock(mutex_);
    archive = current_;
  }
  const auto number = archive ? archive->directory().Find(KeyInside(key)) : std::nullopt;
  if (!number) return nullptr;
  const ZipEntryRef ref{archive, *number, Describe(key)};
  const bool is_stored = ref.entry().method == static_cast<std::uint16_t>(ZipMethod::kStored);
  if (!is_stored || InfoOfZipEntry(ref).generation != info.generation) return nullptr;
  if (!below_->Recall(key_, archive->info())) return nullptr;
  return MakeStoredEntry(ref);
}

std::string ZipStore::Identity() const {
  const std::string below = below_->Identity();
  return below.empty() ? below : below + "\nzip " + key_ + '\n' + inside_;
}

Status ZipStore::List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) {
  return ListFrom(key, 0, deadline, visitor);
}

Status ZipStore::ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                          const ListVisitor& visitor) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(key));
  UNSHARD_ASSIGN_OR_RETURN(const auto archive, Present(deadline));
  archive->directory().ListFrom(KeyInside(key), resume, visitor);
  return {};
}

std::string ZipStore::Describe(std::string_view key) const {
  return JoinPath(below_->Describe(key_), KeyInside(key));
}

}  // namespace unshard
