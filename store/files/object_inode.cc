#include "store/files/object_inode.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "codec/core/checksum.h"
#include "store/object/time_now.h"

namespace unshard {
namespace {

constexpr std::uint64_t kDownloadedPiece = std::uint64_t{1} << 20;

}  // namespace

ChunkFingerprint StoredPrint(const std::optional<ObjectInfo>& stored) {
  if (!stored) return {};
  return {false, stored->size, Checksum(AsBytes(stored->generation.tag))};
}

ObjectInode::ObjectInode(std::shared_ptr<Spool> spool, std::uint64_t number, std::string key,
                         Base base, const timespec& modified, InStore in_store)
    : spool_(std::move(spool)),
      number_(number),
      key_(std::move(key)),
      in_store_(std::move(in_store)),
      size_(base.version ? base.version->info().size : 0),
      modified_(modified),
      base_(std::move(base)) {}

std::uint64_t ObjectInode::Size() const {
  if (staged_) return staged_->size();
  return base_.version ? base_.version->info().size : 0;
}

Result<std::size_t> ObjectInode::Read(std::uint64_t offset, std::span<std::uint8_t> to) {
  Base base;
  {
    const std::lock_guard lock(mutex_);
    if (staged_) return staged_->Read(offset, to);
    base = base_;
  }
  return ReadBase(base, offset, to);
}

Result<std::size_t> ObjectInode::ReadNow(std::uint64_t offset, std::span<std::uint8_t> to) const {
  return staged_ ? staged_->Read(offset, to) : ReadBase(base_, offset, to);
}

Result<std::size_t> ObjectInode::ReadBase(const Base& base, std::uint64_t offset,
                                          std::span<std::uint8_t> to) const {
  const std::uint64_t size = base.version ? base.version->info().size : 0;
  const ByteRange range = ClipRange(RangeRequest::At(offset, to.size()), size);
  if (range.size == 0) return std::size_t{0};
  const ByteSpan first = base.first.span();
  if (range.end() <= first.size()) {
    std::copy_n(first.begin() + static_cast<std::ptrdiff_t>(range.begin), range.size, to.begin());
    return static_cast<std::size_t>(range.size);
  }
  UNSHARD_ASSIGN_OR_RETURN(
      const ReadResult read,
      base.version->Read(RangeRequest::At(range.begin, range.size), CallerDeadline()));
  if (read.state != ReadResult::State::kFound) {
    return Fail(ErrorCode::kConflict, key(),
                ": another host has replaced it while it was open; open it again");
  }
  std::copy(read.value.span().begin(), read.value.span().end(), to.begin());
  return read.value.size();
}

// Has staged bytes that may be changed, of which the first `kept` are those of now.
Status ObjectInode::OwnBytes(std::uint64_t kept) {
  if (staged_ && !sealed_) return {};
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<StagedFile> own, spool_->Stage());
  const std::uint64_t end = std::min(kept, Size());
  ByteVector piece;
  for (std::uint64_t at = 0; at < end; at += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(kDownloadedPiece, end - at)));
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t read, ReadNow(at, piece));
    if (read != piece.size()) {
      return Fail(ErrorCode::kDataLoss, key(), ": is shorter than announced");
    }
    UNSHARD_RETURN_IF_ERROR(own->Write(at, piece));
  }
  staged_ = std::move(own);
  sealed_ = false;
  base_ = {};
  return {};
}

Status ObjectInode::Write(std::uint64_t offset, ByteSpan bytes) {
  const std::lock_guard lock(mutex_);
  return WriteNow(offset, bytes);
}

Status ObjectInode::Append(ByteSpan bytes) {
  const std::lock_guard lock(mutex_);
  return WriteNow(Size(), bytes);
}

Status ObjectInode::WriteNow(std::uint64_t offset, ByteSpan bytes) {
  UNSHARD_RETURN_IF_ERROR(OwnBytes(~std::uint64_t{0}));
  UNSHARD_RETURN_IF_ERROR(staged_->Write(offset, bytes));
  Changed();
  return {};
}

void ObjectInode::Changed() {
  MarkDirty();
  const std::lock_guard lock(key_mutex_);
  size_ = Size();
  modified_ = TimeNow();
}

Status ObjectInode::Truncate(std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  if (size == Size()) return {};
  UNSHARD_RETURN_IF_ERROR(OwnBytes(size));
  UNSHARD_RETURN_IF_ERROR(staged_->Truncate(size));
  Changed();
  return {};
}

void ObjectInode::SetModified(const timespec& modified) {
  const std::lock_guard lock(key_mutex_);
  modified_ = modified;
  changed_ = true;
}

Status ObjectInode::StageAll() {
  const std::lock_guard lock(mutex_);
  return OwnBytes(~std::uint64_t{0});
}

FileStatus ObjectInode::Stat() const {
  const std::lock_guard lock(key_mutex_);
  FileStatus status;
  status.device = 1;
  status.inode = number_;
  status.size = size_;
  status.links = unlinked_ ? 0 : 1;
  status.mode = 0644;
  status.modified = status.changed = modified_;
  return status;
}

Status ObjectInode::CommitWith(const std::function<Status(StagedFile& staged)>& commit) {
  const std::lock_guard lock(mutex_);
  if (!dirty_ || unlinked_) return {};
  UNSHARD_RETURN_IF_ERROR(OwnBytes(~std::uint64_t{0}));
  UNSHARD_RETURN_IF_ERROR(commit(*staged_));
  sealed_ = true;
  dirty_ = false;
  return {};
}

ObjectInode::InStore ObjectInode::in_store() const {
  const std::lock_guard lock(key_mutex_);
  return in_store_;
}

void ObjectInode::SetInStore(const InStore& in_store) {
  const std::lock_guard lock(key_mutex_);
  in_store_ = in_store;
}

std::string ObjectInode::key() const {
  const std::lock_guard lock(key_mutex_);
  return key_;
}

void ObjectInode::SetKey(const std::string& key) {
  const std::lock_guard lock(key_mutex_);
  key_ = key;
}

}  // namespace unshard
