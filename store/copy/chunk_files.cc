// Of files of this machine:
//
//   1. A chunk is written to a file in the scratch directory.
//   2. Once enough of them are there they are made durable, all at once, and renamed: no reader
//      sees a part of a chunk, not after a power loss either.
//   3. The names are made durable with the next chunks, or by Finish.
#include "store/copy/chunk_files.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <unordered_set>
#include <utility>
#include <vector>

#include "store/local/named_file.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/object/time_now.h"

namespace unshard {
namespace {

// `found`: the status of the chunk's file or object, with a size and a time.
template <class Found>
bool IsLike(const Found& found, const ChunkFiles::Wanted& wanted) {
  return (!wanted.size || *wanted.size == found.size) &&
         !IsLater(wanted.no_earlier, found.modified);
}

constexpr const char* kLockName = "lock";
// Of chunks that wait for their names.
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMostFiles = 4096;
constexpr int kMostAttempts = 100;

std::string LockPath(const std::string& directory) { return JoinPath(directory, kLockName); }

// Requires: the caller holds its lock. That goes last: until then a copy that begins finds it held.
Status RemoveScratch(FileSystem& files, const std::string& directory) {
  UNSHARD_ASSIGN_OR_RETURN(const auto names, SortedNames(files, directory));
  for (const std::string& name : names) {
    if (name != kLockName) UNSHARD_RETURN_IF_ERROR(files.Remove(JoinPath(directory, name)));
  }
  UNSHARD_RETURN_IF_ERROR(files.Remove(LockPath(directory)));
  const auto removed = files.Remove(directory);
  // A copy that clears up at the same time has just made a lock in it, and removes it.
  if (removed || removed.error().system_errno == ENOTEMPTY) return {};
  return tl::unexpected<Error>(removed.error());
}

// The lock of a scratch directory, until the file is closed; null where a copy that runs holds it,
// or where the directory is gone.
Result<std::shared_ptr<File>> LockScratch(FileSystem& files, const std::string& directory) {
  auto lock = files.Open(LockPath(directory), {.write = true, .create = true});
  if (!lock && lock.error().system_errno == ENOENT) return nullptr;
  UNSHARD_RETURN_IF_ERROR(lock);
  UNSHARD_ASSIGN_OR_RETURN(const bool locked, (*lock)->Lock(false));
  if (!locked) return nullptr;
  // The copy that held it until now may have removed it.
  UNSHARD_ASSIGN_OR_RETURN(const bool is_named, IsNamed(files, LockPath(directory), **lock));
  return is_named ? *std::move(lock) : nullptr;
}

Status RemoveDeadScratch(FileSystem& files) {
  UNSHARD_ASSIGN_OR_RETURN(const auto names, SortedNames(files, ""));
  for (const std::string& name : names) {
    if (!name.starts_with(kCopyScratchPrefix)) continue;
    UNSHARD_ASSIGN_OR_RETURN(const auto lock, LockScratch(files, name));
    if (lock) UNSHARD_RETURN_IF_ERROR(RemoveScratch(files, name));
  }
  return {};
}

class LocalChunkFiles final : public ChunkFiles {
 public:
  explicit LocalChunkFiles(std::shared_ptr<CopyScratch> scratch) : scratch_(std::move(scratch)) {}
  ~LocalChunkFiles() override {
    for (const Waiting& file : waiting_) (void)files().Remove(file.scratch);
  }

  Result<bool> Has(const std::string& key, const Wanted& wanted) override {
    UNSHARD_ASSIGN_OR_RETURN(const auto found, files().Stat(key));
    return found && found->kind == FileStatus::Kind::kFile && IsLike(*found, wanted);
  }

  Status Put(const std::string& key, const Bytes& chunk) override {
    const std::string scratch = scratch_->NewName();
    UNSHARD_ASSIGN_OR_RETURN(
        const auto file, files().Open(scratch, {.write = true, .create = true, .exclusive = true}));
    waiting_.push_back({scratch, key});
    UNSHARD_RETURN_IF_ERROR(file->Write(0, chunk.span()));
    bytes_ += chunk.size();
    return bytes_ >= kMostBytes || waiting_.size() >= kMostFiles ? GiveNames() : Status();
  }

  Status Remove(const std::string& key) override {
    UNSHARD_RETURN_IF_ERROR(files().Remove(key));
    return {};
  }

  Status Finish() override {
    UNSHARD_RETURN_IF_ERROR(GiveNames());
    return files().SyncAll();
  }

 private:
  struct Waiting {
    std::string scratch;
    std::string key;
  };
  [[nodiscard]] FileSystem& files() const { return scratch_->files(); }

