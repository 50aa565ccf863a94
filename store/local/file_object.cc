#include "store/local/file_object.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>

#include "store/local/posix_file.h"
#include "store/object/error_number.h"
#include "store/object/read_through.h"

namespace unshard {
namespace {

// A file that was written to this recently may be written to again between our check and the
// kernel's splice, so its bytes are copied and checked afterwards.
constexpr time_t kSettledSeconds = 2;

bool SameTime(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool Settled(const FileVersion& version) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  // The change time cannot be set at will, the modification time can: it may lie in the future.
  const bool changed_recently = version.changed.tv_sec + kSettledSeconds >= now.tv_sec;
  const bool modified_recently = version.modified.tv_sec + kSettledSeconds >= now.tv_sec &&
                                 version.modified.tv_sec <= now.tv_sec + kSettledSeconds;
  return !changed_recently && !modified_recently;
}

// Whether an open file still has the bytes of a version. While a file is replaced by renaming its
// change time and its number of names are seen to change one after the other.
Result<bool> StillSame(int descriptor, const FileVersion& version, const std::string& described) {
  constexpr int kMostStats = 4;
  for (int i = 1;; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(const FileStatus status,
                             StatDescriptor(descriptor, [&] { return described; }));
    const FileVersion now = FileVersion::Of(status);
    if (version.SameBytesNow(now)) return true;
    const bool only_changed = version.size == now.size && SameTime(version.modified, now.modified);
    if (!only_changed || i == kMostStats) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

class FileObject final : public ObjectVersion {
 public:
  FileObject(std::shared_ptr<FileStoreParts> parts, std::string_view key, OpenedFile opened)
      : parts_(std::move(parts)), key_(key), version_(opened.version) {
    info_.kind = ObjectInfo::Kind::kFile;
    info_.size = static_cast<std::uint64_t>(version_.size);
    info_.generation = version_.generation();
    info_.modified = version_.modified;
    parts_->pool.Put(slot_, std::make_shared<const FileDescriptor>(std::move(opened.descriptor)));
  }
  ~FileObject() override { parts_->pool.Remove(slot_); }

  const ObjectInfo& info() const override { return info_; }
  void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) override;
  std::optional<FileSlice> Slice(const ByteRange& range) override;
  void Prefetch(const ByteRange& range) override;

 private:
  Result<SharedDescriptor> Descriptor();
  Result<ReadResult> ReadNow(const RangeRequest& range);

  const std::shared_ptr<FileStoreParts> parts_;
  const std::string key_;
  const FileVersion version_;
  ObjectInfo info_;
  DescriptorPool::Slot slot_;
};

// The open file; null where the key has another version by now.
Result<SharedDescriptor> FileObject::Descriptor() {
  if (SharedDescriptor descriptor = parts_->pool.Get(slot_)) return descriptor;
  UNSHARD_ASSIGN_OR_RETURN(OpenedFile opened, OpenFile(*parts_, key_));
  if (!opened.descriptor.valid() || !opened.version.SameAs(version_)) return nullptr;
  return parts_->pool.Put(slot_,
                          std::make_shared<const FileDescriptor>(std::move(opened.descriptor)));
}

void FileObject::StartRead(const RangeRequest& range, const Deadline&, ReadDone done) {
  done(ReadNow(range));
}

Result<ReadResult> FileObject::ReadNow(const RangeRequest& range) {
  UNSHARD_ASSIGN_OR_RETURN(const SharedDescriptor descriptor, Descriptor());
  if (!descriptor) {
    return ReadResult{ReadResult::State::kConditionFailed, {}, info_.size, info_.generation};
  }
  return ReadFile(descriptor->get(), version_, info_.generation, range,
                  parts_->root->Describe(key_));
}

std::optional<FileSlice> FileObject::Slice(const ByteRange& range) {
  if (!MakeByteRange(range.begin, range.size, info_.size)) return std::nullopt;
  Result<SharedDescriptor> descriptor = Descriptor();
  if (!descriptor || !*descriptor) return std::nullopt;
  const auto status = StatDescriptor((*descriptor)->get(), [&] { return key_; });
  if (!status) return std::nullopt;
  const FileVersion now = FileVersion::Of(*status);
  if (!version_.SameBytesNow(now) || !Settled(now)) return std::nullopt;
  const int number = (*descriptor)->get();
  return FileSlice{number, range, *std::move(descriptor)};
}

void FileObject::Prefetch(const ByteRange& range) {
  const SharedDescriptor descriptor = parts_->pool.Get(slot_);
  if (!descriptor || range.size == 0) return;
  // The kernel cuts off what is above the readahead of the disk, without a word: 128 KiB by
  // default.
  constexpr std::uint64_t kStep = std::uint64_t{128} << 10;
  for (std::uint64_t at = range.begin; at < range.end(); at += kStep) {
    // Only a hint: that it fails means nothing.
    ::posix_fadvise(descriptor->get(), static_cast<off_t>(at),
                    static_cast<off_t>(std::min(kStep, range.end() - at)), POSIX_FADV_WILLNEED);
  }
}

}  // namespace

FileVersion FileVersion::Of(const FileStatus& status) {
  return {status.device,   status.inode,   static_cast<off_t>(status.size),
          status.modified, status.changed, status.links};
}

bool FileVersion::SameAs(const FileVersion& other) const {
  return device == other.device && inode == other.inode && size == other.size &&
         SameTime(modified, other.modified) && SameTime(changed, other.changed);
}

bool FileVersion::SameBytesNow(const FileVersion& now) const {
  return size == now.size && SameTime(modified, now.modified) &&
         (SameTime(changed, now.changed) || now.links < links);
}

Generation FileVersion::generation() const {
  std::string tag = std::to_string(device);
  for (const auto part :
       {static_cast<long long>(inode), static_cast<long long>(size),
        static_cast<long long>(modified.tv_sec), static_cast<long long>(modified.tv_nsec),
        static_cast<long long>(changed.tv_sec), static_cast<long long>(changed.tv_nsec)}) {
    tag += '-';
    tag += std::to_string(part);
  }
  return {std::move(tag)};
}

ObjectInfo InfoOf(const FileStatus& status) {
  ObjectInfo info;
  info.kind = status.kind == FileStatus::Kind::kFile        ? ObjectInfo::Kind::kFile
              : status.kind == FileStatus::Kind::kDirectory ? ObjectInfo::Kind::kDirectory
                                                            : ObjectInfo::Kind::kOther;
  info.size = status.size;
  info.generation = FileVersion::Of(status).generation();
  info.modified = status.modified;
  return info;
}

Result<OpenedFile> OpenFile(FileStoreParts& parts, std::string_view key) {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK;
  auto opened = parts.root->OpenBeneath(key, kFlags);
  while (!opened && FoundNoDescriptor(opened.error()) && parts.pool.Shrink()) {
    opened = parts.root->OpenBeneath(key, kFlags);
  }
  if (!opened && opened.error().system_errno == ENXIO) {
    return Fail(ErrorCode::kDataLoss, parts.root->Describe(key), ": expected a file");
  }
  if (!opened) return tl::unexpected<Error>(std::move(opened).error());
  if (!opened->valid()) return OpenedFile{};
  const auto describe = [&] { return parts.root->Describe(key); };
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, StatDescriptor(opened->get(), describe));
  if (status.kind != FileStatus::Kind::kFile) {
    const bool directory = status.kind == FileStatus::Kind::kDirectory;
    return Fail(ErrorCode::kDataLoss, describe(), ": expected a file, found ",
                directory ? "a directory" : "a special file");
  }
  // Chunks are read in no order: the kernel's readahead would fetch bytes that are not asked for.
  ::posix_fadvise(opened->get(), 0, 0, POSIX_FADV_RANDOM);
  return OpenedFile{*std::move(opened), FileVersion::Of(status)};
}

Result<ReadResult> ReadFile(int descriptor, const FileVersion& version,
                            const Generation& generation, const RangeRequest& range,
                            const std::string& described) {
  const auto object_size = static_cast<std::uint64_t>(version.size);
  const ByteRange wanted = ClipRange(range, object_size);
  UNSHARD_ASSIGN_OR_RETURN(
      ByteVector bytes,
      ReadRange(wanted, described, [&](std::uint64_t at, std::span<std::uint8_t> to) {
        return ReadDescriptor(descriptor, at, to, described);
      }));
  UNSHARD_ASSIGN_OR_RETURN(const bool same, StillSame(descriptor, version, described));
  ReadResult result{ReadResult::State::kConditionFailed, {}, object_size, generation};
  if (bytes.size() == wanted.size && same) {
    result.state = ReadResult::State::kFound;
    result.value = Bytes(std::move(bytes));
  }
  return result;
}

std::shared_ptr<ObjectVersion> MakeFileObject(std::shared_ptr<FileStoreParts> parts,
                                              std::string_view key, OpenedFile opened) {
  return std::make_shared<FileObject>(std::move(parts), key, std::move(opened));
}

}  // namespace unshard
