#include "store/copy/staged_chunks.h"

#include <utility>

namespace unshard {

Status StagedChunks::Add(const Bytes& chunk) {
  if (bytes_ + chunk.size() <= most_bytes_) {
    bytes_ += chunk.size();
    chunks_.push_back({chunk, false, 0, chunk.size()});
    return {};
  }
  if (!file_) {
    UNSHARD_ASSIGN_OR_RETURN(file_, ScratchFile::Make(""));
  }
  UNSHARD_RETURN_IF_ERROR(file_->Write(file_end_, chunk.span()));
  chunks_.push_back({Bytes(), true, file_end_, chunk.size()});
  file_end_ += chunk.size();
  return {};
}

Result<Bytes> StagedChunks::Get(std::size_t number) const {
  const Chunk& chunk = chunks_[number];
  if (!chunk.in_file) return chunk.bytes;
  ByteVector bytes(chunk.size);
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t found, file_->Read(chunk.at, bytes));
  if (found == bytes.size()) return Bytes(std::move(bytes));
  return Fail(ErrorCode::kDataLoss, "a file of encoded chunks ends early");
}

}  // namespace unshard
