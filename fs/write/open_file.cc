#include "fs/write/open_file.h"

#include <algorithm>

#include "fs/write/open_versions.h"

namespace unshard {

Status OpenFile::Write(std::uint64_t, ByteSpan) {
  return Fail(ErrorCode::kInvalidArgument, "not open for writing");
}

Status OpenFile::Flush(pid_t) { return {}; }

OpenContent::~OpenContent() {
  if (counted_in_ != nullptr) counted_in_->Closed(node());
}

Result<FilePiece> OpenContent::Read(std::uint64_t offset, std::uint64_t size) {
  return content_->Read(offset, size);
}

Result<FilePiece> OpenSourceFile::Read(std::uint64_t offset, std::uint64_t size) {
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file_->Stat());
  const std::uint64_t begin = std::min(offset, status.size);
  ByteVector bytes(std::min(size, status.size - begin));
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t read, file_->Read(begin, bytes));
  bytes.resize(read);
  return FilePiece(Bytes(std::move(bytes)));
}

Status OpenSourceFile::Write(std::uint64_t offset, ByteSpan bytes) {
  return offset == kAppend ? file_->Append(bytes) : file_->Write(offset, bytes);
}

Status OpenSourceFile::Flush(pid_t) {
  if (!writable()) return {};
  UNSHARD_RETURN_IF_ERROR(file_->Flush());
  return complete_();
}

}  // namespace unshard
