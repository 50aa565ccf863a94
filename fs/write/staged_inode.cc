#include "fs/write/staged_inode.h"

#include <algorithm>
#include <utility>

#include "store/object/time_now.h"

namespace unshard {

StagedInode::StagedInode(std::shared_ptr<Spool> spool, Purpose purpose, ContentPtr base,
                         std::uint64_t inode, bool always_direct)
    : spool_(std::move(spool)),
      inode_(inode),
      purpose_(std::move(purpose)),
      base_(std::move(base)),
      always_direct_(always_direct),
      modified_(TimeNow()) {}

Result<FilePiece> StagedInode::Read(std::uint64_t offset, std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  if (!staged_) {
    if (!base_) return FilePiece(Bytes());
    return base_->Read(offset, size);
  }
  const std::uint64_t begin = std::min(offset, staged_->size());
  ByteVector bytes(std::min(size, staged_->size() - begin));
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t read, staged_->Read(begin, bytes));
  bytes.resize(read);
  return FilePiece(Bytes(std::move(bytes)));
}

Status StagedInode::Reserve() {
  const std::lock_guard lock(mutex_);
  if (reserved_ || (staged_ && !sealed_)) return {};
  UNSHARD_ASSIGN_OR_RETURN(reserved_, spool_->Reserve());
  return {};
}

Result<std::shared_ptr<StagedFile>> StagedInode::Fresh() {
  if (reserved_) return std::move(reserved_);
  return spool_->Stage();
}

// Sets `written` to the failure of a write: other failures are of reading the base.
Status StagedInode::CopyBase(StagedFile& to, Status& written) const {
  return ForEachPiece(*base_, [&](std::uint64_t offset, ByteSpan piece) {
    return written = to.Write(offset, piece);
  });
}

Status StagedInode::TakeBase() {
  const std::lock_guard lock(mutex_);
  if (staged_ || !base_) return {};
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<StagedFile> fresh, Fresh());
  Status written;
  const Status copied = CopyBase(*fresh, written);
  if (copied) {
    staged_ = std::move(fresh);
    base_.reset();
    return {};
  }
  if (fresh->Truncate(0)) reserved_ = std::move(fresh);
  UNSHARD_RETURN_IF_ERROR(written);
  return copied.error().code == ErrorCode::kConflict ? copied : Status();
}

// Makes `staged_` hold the present contents, in a file that belongs to no committed version.
Status StagedInode::OwnBytes() {
  if (staged_ && !sealed_) return {};
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<StagedFile> fresh, Fresh());
  if (staged_) {
    UNSHARD_RETURN_IF_ERROR(fresh->CopyFrom(staged_->file(), {0, staged_->size()}, 0));
  } else if (base_) {
    Status written;
    UNSHARD_RETURN_IF_ERROR(CopyBase(*fresh, written));
  }
  staged_ = std::move(fresh);
  sealed_ = false;
  base_.reset();
  return {};
}

Status StagedInode::Write(std::uint64_t offset, ByteSpan bytes) {
  const std::lock_guard lock(mutex_);
  UNSHARD_RETURN_IF_ERROR(OwnBytes());
  dirty_ = true;
  changes_ = {changes_.count + 1};
  modified_ = TimeNow();
  return staged_->Write(offset == kEnd ? staged_->size() : offset, bytes);
}

Status StagedInode::Truncate(std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  if (size == 0 && (!staged_ || sealed_)) {
    // The present contents need not be copied.
    UNSHARD_ASSIGN_OR_RETURN(staged_, Fresh());
    sealed_ = false;
    base_.reset();
  } else {
    UNSHARD_RETURN_IF_ERROR(OwnBytes());
    UNSHARD_RETURN_IF_ERROR(staged_->Truncate(size));
  }
  dirty_ = true;
  changes_ = {changes_.count + 1};
  modified_ = TimeNow();
  return {};
}

void StagedInode::MarkTruncated(bool has_size) {
  const std::lock_guard lock(mutex_);
  dirty_ = true;
  changes_ = {changes_.count + 1};
  always_direct_ = has_size;
}

void StagedInode::SetFlushed(bool& flushed, bool now) {
  const std::lock_guard lock(mutex_);
  if (flushed == now) return;
  flushed = now;
  flushed_ += now ? 1 : ~std::uint64_t{0};
}

bool StagedInode::all_flushed() const {
  const std::lock_guard lock(mutex_);
  return flushed_ >= writers_;
}

Status StagedInode::Sync() {
  const std::lock_guard lock(mutex_);
  if (!staged_ || sealed_) return {};
  return staged_->Sync();
}

std::uint64_t StagedInode::size() const {
  const std::lock_guard lock(mutex_);
  if (staged_) return staged_->size();
  return base_ ? base_->size() : 0;
}

timespec StagedInode::modified() const {
  const std::lock_guard lock(mutex_);
  return modified_;
}

void StagedInode::SetModified(const timespec& modified) {
  const std::lock_guard lock(mutex_);
  modified_ = modified;
}

StagedInode::Purpose StagedInode::purpose() const {
  const std::lock_guard lock(mutex_);
  return purpose_;
}

void StagedInode::SetPurpose(Purpose purpose) {
  const std::lock_guard lock(mutex_);
  purpose_ = std::move(purpose);
}

bool StagedInode::dirty() const {
  const std::lock_guard lock(mutex_);
  return dirty_;
}

StagedInode::Changes StagedInode::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

void StagedInode::Refuse(const Changes& then) {
  const std::lock_guard lock(mutex_);
  changes_.refused = changes_.count == then.count;
}

StagedInode::Opened StagedInode::Open(bool reads, bool writable) {
  const std::lock_guard lock(mutex_);
  if (ended_) return Opened::kEnded;
  if (opens_ == 0) direct_ = always_direct_ || (!cached_ && !reads);
  if (!direct_) cached_ = true;
  if (direct_ && reads) pages_doubtful_ = true;
  ++opens_;
  if (writable) ++writers_;
  return direct_ ? Opened::kDirect : Opened::kCached;
}

std::uint64_t StagedInode::Close(bool writable) {
  const std::lock_guard lock(mutex_);
  if (writable && --writers_ == 0) reserved_.reset();
  return --opens_;
}

std::uint64_t StagedInode::opens() const {
  const std::lock_guard lock(mutex_);
  return opens_;
}

std::uint64_t StagedInode::writers() const {
  const std::lock_guard lock(mutex_);
  return writers_;
}

bool StagedInode::pages_doubtful() const {
  const std::lock_guard lock(mutex_);
  return pages_doubtful_;
}

bool StagedInode::Hold() {
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  ++holds_;
  return true;
}

void StagedInode::Release() {
  const std::lock_guard lock(mutex_);
  --holds_;
}

bool StagedInode::End() {
  const std::lock_guard lock(mutex_);
  if (opens_ != 0 || holds_ != 0) return false;
  ended_ = true;
  reserved_.reset();
  staged_.reset();
  base_.reset();
  return true;
}

bool StagedInode::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

Status StagedInode::CommitWith(const Commit& commit) {
  const std::lock_guard lock(mutex_);
  UNSHARD_RETURN_IF_ERROR(OwnBytes());
  UNSHARD_RETURN_IF_ERROR(commit(*staged_));
  sealed_ = true;
  dirty_ = false;
  return {};
}

}  // namespace unshard
