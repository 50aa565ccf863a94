#include "store/files/document_replacer.h"

#include <utility>

#include "store/local/memory_file.h"

namespace unshard {
namespace {

// Metadata documents are no larger, nor is anything else that is replaced through this.
constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;

class DocumentReplacement final : public ObjectReplacement {
 public:
  DocumentReplacement(std::shared_ptr<ObjectFiles> files, std::string key,
                      std::shared_ptr<ObjectVersion> base)
      : files_(std::move(files)),
        key_(std::move(key)),
        base_(std::move(base)),
        bytes_(files_->Describe(key_), kMaxBytes) {}

  [[nodiscard]] const std::shared_ptr<ObjectVersion>& base() const override { return base_; }
  [[nodiscard]] bool base_is_pair() const override { return false; }
  Result<bool> StartFromBase() override { return false; }
  Status Write(std::uint64_t at, ByteSpan bytes) override { return bytes_.Write(at, bytes); }
  Status CopyBase(const ByteRange& range, std::uint64_t at) override {
    if (!base_ || !MakeByteRange(range.begin, range.size, base_->info().size)) {
      return Fail(ErrorCode::kDataLoss, files_->Describe(key_), ": is shorter than announced");
    }
    UNSHARD_ASSIGN_OR_RETURN(
        const ReadResult read,
        base_->Read(RangeRequest::At(range.begin, range.size), CallerDeadline()));
    if (read.state == ReadResult::State::kFound) return bytes_.Write(at, read.value.span());
    return Fail(ErrorCode::kConflict, files_->Describe(key_), ": was replaced");
  }
  Result<std::size_t> ReadBack(std::uint64_t at, std::span<std::uint8_t> to) override {
    return bytes_.Read(at, to);
  }
  Status SetSize(std::uint64_t size) override { return bytes_.Truncate(size); }
  Result<std::uint64_t> Size() override {
    UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, bytes_.Stat());
    return status.size;
  }

  Result<Committed> Commit(const Committing& committing) override {
    // What other hosts put from now on is found when the file is put.
    UNSHARD_ASSIGN_OR_RETURN(const auto now,
                             files_->over()->Open(key_, RangeRequest::At(0, 0), CallerDeadline()));
    const bool same = base_ && now.version
                          ? base_->info().generation == now.version->info().generation
                          : !base_ && !now.version;
    if (!same) return Committed{};
    UNSHARD_RETURN_IF_ERROR(committing());
    const Bytes bytes = bytes_.Take();
    UNSHARD_RETURN_IF_ERROR(files_->Replace(key_, bytes.span()));
    UNSHARD_ASSIGN_OR_RETURN(const auto made,
                             files_->over()->Open(key_, RangeRequest::At(0, 0), CallerDeadline()));
    base_ = made.version;
    Committed committed{Committed::Outcome::kCommitted};
    if (base_) committed.object = base_->info();
    return committed;
  }
  Result<Committed> Remove(const Committing&) override {
    return Fail(ErrorCode::kNotSupported, files_->Describe(key_), ": is removed as other files");
  }
  Status MakeDurable() override { return {}; }

 private:
  const std::shared_ptr<ObjectFiles> files_;
  const std::string key_;
  std::shared_ptr<ObjectVersion> base_;
  MemoryFile bytes_;
};

}  // namespace

Status DocumentReplacer::CanReplace(const std::string& key) {
  return files_->replacer().CanReplace(key);
}

Result<std::unique_ptr<ObjectReplacement>> DocumentReplacer::Begin(const ReplacedObject& object,
                                                                   const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(const auto opened,
                           files_->over()->Open(object.key, RangeRequest::At(0, 0), deadline));
  return std::make_unique<DocumentReplacement>(files_, object.key, opened.version);
}

Status DocumentReplacer::MakeDurable(const std::string& directory) {
  return files_->SyncDirectory(directory);
}

std::string DocumentReplacer::Describe(const std::string& key) const {
  return files_->Describe(key);
}

}  // namespace unshard
