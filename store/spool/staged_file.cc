#include "store/spool/staged_file.h"

#include "codec/core/checksum.h"
#include "store/spool/state.h"

namespace unshard {

Status StagedFile::State::CheckUnsealed() const {
  if (!sealed) return {};
  return Fail(ErrorCode::kReadOnly, spool.files->Describe(path), ": is sealed");
}

Status StagedFile::State::Grow(std::uint64_t end) {
  if (end <= size) return {};
  UNSHARD_RETURN_IF_ERROR(spool.Charge(0, end - size));
  size = end;
  return {};
}

// After a failed write the file has any length up to what was counted.
void StagedFile::State::Recount() {
  const auto status = file->Stat();
  if (!status || status->size >= size) return;
  spool.Discharge(0, size - status->size);
  size = status->size;
  if (summed > size) ForgetSumFrom(size);
}

void StagedFile::State::ForgetSumFrom(std::uint64_t offset) {
  if (offset >= summed) return;
  summed = 0;
  sum = 0;
}

Result<std::uint32_t> StagedFile::State::Checksum() {
  if (summed < size) {
    UNSHARD_ASSIGN_OR_RETURN(sum, ReadWithChecksum(*file, {summed, size - summed}, sum));
    summed = size;
  }
  return sum;
}

StagedFile::StagedFile(std::unique_ptr<State> state) : state_(std::move(state)) {
  const std::lock_guard lock(state_->spool.mutex);
  ++state_->spool.staged_files;
}

StagedFile::~StagedFile() {
  {
    const std::lock_guard lock(state_->spool.mutex);
    --state_->spool.staged_files;
  }
  if (state_->sealed) return;
  // What cannot be removed now is removed when the spool is opened next.
  (void)state_->spool.files->Remove(state_->path);
  state_->spool.Discharge(1, state_->size);
}

Result<std::size_t> StagedFile::Read(std::uint64_t offset, std::span<std::uint8_t> to) {
  return state_->file->Read(offset, to);
}

Status StagedFile::Write(std::uint64_t offset, ByteSpan bytes) {
  const auto end = CheckedAdd(offset, bytes.size());
  if (!end) return FailErrno(EFBIG, "writing a staged file");
  const std::lock_guard lock(state_->mutex);
  UNSHARD_RETURN_IF_ERROR(state_->CheckUnsealed());
  if (bytes.empty()) return {};
  UNSHARD_RETURN_IF_ERROR(state_->Grow(*end));
  state_->ForgetSumFrom(offset);
  auto written = state_->file->Write(offset, bytes);
  if (!written) {
    state_->Recount();
  } else if (offset == state_->summed) {
    state_->sum = ExtendChecksum(state_->sum, bytes);
    state_->summed = *end;
  }
  return written;
}

Status StagedFile::CopyFrom(File& source, const ByteRange& range, std::uint64_t offset) {
  const auto end = CheckedAdd(offset, range.size);
  if (!end) return FailErrno(EFBIG, "writing a staged file");
  const std::lock_guard lock(state_->mutex);
  UNSHARD_RETURN_IF_ERROR(state_->CheckUnsealed());
  if (range.size == 0) return {};
  UNSHARD_RETURN_IF_ERROR(state_->Grow(*end));
  state_->ForgetSumFrom(offset);
  auto copied = state_->file->CopyFrom(source, range, offset);
  if (!copied) state_->Recount();
  return copied;
}

Status StagedFile::Truncate(std::uint64_t size) {
  const std::lock_guard lock(state_->mutex);
  UNSHARD_RETURN_IF_ERROR(state_->CheckUnsealed());
  UNSHARD_RETURN_IF_ERROR(state_->Grow(size));
  auto truncated = state_->file->Truncate(size);
  if (!truncated) {
    state_->Recount();
    return truncated;
  }
  state_->ForgetSumFrom(size);
  state_->spool.Discharge(0, state_->size - size);
  state_->size = size;
  return {};
}

Status StagedFile::Sync() { return state_->file->Sync(); }

std::uint64_t StagedFile::size() const {
  const std::lock_guard lock(state_->mutex);
  return state_->size;
}

Result<std::uint32_t> StagedFile::Checksum() {
  const std::lock_guard lock(state_->mutex);
  return state_->Checksum();
}

File& StagedFile::file() { return *state_->file; }

}  // namespace unshard
