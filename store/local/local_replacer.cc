// How a file is replaced:
//
//   1. Make its directory where it is missing, durably: another process may have made it, and the
//      file, and fsynced neither. Open `<file>.__lock` (made where it is missing), wait for its
//      exclusive OFD lock, a limited time, and open the path again: unless both are the same file
//      another writer has renamed it, and we start over. TensorStore does the same, so that both
//      may write one dataset.
//   2. Make `<file>.new.__lock` anew. Open the base: the file as it is now, or, where it is
//      missing, the pair of the obsolete form. Give the new file the owner, mode and attributes of
//      the base before there are bytes in it: a process that may not read the base may not read
//      them either.
//   3. The caller puts the new version into the new file: as a clone of the base (FICLONE) with
//      additions at its end, or from copied ranges (copy_file_range) and writes.
//   4. Sync the new file. The base must still be the file of step 2, else the condition has failed.
//   5. Rename the new file onto the path. For a removal take step 6, so that no pair comes back to
//      life, and remove the file.
//   6. Sync the directory. Only then remove the obsolete pair that the file supersedes, and sync
//      again: readers ask for the file first.
//   7. Remove the lock file while it is locked, and the new file unless it was renamed.
//
// A crash leaves the old file or the new one, and at most an unlocked and empty lock file and a
// part of a version, which the next replacement of the file removes.
#include "store/local/local_replacer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "store/local/durable_directories.h"
#include "store/local/file_object.h"
#include "store/object/concatenated_object.h"
#include "store/object/key.h"
#include "store/object/read_through.h"

namespace unshard {
namespace {

// Of bytes that are put together before they are written.
constexpr std::size_t kMostPending = std::size_t{1} << 20;
// Of bytes that are written before the disk begins to work on them, while the next are put.
constexpr std::uint64_t kMostUnsynced = std::uint64_t{16} << 20;

// One of the files that the base consists of.
struct Piece {
  std::string key;
  std::shared_ptr<File> file;
  FileStatus status;
};
using Pieces = std::vector<Piece>;

// Calls `visit` with the file, the range in it, and how far that is from the start of `range`.
template <class Visit>
Status ForEachPart(const Pieces& pieces, const ByteRange& range, const Visit& visit) {
  std::uint64_t begin_of_piece = 0;
  for (const Piece& piece : pieces) {
    const std::uint64_t begin = std::max(range.begin, begin_of_piece);
    const std::uint64_t end = std::min(range.end(), begin_of_piece + piece.status.size);
    if (begin < end) {
      UNSHARD_RETURN_IF_ERROR(
          visit(*piece.file, ByteRange{begin - begin_of_piece, end - begin}, begin - range.begin));
    }
    begin_of_piece += piece.status.size;
  }
  return {};
}

std::shared_ptr<ObjectVersion> ObjectOf(const Piece& piece, const std::string& described) {
  return MakeObjectOf(InfoOf(piece.status), described,
                      [file = piece.file](std::uint64_t at, std::span<std::uint8_t> to) {
                        return file->Read(at, to);
                      });
}

class LocalReplacement final : public ObjectReplacement {
 public:
  LocalReplacement(std::shared_ptr<FileSystem> files, const ReplacedObject& object, ShardLock lock)
      : files_(std::move(files)), object_(object), lock_(std::move(lock)) {}
  ~LocalReplacement() override { lock_.Remove(*files_); }  // 7
  LocalReplacement(const LocalReplacement&) = delete;
  LocalReplacement& operator=(const LocalReplacement&) = delete;

  Status OpenBase();

  const std::shared_ptr<ObjectVersion>& base() const override { return base_; }
  bool base_is_pair() const override { return pieces_.size() == 2; }
  Result<bool> StartFromBase() override;
  Status Write(std::uint64_t at, ByteSpan bytes) override;
  Status CopyBase(const ByteRange& range, std::uint64_t at) override;
  Result<std::size_t> ReadBack(std::uint64_t at, std::span<std::uint8_t> to) override;
  Status SetSize(std::uint64_t size) override;
  Result<std::uint64_t> Size() override;
  Result<Committed> Commit(const Committing& committing) override;
  Result<Committed> Remove(const Committing& committing) override;
  Status MakeDurable() override;

 private:
  [[nodiscard]] File& version() const { return *lock_.version(); }
  Status OpenPiece(const std::string& key);
  Status OpenPair();
  [[nodiscard]] Result<bool> BaseIsCurrent() const;
  Status WritePending();
  Status WriteNow(std::uint64_t at, ByteSpan bytes);
  Status SyncDirectory() { return files_->SyncDirectory(ParentPath(object_.key)); }

