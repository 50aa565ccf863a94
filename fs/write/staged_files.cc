#include "fs/write/staged_files.h"

#include <cerrno>
#include <fstream>
#include <string>

#include "store/object/catch_exceptions.h"
#include "store/object/error_number.h"

namespace unshard {
namespace {

// The process that a thread belongs to; 0 where /proc does not show it.
pid_t ProcessOf(pid_t thread) {
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Tgid:")) return static_cast<pid_t>(std::strtol(&line[5], nullptr, 10));
  }
  return 0;
}

bool SameProcess(pid_t a, pid_t b) {
  if (a == b || a == 0 || b == 0) return true;
  const pid_t process_a = ProcessOf(a);
  const pid_t process_b = ProcessOf(b);
  return process_a == 0 || process_b == 0 || process_a == process_b;
}

}  // namespace

// An open file on a staged inode. StagedFiles outlives it.
class StagedFiles::Handle final : public OpenFile {
 public:
  Handle(StagedFiles& files, NodeId node, const OpenRequest& request, StagedPtr staged, bool direct)
      : OpenFile(node, request),
        files_(files),
        staged_(std::move(staged)),
        opener_(request.thread),
        direct_(direct) {}
  ~Handle() override { files_.ReleaseHandle(*this); }

  [[nodiscard]] PageUse page_use() const override {
    return direct_ ? PageUse::kDirect : PageUse::kFresh;
  }
  [[nodiscard]] StagedPtr staged() const override { return staged_; }

  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override {
    return staged_->Read(offset, size);
  }

  Status Write(std::uint64_t offset, ByteSpan bytes) override {
    staged_->SetFlushed(flushed_, false);
    static_assert(kAppend == StagedInode::kEnd);
    return staged_->Write(offset, bytes);
  }

  // EINTR: its program is being killed, and what that leaves is committed at the release.
  Status Flush(pid_t thread) override {
    const StagedInode::Changes changes = staged_->changes();
    Status flushed = Committed(thread);
    if (!flushed && ErrnoOf(flushed.error()) != EINTR) staged_->Refuse(changes);
    return flushed;
  }

  Status Sync() override { return files_.Sync(*staged_); }

  // Nothing was written to it since it was closed. Guarded by the staged inode.
  bool flushed_ = false;

 private:
  Status Committed(pid_t thread) {
    if (!writable()) return {};
    // A child that inherited the file has closed it: the process that opened it may go on writing.
    if (!SameProcess(thread, opener_)) return {};
    staged_->SetFlushed(flushed_, true);
    if (!staged_->dirty()) return {};
    // A created file that is still empty may be a shell's redirection, whose writer has not begun.
    if (staged_->size() == 0) return {};
    Status committed = files_.Commit(*staged_);
    // Other writers may still write the missing bytes: only the close of the last one fails.
    const bool unfinished = !committed && committed.error().code == ErrorCode::kInvalidArgument;
    if (unfinished && !staged_->all_flushed()) return {};
    return committed;
  }

  StagedFiles& files_;
  const StagedPtr staged_;
  const pid_t opener_;
  const bool direct_;
};

ChunkId StagedFiles::DocumentId(const StagedInode::Document& document) {
  // No chunk tree has this ordinal.
  return {~std::uint32_t{0},
          {StableInode(JoinPath(document.directory, document.name)), 0, 0},
          ChunkPart::kPlain};
}

std::optional<ChunkId> StagedFiles::WriterId(const StagedInode& staged) {
  if (const auto chunk = staged.chunk()) return ChunkId::Of(*chunk->tree, chunk->chunk);
  if (const auto document = staged.document()) return DocumentId(*document);
  return std::nullopt;
}

std::string StagedFiles::PathOf(const StagedInode& staged) const {
  if (const auto chunk = staged.chunk()) {
    return JoinPath(chunk->tree->directory(), chunk->tree->Path(chunk->chunk));
  }
  if (const auto document = staged.document()) {
    return JoinPath(document->directory, document->name);
  }
  return parts_.scratch.PathOf(staged).value_or("(a scratch file without a name)");
}

OpenFilePtr StagedFiles::Open(const StagedPtr& staged, NodeId node, const OpenRequest& request) {
  const std::lock_guard lock(staged->counting_mutex());
  const StagedInode::Opened opened = staged->Open(request.read, request.write);
  if (opened == StagedInode::Opened::kEnded) return nullptr;
  const auto id = request.write ? WriterId(*staged) : std::nullopt;
  if (id) parts_.writers.Enter(*id, staged);
  return std::make_unique<Handle>(*this, node, request, staged,
                                  opened == StagedInode::Opened::kDirect);
}

void StagedFiles::Release(const StagedPtr& staged) {
  staged->Release();
  if (staged->opens() == 0) End(staged);
}

void StagedFiles::RedirectsEnded(const std::vector<StagedPtr>& led_to) {
  for (const StagedPtr& staged : led_to) {
    if (staged->opens() == 0) End(staged);
  }
}

