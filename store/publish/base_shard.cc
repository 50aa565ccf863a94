#include "store/publish/base_shard.h"

#include "store/local/file_object.h"

namespace unshard {
namespace {

bool SameVersion(const FileStatus& a, const FileStatus& b) {
  return FileVersion::Of(a).SameAs(FileVersion::Of(b));
}

}  // namespace

Result<std::optional<BaseShard::Piece>> BaseShard::OpenPiece(FileSystem& files,
                                                             const std::string& key) {
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<File> file, files.Open(key, {}));
  if (!file) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->Stat());
  return Piece{key, std::move(file), status};
}

Result<BaseShard> BaseShard::Open(FileSystem& files, const PublishRequest& request) {
  BaseShard base(files.Describe(request.key));
  base.key_ = request.key;
  UNSHARD_ASSIGN_OR_RETURN(auto shard, OpenPiece(files, request.key));
  if (shard) {
    base.pieces_.push_back(*std::move(shard));
  } else if (request.obsolete) {
    UNSHARD_ASSIGN_OR_RETURN(auto index, OpenPiece(files, request.obsolete->index));
    UNSHARD_ASSIGN_OR_RETURN(auto data, OpenPiece(files, request.obsolete->data));
    if (index.has_value() != data.has_value()) {
      return Fail(ErrorCode::kDataLoss,
                  files.Describe(index ? request.obsolete->data : request.obsolete->index) +
                      ": missing, although the other half of the shard is there");
    }
    if (index) {
      base.object_ = ShardObject(files.Describe(request.obsolete->index));
      base.pieces_.push_back(*std::move(index));
      base.pieces_.push_back(*std::move(data));
    }
  }
  for (const Piece& piece : base.pieces_) {
    if (!CheckedAdd(base.object_.size(), piece.status.size)) {
      return Fail(ErrorCode::kDataLoss, files.Describe(piece.key) + ": too large");
    }
    base.object_.Add(piece.file, piece.status.size);
  }
  return base;
}

std::optional<Generation> BaseShard::generation() const {
  if (missing()) return std::nullopt;
  Generation generation;
  for (const Piece& piece : pieces_) {
    if (!generation.tag.empty()) generation.tag += '+';  // as OpenConcatenated does
    generation.tag += FileVersion::Of(piece.status).generation().tag;
  }
  return generation;
}

Result<bool> BaseShard::StillThere(FileSystem& files) const {
  if (missing() || is_pair()) {
    UNSHARD_ASSIGN_OR_RETURN(const auto shard, files.Stat(key_));
    if (shard) return false;
  }
  for (const Piece& piece : pieces_) {
    UNSHARD_ASSIGN_OR_RETURN(const auto named, files.Stat(piece.key));
    UNSHARD_ASSIGN_OR_RETURN(const FileStatus now, piece.file->Stat());
    if (!named || !SameVersion(*named, piece.status) || !SameVersion(now, piece.status)) {
      return false;
    }
  }
  return true;
}

}  // namespace unshard
