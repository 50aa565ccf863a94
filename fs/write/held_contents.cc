#include "fs/write/held_contents.h"

#include <utility>

namespace unshard {

// Counts its bytes until it ends.
class HeldContents::InMemory final : public ChunkContent {
 public:
  InMemory(ContentPtr bytes, std::shared_ptr<std::atomic<std::uint64_t>> counter)
      : bytes_(std::move(bytes)), counter_(std::move(counter)) {}
  ~InMemory() override { *counter_ -= bytes_->size(); }
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;
  std::uint64_t size() const override { return bytes_->size(); }
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override {
    return bytes_->Read(offset, size);
  }

 private:
  const ContentPtr bytes_;
  const std::shared_ptr<std::atomic<std::uint64_t>> counter_;  // has them already
};

Result<ContentPtr> HeldContents::Keep(ContentPtr content) {
  if (!content->in_memory()) return content;
  const std::uint64_t size = content->size();
  if (*in_memory_ += size; *in_memory_ <= max_in_memory_) {
    return std::make_shared<InMemory>(std::move(content), in_memory_);
  }
  *in_memory_ -= size;
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<StagedFile> staged, spool_->Reserve());
  UNSHARD_RETURN_IF_ERROR(ForEachPiece(*content, [&](std::uint64_t offset, ByteSpan piece) {
    return staged->Write(offset, piece);
  }));
  return MakeFileContent({staged, &staged->file()}, size);
}

}  // namespace unshard