  const std::shared_ptr<FileSystem> files_;
  const ReplacedObject object_;
  ShardLock lock_;
  Pieces pieces_;  // of what is to be replaced; after a commit, the new version
  std::shared_ptr<ObjectVersion> base_;
  // Bytes that follow one another in the version and are not in its file yet.
  ByteVector pending_;
  std::uint64_t pending_at_ = 0;
  std::uint64_t unsynced_ = 0;
};

// Does nothing where the file is missing.
Status LocalReplacement::OpenPiece(const std::string& key) {
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<File> file, files_->Open(key, {}));
  if (!file) return {};
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file->StatusAtOpen());
  pieces_.push_back({key, std::move(file), status});
  return {};
}

Status LocalReplacement::OpenPair() {
  UNSHARD_RETURN_IF_ERROR(OpenPiece(object_.obsolete->index));
  const bool has_index = !pieces_.empty();
  UNSHARD_RETURN_IF_ERROR(OpenPiece(object_.obsolete->data));
  if (pieces_.size() != 1) return {};
  return Fail(ErrorCode::kDataLoss,
              files_->Describe(has_index ? object_.obsolete->data : object_.obsolete->index),
              ": missing, although the other half of the shard exists");
}

Status LocalReplacement::OpenBase() {
  UNSHARD_RETURN_IF_ERROR(OpenPiece(object_.key));
  if (pieces_.empty() && object_.obsolete) UNSHARD_RETURN_IF_ERROR(OpenPair());
  if (pieces_.empty()) return {};
  base_ = ObjectOf(pieces_[0], files_->Describe(pieces_[0].key));
  if (base_is_pair()) {
    const std::string data = files_->Describe(pieces_[1].key);
    UNSHARD_ASSIGN_OR_RETURN(base_, Concatenate(base_, ObjectOf(pieces_[1], data), data));
  }
  return version().TakeAttributesOf(*pieces_[0].file);
}

Result<bool> LocalReplacement::StartFromBase() {
  if (pieces_.size() != 1) return false;
  return version().CloneFrom(*pieces_[0].file);
}

// Chunks are put together: each write(2) is an inotify event for every process that watches the
// shard's directory, and for this one.
Status LocalReplacement::Write(std::uint64_t at, ByteSpan bytes) {
  const bool follows = at == pending_at_ + pending_.size();
  if (!follows || pending_.size() + bytes.size() > kMostPending) {
    UNSHARD_RETURN_IF_ERROR(WritePending());
    pending_at_ = at;
  }
  if (bytes.size() >= kMostPending) return WriteNow(at, bytes);
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  return {};
}

Status LocalReplacement::WritePending() {
  if (pending_.empty()) return {};
  UNSHARD_RETURN_IF_ERROR(WriteNow(pending_at_, pending_));
  pending_.clear();
  return {};
}

Status LocalReplacement::WriteNow(std::uint64_t at, ByteSpan bytes) {
  UNSHARD_RETURN_IF_ERROR(version().Write(at, bytes));
  unsynced_ += bytes.size();
  if (unsynced_ < kMostUnsynced) return {};
  version().StartSync();
  unsynced_ = 0;
  return {};
}

Result<std::size_t> LocalReplacement::ReadBack(std::uint64_t at, std::span<std::uint8_t> to) {
  UNSHARD_RETURN_IF_ERROR(WritePending());
  return version().Read(at, to);
}

Status LocalReplacement::CopyBase(const ByteRange& range, std::uint64_t at) {
  UNSHARD_RETURN_IF_ERROR(WritePending());
  if (!base_ || !MakeByteRange(range.begin, range.size, base_->info().size)) {
    return Fail(ErrorCode::kDataLoss, files_->Describe(object_.key), ": ends before byte ",
                range.end());
  }
  return ForEachPart(pieces_, range, [&](File& file, const ByteRange& part, std::uint64_t from) {
    return version().CopyFrom(file, part, at + from);
  });
}

Status LocalReplacement::SetSize(std::uint64_t size) {
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t now, Size());
  // File systems take their time even where the length is right.
  if (now != size) UNSHARD_RETURN_IF_ERROR(version().Truncate(size));
  // Everything has been put: the disk works while the index is read back.
  version().StartSync();
  return {};
}

Result<std::uint64_t> LocalReplacement::Size() {
  UNSHARD_RETURN_IF_ERROR(WritePending());
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, version().Stat());
  return status.size;
}

// False where another version has taken the base's place, or the base has been written to.
Result<bool> LocalReplacement::BaseIsCurrent() const {
  if (pieces_.size() != 1) {
    UNSHARD_ASSIGN_OR_RETURN(const auto object, files_->Stat(object_.key));
    if (object) return false;
  }
  for (const Piece& piece : pieces_) {
    UNSHARD_ASSIGN_OR_RETURN(const auto named, files_->Stat(piece.key));
    // The same inode, which the open file keeps from being another's: its status is that of both.
    if (!named || !FileVersion::Of(*named).SameAs(FileVersion::Of(piece.status))) return false;
  }
  return true;
}

