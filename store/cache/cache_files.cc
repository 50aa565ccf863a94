#include "store/cache/cache_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <vector>

#include "codec/core/text.h"
#include "store/object/key.h"

namespace unshard {
namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kLargestFile = std::uint64_t{64} << 20;
constexpr char kUnfinished = 't';  // begins the names of files that are being written
constexpr std::size_t kUnfinishedDigits = 16;
constexpr std::int64_t kAbandonedSeconds = 600;
constexpr std::int64_t kTouchSeconds = 60;

std::string UnfinishedName() {
  std::random_device random;
  std::string name(1, kUnfinished);
  for (std::size_t i = 0; i < kUnfinishedDigits; ++i) name += kHexDigits[random() % 16];
  return name;
}

bool IsUnfinishedName(std::string_view name) {
  return name.size() == 1 + kUnfinishedDigits && name.front() == kUnfinished &&
         name.find_first_not_of(kHexDigits, 1) == std::string_view::npos;
}

// Ages of entries, in classes that are fine for young ones: each second of the last hour, each ten
// minutes of the last month, and all others.
class Ages {
 public:
  static std::size_t ClassOf(std::int64_t seconds) {
    const auto age = static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0));
    if (age < kFine) return static_cast<std::size_t>(age);
    return static_cast<std::size_t>(std::min(kFine + (age - kFine) / kCoarseSeconds, kClasses - 1));
  }
  void Add(std::size_t age, std::uint64_t bytes) { bytes_[age] += bytes; }

  // The youngest class of which entries have to be removed so that `excess` bytes go.
  [[nodiscard]] std::size_t Oldest(std::uint64_t excess) const {
    std::uint64_t gone = 0;
    for (std::size_t age = kClasses; age-- > 0;) {
      gone += bytes_[age];
      if (gone >= excess) return age;
    }
    return 0;
  }

 private:
  static constexpr std::uint64_t kFine = 3600;
  static constexpr std::uint64_t kCoarseSeconds = 600;
  static constexpr std::uint64_t kClasses = kFine + 30 * 24 * 6 + 1;
  std::vector<std::uint64_t> bytes_ = std::vector<std::uint64_t>(kClasses);
};

}  // namespace

CacheFiles::CacheFiles(std::shared_ptr<FileSystem> files, std::function<timespec()> now)
    : files_(std::move(files)), now_(std::move(now)) {}

std::uint64_t CacheFiles::BytesOnDisk(std::uint64_t file_bytes) {
  return (file_bytes + kBlock - 1) / kBlock * kBlock;
}

CacheFiles::Found CacheFiles::Read(const CacheDigest& digest) {
  const auto file = files_->Open(CacheName(digest), {});
  if (!file || !*file) return {};
  const auto status = (*file)->Stat();
  if (!status || status->kind != FileStatus::Kind::kFile) return {};
  Found found;
  if (status->size <= kLargestFile) {
    ByteVector bytes(static_cast<std::size_t>(status->size));
    const auto size = (*file)->Read(0, bytes);
    if (!size) return {};
    bytes.resize(*size);
    found.entry = DecodeCacheEntry(digest, Bytes(std::move(bytes)));
  }
  if (!found.entry) {
    found.damaged = true;
    Remove(digest);
    return found;
  }
  const timespec now = now_();
  // A failure only makes it look older than it is.
  if (now.tv_sec - status->modified.tv_sec > kTouchSeconds) (void)(*file)->SetModified(now);
  return found;
}

bool CacheFiles::Has(const CacheDigest& digest) {
  const auto status = files_->Stat(CacheName(digest));
  return status && *status;
}

Status CacheFiles::WriteFile(const std::string& path, ByteSpan bytes) {
  OpenFlags flags;
  flags.write = flags.create = flags.exclusive = true;
  UNSHARD_ASSIGN_OR_RETURN(const auto file, files_->Open(path, flags));
  return file->Write(0, bytes);
}

Result<std::uint64_t> CacheFiles::Write(const CacheDigest& digest, const CacheEntry& entry) {
  const ByteVector bytes = EncodeCacheEntry(digest, entry);
  const std::string path = CacheName(digest);
  const std::string directory = ParentPath(path);
  const std::string unfinished = JoinPath(directory, UnfinishedName());
  Status written = WriteFile(unfinished, bytes);
  if (!written && written.error().system_errno == ENOENT) {
    const auto made = files_->MakeDirectory(directory);
    if (!made) return tl::unexpected<Error>(made.error());
    written = WriteFile(unfinished, bytes);
  }
  if (written) written = files_->Rename(unfinished, path);
  if (written) return BytesOnDisk(bytes.size());
  (void)files_->Remove(unfinished);
  return tl::unexpected<Error>(std::move(written).error());
}

void CacheFiles::Remove(const CacheDigest& digest) { (void)files_->Remove(CacheName(digest)); }

void CacheFiles::ForEach(const std::function<void(const std::string& path, bool is_entry,
                                                  const FileStatus& status)>& visitor) {
  for (const char first : kHexDigits) {
    for (const char second : kHexDigits) {
      const std::string directory{first, second};
      (void)files_->List(directory, [&](std::string_view name) {
        const bool is_entry = IsCacheName(name);
        if (!is_entry && !IsUnfinishedName(name)) return true;
        const std::string path = JoinPath(directory, name);
        const auto status = files_->Stat(path);
        if (status && *status) visitor(path, is_entry, **status);
        return true;
      });
    }
  }
}

CacheFiles::Contents CacheFiles::Shrink(std::uint64_t most, std::uint64_t enough) {
  const std::int64_t now = now_().tv_sec;
  Contents contents;
  Ages ages;
  ForEach([&](const std::string& path, bool is_entry, const FileStatus& status) {
    const std::int64_t age = now - status.modified.tv_sec;
    if (!is_entry) {
      if (age > kAbandonedSeconds) (void)files_->Remove(path);
      return;
    }
    const std::uint64_t bytes = BytesOnDisk(status.size);
    contents.bytes += bytes;
    ++contents.entries;
    ages.Add(Ages::ClassOf(age), bytes);
  });
  if (contents.bytes <= most) return contents;
  const std::size_t oldest = ages.Oldest(contents.bytes - enough);
  // First all that are older, then of that age as many as it takes.
  for (const bool of_that_age : {false, true}) {
    ForEach([&](const std::string& path, bool is_entry, const FileStatus& status) {
      if (!is_entry || contents.bytes <= enough) return;
      const std::size_t age = Ages::ClassOf(now - status.modified.tv_sec);
      if (of_that_age ? age < oldest : age <= oldest) return;
      const auto removed = files_->Remove(path);
      if (!removed || !*removed) return;
      contents.bytes -= std::min(contents.bytes, BytesOnDisk(status.size));
      --contents.entries;
      ++contents.removed;
    });
  }
  return contents;
}

}  // namespace unshard