  Status GiveNames() {
    if (waiting_.empty()) return {};
    UNSHARD_RETURN_IF_ERROR(files().SyncAll());
    std::vector<Waiting> waiting = std::move(waiting_);
    waiting_.clear();
    bytes_ = 0;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      Status named = MakeParent(waiting[i].key);
      if (named) named = files().Rename(waiting[i].scratch, waiting[i].key);
      if (named) continue;
      waiting_.assign(waiting.begin() + static_cast<std::ptrdiff_t>(i), waiting.end());
      return named;
    }
    return {};
  }

  Status MakeParent(const std::string& key) {
    const std::string parent = ParentPath(key);
    if (parent.empty() || made_.contains(parent)) return {};
    UNSHARD_RETURN_IF_ERROR(MakeParent(parent));
    UNSHARD_RETURN_IF_ERROR(files().MakeDirectory(parent));
    made_.insert(parent);
    return {};
  }

  const std::shared_ptr<CopyScratch> scratch_;
  std::vector<Waiting> waiting_;
  std::uint64_t bytes_ = 0;
  std::unordered_set<std::string> made_;  // directories that are there
};

class RemoteChunkFiles final : public ChunkFiles {
 public:
  RemoteChunkFiles(std::shared_ptr<ObjectStore> store, std::shared_ptr<ObjectReplacer> replacer)
      : store_(std::move(store)), replacer_(std::move(replacer)) {}

  Result<bool> Has(const std::string& key, const Wanted& wanted) override {
    UNSHARD_ASSIGN_OR_RETURN(const auto opened,
                             store_->Open(key, RangeRequest::At(0, 0), CallerDeadline()));
    return opened.version && IsLike(opened.version->info(), wanted);
  }

  Status Put(const std::string& key, const Bytes& chunk) override {
    return ReplaceObject(*replacer_, key, chunk.span());
  }

  Status Remove(const std::string& key) override {
    UNSHARD_ASSIGN_OR_RETURN(const auto replacement,
                             replacer_->Begin({key, std::nullopt}, CallerDeadline()));
    if (!replacement->base()) return {};
    UNSHARD_ASSIGN_OR_RETURN(const Committed removed,
                             replacement->Remove([]() -> Status { return {}; }));
    if (removed.outcome == Committed::Outcome::kCommitted) return {};
    return Fail(ErrorCode::kConflict, store_->Describe(key),
                ": another process has replaced it meanwhile");
  }

  Status Finish() override { return {}; }

 private:
  const std::shared_ptr<ObjectStore> store_;
  const std::shared_ptr<ObjectReplacer> replacer_;
};

}  // namespace

struct CopyScratch::Names {
  std::atomic<std::uint64_t> next{0};
};

CopyScratch::CopyScratch(std::shared_ptr<FileSystem> files, std::string directory,
                         std::shared_ptr<File> lock)
    : files_(std::move(files)),
      directory_(std::move(directory)),
      lock_(std::move(lock)),
      names_(std::make_unique<Names>()) {}

Result<std::shared_ptr<CopyScratch>> CopyScratch::Make(std::shared_ptr<FileSystem> files) {
  UNSHARD_RETURN_IF_ERROR(RemoveDeadScratch(*files));
  for (int i = 0; i < kMostAttempts; ++i) {
    const std::string directory =
        std::string(kCopyScratchPrefix) + std::to_string(::getpid()) + "-" + std::to_string(i);
    UNSHARD_ASSIGN_OR_RETURN(const bool made, files->MakeDirectory(directory));
    if (!made) continue;
    UNSHARD_ASSIGN_OR_RETURN(auto lock, LockScratch(*files, directory));
    if (!lock) continue;  // another copy, which begins now, took it for what a killed copy left
    return std::shared_ptr<CopyScratch>(
        new CopyScratch(std::move(files), directory, std::move(lock)));
  }
  return Fail(ErrorCode::kUnavailable, files->Describe(""), ": other copies into it keep starting");
}

CopyScratch::~CopyScratch() {
  const Status removed = RemoveScratch(*files_, directory_);
  if (!removed) LogWarning(removed.error().message);
}

std::string CopyScratch::NewName() {
  return JoinPath(directory_, std::to_string(names_->next.fetch_add(1)));
}

std::unique_ptr<ChunkFiles> MakeLocalChunkFiles(std::shared_ptr<CopyScratch> scratch) {
  return std::make_unique<LocalChunkFiles>(std::move(scratch));
}

std::unique_ptr<ChunkFiles> MakeRemoteChunkFiles(std::shared_ptr<ObjectStore> store,
                                                 std::shared_ptr<ObjectReplacer> replacer) {
  return std::make_unique<RemoteChunkFiles>(std::move(store), std::move(replacer));
}

}  // namespace unshard