Status StagedFiles::Commit(StagedInode& staged, WrittenVersionPtr* version) {
  if (const auto document = staged.document()) {
    const timespec modified = staged.modified();
    return staged.CommitWith(
        [&](StagedFile& bytes) { return parts_.commit_document(*document, bytes, modified); });
  }
  const auto chunk = staged.chunk();
  if (!chunk) return {};
  WritePipeline::Commit commit{chunk->tree, chunk->chunk, chunk->gzipped, staged.modified(),
                               staged.inode()};
  commit.pages_doubtful = UnpackGridNode(staged.node()) && staged.pages_doubtful();
  const auto committed = staged.CommitWith([&](StagedFile& bytes) -> Status {
    UNSHARD_ASSIGN_OR_RETURN(const WrittenVersionPtr sealed,
                             parts_.writes.CommitBytes(commit, bytes));
    if (version != nullptr) *version = sealed;
    return {};
  });
  if (!committed) return committed;
  parts_.writers.ForgetEmptied(ChunkId::Of(*chunk->tree, chunk->chunk));
  parts_.committed();
  return committed;
}

Status StagedFiles::Sync(StagedInode& staged) {
  if (!WriterId(staged)) return staged.Sync();
  if (staged.dirty() && staged.size() != 0) UNSHARD_RETURN_IF_ERROR(Commit(staged));
  const auto chunk = staged.chunk();
  return chunk ? parts_.writes.Sync(*chunk->tree, chunk->chunk) : Status();
}

void StagedFiles::ChangePurpose(const StagedPtr& staged, StagedInode::Purpose purpose) {
  const std::lock_guard lock(staged->counting_mutex());
  const auto before = WriterId(*staged);
  staged->SetPurpose(std::move(purpose));
  const auto after = WriterId(*staged);
  for (std::uint64_t i = staged->writers(); i > 0; --i) {
    if (before) parts_.writers.Leave(*before, staged);
    if (after) parts_.writers.Enter(*after, staged);
  }
}

// A mesh whose manifest announces no bytes of fragments has an empty file of them.
bool StagedFiles::MayBeEmpty(const StagedInode& staged) {
  const auto chunk = staged.chunk();
  return chunk && chunk->chunk.part == ChunkPart::kFragments;
}

Status StagedFiles::CommitAtRelease(StagedInode& staged, const ChunkId& id) {
  if (staged.size() != 0 || MayBeEmpty(staged)) return Commit(staged);
  parts_.writers.MarkEmptied(id);
  return Fail(ErrorCode::kInvalidArgument,
              staged.document() ? "closed while still empty, expected a JSON document"
                                : "closed while still empty, expected the bytes of a whole chunk");
}

// In a destructor: an exception is a failure to commit.
void StagedFiles::CommitLast(StagedInode& staged, const ChunkId& id) noexcept {
  const Status committed = CatchExceptions([&]() -> Status {
    return staged.changes().refused ? Status() : CommitAtRelease(staged, id);
  });
  const Status reported = CatchExceptions([&]() -> Status {
    if (staged.dirty() && UnpackGridNode(staged.node())) parts_.written.LeaveArithmeticNode(id);
    if (committed) return {};
    Error error = committed.error();
    error.message += "; the previous version stays";
    parts_.report(PathOf(staged), error);
    return {};
  });
  static_cast<void>(reported);
}

void StagedFiles::ReleaseHandle(Handle& file) {
  const StagedPtr staged = file.staged();
  std::optional<ChunkId> id;
  bool last = false;
  // What is not committed yet must not end with a redirect.
  const bool held = staged->Hold();
  {
    const std::lock_guard lock(staged->counting_mutex());
    id = WriterId(*staged);
    staged->SetFlushed(file.flushed_, false);
    last = staged->Close(file.writable()) == 0;
  }
  if (last && id && staged->dirty() && !staged->on_trial()) CommitLast(*staged, *id);
  // Until here look-ups by readers lead to the committed version, and not to this file.
  if (id && file.writable()) parts_.writers.Leave(*id, staged);
  if (held) staged->Release();
  if (last) End(staged);
}

// The name of a staged inode has no time to live, so the kernel finds the committed version without
// a notification. FUSE_NOTIFY_INVAL_ENTRY would wait in the kernel for the lock of the directory,
// whose holder may wait for an answer of ours: a daemon that is killed then would never end.
void StagedFiles::End(const StagedPtr& staged) {
  const bool scratch = staged->is_scratch();
  OpenVersions& versions = parts_.open_versions;
  if (scratch && versions.StagedAt(staged->node()) != staged) return;
  if (parts_.scratch.Links(*staged) != 0) return;
  const bool dropped = staged->dirty();
  if (!staged->End()) return;
  // The kernel may have pages of bytes that were dropped, also where the chunk was removed while it
  // was created and its inode has no dentry. A node that was taken over may also have pages of
  // bytes that were committed, and may be withdrawn. The kernel forgets nodes of the table soon.
  const NodeId node = staged->node();
  const bool spoilt = (dropped && scratch) || versions.IsTaken(node);
  const bool arithmetic = UnpackGridNode(node).has_value();
  using End = OpenVersions::End;
  versions.EndWriting(node, staged, spoilt || !arithmetic ? End::kStaysTaken : End::kGivenBack);
  if (spoilt && arithmetic && parts_.drop_pages) parts_.drop_pages(node);
}

}  // namespace unshard