Result<Committed> LocalReplacement::Commit(const Committing& committing) {
  UNSHARD_RETURN_IF_ERROR(WritePending());
  UNSHARD_RETURN_IF_ERROR(version().Sync());  // 4
  UNSHARD_RETURN_IF_ERROR(committing());
  UNSHARD_ASSIGN_OR_RETURN(const bool current, BaseIsCurrent());
  if (!current) return Committed{};
  UNSHARD_RETURN_IF_ERROR(files_->Rename(lock_.version_path(), object_.key));  // 5
  // Some file systems move the change time of what is renamed.
  auto status = version().Stat();
  if (!status) return Committed{Committed::Outcome::kUnknown, {}, std::move(status).error()};
  pieces_ = {{object_.key, lock_.version(), *status}};
  return Committed{Committed::Outcome::kCommitted, InfoOf(*status)};
}

Result<Committed> LocalReplacement::Remove(const Committing& committing) {
  UNSHARD_RETURN_IF_ERROR(committing());
  UNSHARD_ASSIGN_OR_RETURN(const bool current, BaseIsCurrent());
  if (!current) return Committed{};
  // A pair must not come back to life, not half of it either when a power loss undoes one removal.
  if (object_.obsolete) UNSHARD_RETURN_IF_ERROR(MakeDurable());
  UNSHARD_ASSIGN_OR_RETURN(const bool removed, files_->Remove(object_.key));
  if (!removed) return Committed{};
  pieces_.clear();
  return Committed{Committed::Outcome::kCommitted};
}

Status LocalReplacement::MakeDurable() {
  UNSHARD_RETURN_IF_ERROR(SyncDirectory());  // 6
  if (pieces_.size() != 1 || !object_.obsolete) return {};
  UNSHARD_ASSIGN_OR_RETURN(const bool index, files_->Remove(object_.obsolete->index));
  UNSHARD_ASSIGN_OR_RETURN(const bool data, files_->Remove(object_.obsolete->data));
  return index || data ? SyncDirectory() : Status();
}

class LocalReplacer final : public ObjectReplacer {
 public:
  LocalReplacer(std::shared_ptr<FileSystem> files, const LockTimeouts& timeouts)
      : files_(std::move(files)), timeouts_(timeouts) {}

  Status CanReplace(const std::string& key) override;
  Result<std::unique_ptr<ObjectReplacement>> Begin(const ReplacedObject& object,
                                                   const Deadline& deadline) override;
  Status MakeDurable(const std::string& directory) override;
  std::string Describe(const std::string& key) const override { return files_->Describe(key); }

 private:
  const std::shared_ptr<FileSystem> files_;
  const LockTimeouts timeouts_;
  DurableDirectories directories_;
};

// As making a file would fail in the directory, or in the nearest one above it that is there.
Status LocalReplacer::CanReplace(const std::string& key) {
  for (std::string directory = ParentPath(key);; directory = ParentPath(directory)) {
    const std::string path = files_->Describe(directory);
    if (::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
    if (errno == EROFS || errno == EACCES || errno == EPERM) {
      return FailErrno(errno, path + ": its shards cannot be rewritten");
    }
    // Whatever else is wrong is found by the publish.
    if ((errno != ENOENT && errno != ENOTDIR) || directory.empty()) return {};
  }
}

Status LocalReplacer::MakeDurable(const std::string& directory) {
  const auto there = files_->Stat(directory);
  const bool gone = there && !*there;  // with all its files, whose removal was made durable
  return gone ? Status() : files_->SyncDirectory(directory);
}

Result<std::unique_ptr<ObjectReplacement>> LocalReplacer::Begin(const ReplacedObject& object,
                                                                const Deadline& deadline) {
  UNSHARD_RETURN_IF_ERROR(directories_.Make(*files_, ParentPath(object.key)));
  UNSHARD_ASSIGN_OR_RETURN(ShardLock lock,
                           ShardLock::Acquire(*files_, object.key, timeouts_, deadline));  // 1
  auto replacement = std::make_unique<LocalReplacement>(files_, object, std::move(lock));
  UNSHARD_RETURN_IF_ERROR(replacement->OpenBase());  // 2
  return replacement;
}

}  // namespace

std::shared_ptr<ObjectReplacer> MakeLocalReplacer(std::shared_ptr<FileSystem> files,
                                                  const LockTimeouts& timeouts) {
  return std::make_shared<LocalReplacer>(std::move(files), timeouts);
}

}  // namespace unshard
