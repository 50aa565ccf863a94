#include "fs/tree/chunk_opening.h"

#include <cerrno>

#include "fs/common/request_failures.h"
#include "fs/tree/away_store.h"
#include "fs/tree/chunk_dentries.h"
#include "fs/tree/chunk_lookup.h"
#include "fs/tree/chunk_node.h"
#include "fs/tree/staged_node.h"
#include "fs/tree/stored_chunk.h"
#include "fs/tree/superblock.h"
#include "store/object/error_number.h"

namespace unshard {
namespace {

using StagedPtr = std::shared_ptr<StagedInode>;

// Attempts of an open that the kernel does not repeat.
constexpr int kLastTries = 64;

// An eighth of the memory cap, as for chunks that are decoded.
constexpr std::uint64_t kEncodedShare = 8;

// Other programs may replace a chunk each time it is read.
constexpr int kBaseTries = 64;

// The staged inode of the next version of this chunk under this name, held; null where there is
// none.
StagedPtr JoinableWriter(Superblock& sb, const StagedInode::Chunk& chunk) {
  const auto latest = sb.writers.Latest(ChunkId::Of(*chunk.tree, chunk.chunk));
  if (!latest) return nullptr;
  const auto writes = latest->chunk();
  const bool same = writes && writes->tree == chunk.tree && writes->gzipped == chunk.gzipped;
  return same && latest->Hold() ? latest : nullptr;
}

// The contents that a staged inode of a chunk begins with; null: empty.
Result<ContentPtr> BaseOf(Superblock& sb, const StagedInode::Chunk& chunk) {
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr base,
                           sb.writes->current().Current(chunk.tree, chunk.chunk));
  return base && chunk.gzipped ? EncodedContent(sb, *chunk.tree, *base) : base;
}

// A staged inode that begins with these contents, or empty, and has a spool file reserved. The
// contents are copied into that file where they could be gone at the first write (a store that
// keeps no replaced versions loses them at the next publish of any chunk of the shard), or would
// take memory until then.
Result<StagedPtr> StageBase(Superblock& sb, const StagedInode::Chunk& chunk, bool empty) {
  ContentPtr base;
  if (!empty) {
    UNSHARD_ASSIGN_OR_RETURN(base, BaseOf(sb, chunk));
  }
  auto staged = std::make_shared<StagedInode>(sb.writes->spool(), chunk, base,
                                              InodeOfChunk(sb, *chunk.tree, chunk.chunk));
  UNSHARD_RETURN_IF_ERROR(staged->Reserve());
  const bool stays = sb.parts.store->capabilities().keeps_replaced_versions;
  if (base && (!stays || base->in_memory())) {
    UNSHARD_RETURN_IF_ERROR(staged->TakeBase());
  }
  return staged;
}

bool IsConflict(const Result<StagedPtr>& staged) {
  return !staged && staged.error().code == ErrorCode::kConflict;
}

// A new staged inode for a chunk, held.
Result<StagedPtr> StageChunk(Superblock& sb, const StagedInode::Chunk& chunk, bool truncate) {
  UNSHARD_RETURN_IF_ERROR(CanWriteChunk(sb, *chunk.tree, chunk.chunk));
  if (PlainNameIsRemembered(sb, chunk)) DropPlainName(sb, *chunk.tree, chunk.chunk);
  // An earlier open truncated the chunk, and nothing has been written since.
  const bool emptied = !truncate && sb.writers.IsEmptied(ChunkId::Of(*chunk.tree, chunk.chunk));
  auto based = StageBase(sb, chunk, truncate || emptied);
  for (int i = 1; i < kBaseTries && IsConflict(based); ++i) based = StageBase(sb, chunk, false);
  UNSHARD_ASSIGN_OR_RETURN(const StagedPtr staged, std::move(based));
  // Where nothing is written to it, its release reports that.
  if (truncate || emptied) staged->MarkTruncated(emptied);
  if (!staged->Hold()) return tl::unexpected<Error>(StaleNode());
  return staged;
}

// Whether this open is the kernel's second attempt, and came to the same node again.
bool HasNoName(const Superblock& sb, const ChunkNode& node, const OpenRequest& request) {
  return request.write && sb.writers.WasAnsweredStale(request.thread, node.chunk_id(), node.id());
}

// Step 1. Null: there is no writer to join any more.
Result<OpenFilePtr> JoinWriter(Superblock& sb, const ChunkNode& node,
                               const StagedInode::Chunk& chunk, const OpenRequest& request) {
  if (request.truncate) return nullptr;
  const ChunkId id = node.chunk_id();
  while (const StagedPtr staged = JoinableWriter(sb, chunk)) {
    const bool last = request.thread == 0 || sb.writers.WasAnsweredStale(request.thread, id);
    if (!last) return Join(sb, id, staged, node.id(), request);
    staged->Release();
    sb.staged_files->RedirectsEnded(sb.writers.TakeRedirect(request.thread, staged));
    if (RequestEpoch::Outside([&] { return sb.writers.WaitForEnd(id, staged); })) continue;
    if (request.thread == 0) return BeingWritten();
    if (staged->Hold()) return Join(sb, id, staged, node.id(), request);
  }
  return nullptr;
}

Result<OpenFilePtr> OpenForWriting(Superblock& sb, const ChunkNode& node,
                                   const ChunkNode::Seen& seen, const OpenRequest& request) {
  const ChunkId id = node.chunk_id();
  const StagedInode::Chunk chunk{node.tree(), node.chunk(), node.gzipped()};
  sb.choice.Wrote(id);
  UNSHARD_ASSIGN_OR_RETURN(OpenFilePtr joined, JoinWriter(sb, node, chunk, request));
  if (joined) return joined;
  const bool nameless = HasNoName(sb, node, request);
  const bool removed = node.IsRemoved(seen);
  const bool remembered = !node.IsUnremembered(seen);
  const bool elsewhere =
      (remembered && !sb.choice.IsContended(id)) || sb.open_versions.Find(node.id()).has_value();
  const bool led = !request.truncate && request.thread != 0 && !nameless;
  // The chunk was removed or renamed after a look-up that may be old: only CREATE can make it
  // again.
  const bool gone = removed && remembered && !nameless;
  if (gone || (elsewhere && !led)) return AnswerStale(sb, id, node.id(), request);
  UNSHARD_ASSIGN_OR_RETURN(const StagedPtr staged, StageChunk(sb, chunk, request.truncate));
  if (elsewhere) {
    sb.choice.NoteStale(id);
    return Join(sb, id, staged, node.id(), request);
  }
  // The chunk was removed after this open(2) looked it up: the file has no name, as on a disk.
  if (removed) staged->SetPurpose(StagedInode::Scratch{});
  auto file = TakeOver(sb, node.id(), id, staged, request);
  if (file && remembered && !removed) AwaitDrop(sb, *node.tree(), node.chunk());
  return file;
}

// The version of this chunk that readers get now. Fails with NotCommitted where there is none.
Result<Node::Version> LatestVersion(Superblock& sb, const ChunkNode& node) {
  for (int i = 0; i < kLastTries; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(const Entry entry, LookupChunk(sb, node.tree(), node.chunk(), 0));
    if (entry.node == 0) return NotCommitted();
    const NodePtr found = sb.At(entry.node);
    auto version = found ? found->OpenCurrent() : std::nullopt;
    sb.Forget(entry.node, 1);
    if (!version) return tl::unexpected<Error>(std::move(version).error());
    if (*version) return **std::move(version);
  }
  return StaleName();
}

Result<OpenFilePtr> OpenForReading(Superblock& sb, ChunkNode& node, const ChunkNode::Seen& seen,
                                   const OpenRequest& request) {
  UNSHARD_ASSIGN_OR_RETURN(auto version, node.OpenVersion(seen));
  PageUse pages = PageUse::kKept;
  if (!version && node.use() == NodeUse::kOwn) {
    UNSHARD_ASSIGN_OR_RETURN(version, LatestVersion(sb, node));
    pages = PageUse::kDirect;
  }
  if (version && sb.held_contents) {
    UNSHARD_ASSIGN_OR_RETURN(version->content, sb.held_contents->Keep(version->content));
  }
  if (!version || !sb.open_versions.Opened(node.id(), version->presented)) {
    return AnswerStale(sb, node.chunk_id(), node.id(), request);
  }
  return std::make_unique<OpenContent>(node.id(), request, std::move(version->content),
                                       &sb.open_versions, pages);
}

Result<OpenFilePtr> OpenOnce(Superblock& sb, ChunkNode& node, const OpenRequest& request) {
  if (const StagedPtr staged = node.Staged()) {
    if (!sb.open_versions.IsTaken(node.id())) return OpenStaged(sb, node.id(), staged, request);
    if (!staged->ended() || !HasNoName(sb, node, request)) {
      return OpenTaken(sb, node.id(), node.chunk_id(), staged, request);
    }
  }
  // The metadata have changed, and the name may have another meaning.
  if (node.tree()->retired()) return StaleName();
  const ChunkNode::Seen seen = node.FindLatest();
  return request.write ? OpenForWriting(sb, node, seen, request)
                       : OpenForReading(sb, node, seen, request);
}

}  // namespace

// An open that reaches the same node twice has no name to look up: it waits until no other file is
// open on the node.
Result<OpenFilePtr> OpenChunk(Superblock& superblock, ChunkNode& node, const OpenRequest& request) {
  const bool last = HasNoName(superblock, node, request);
  auto file = OpenOnce(superblock, node, request);
  for (int i = 0; i < kLastTries && last && !file && IsStaleName(file.error()); ++i) {
    const auto wait = [&] { return superblock.open_versions.AwaitFree(node.id()); };
    if (!RequestEpoch::Outside(wait)) break;
    file = OpenOnce(superblock, node, request);
  }
  return file;
}

Result<Created> CreateChunk(Superblock& superblock, const StagedInode::Chunk& chunk,
                            const OpenRequest& request) {
  Superblock& sb = superblock;
  const ChunkId id = ChunkId::Of(*chunk.tree, chunk.chunk);
  sb.choice.Wrote(id);
  StagedPtr staged = request.truncate ? nullptr : JoinableWriter(sb, chunk);
  if (!staged) {
    UNSHARD_ASSIGN_OR_RETURN(staged, StageChunk(sb, chunk, request.truncate));
  }
  const bool fresh = !sb.writers.HasWriter(id) && staged->size() == 0 && !chunk.gzipped &&
                     !sb.parts.written->Find(id);
  std::optional<Entry> entry;
  if (fresh) {
    const BriefWait brief(sb);
    entry = ReferArithmetic(chunk.tree, chunk.chunk);
  }
  using Begin = OpenVersions::Begin;
  if (entry && !sb.open_versions.BeginWriting(entry->node, staged, Begin::kCreated)) {
    sb.Forget(entry->node, 1);
    entry.reset();
  }
  if (entry) {
    staged->SetNode(entry->node);
    entry = StagedEntry(sb, entry->node, staged);
  } else {
    entry = ReferStaged(sb, staged);
  }
  OpenFilePtr file = sb.staged_files->Open(staged, entry->node, request);
  staged->Release();
  return Created{*entry, std::move(file)};
}

Status CanWriteChunk(Superblock& superblock, ChunkTree& tree, const ChunkRef& chunk) {
  if (const Status can = superblock.writes->CanWrite(tree); !can) {
    return Fail(ErrorCode::kReadOnly, can.error().message);
  }
  return superblock.writes->replacer().CanReplace(*tree.chunks().ReplacedKey(chunk));
}

Result<ContentPtr> EncodedContent(Superblock& superblock, ChunkTree& tree, ChunkContent& plain) {
  const std::uint64_t most = superblock.options.memory_bytes / kEncodedShare;
  UNSHARD_ASSIGN_OR_RETURN(
      const auto room,
      superblock.gzipping.Enter(2 * std::min(plain.size(), most), CallerDeadline()));
  UNSHARD_ASSIGN_OR_RETURN(Bytes bytes, ReadAll(plain, most));
  UNSHARD_ASSIGN_OR_RETURN(bytes, tree.chunks().Encode(std::move(bytes)));
  return MakeBytesContent(std::move(bytes));
}

tl::unexpected<Error> AnswerStale(Superblock& superblock, const ChunkId& of, NodeId node,
                                  const OpenRequest& request) {
  superblock.choice.NoteStale(of);
  if (request.write) superblock.writers.NoteStale(request.thread, of, node);
  return StaleName();
}

tl::unexpected<Error> Join(Superblock& superblock, const ChunkId& of, const StagedPtr& staged,
                           NodeId node, const OpenRequest& request) {
  if (request.thread == 0) {
    staged->Release();
    return BeingWritten();
  }
  superblock.writers.NoteStale(request.thread, of, node);
  superblock.staged_files->RedirectsEnded(superblock.writers.Redirect(request, of, staged));
  return StaleName();
}

tl::unexpected<Error> BeingWritten() {
  return FailWith(
      EBUSY, ErrorCode::kUnavailable,
      "another program is writing this chunk, and an open from another PID namespace or through "
      "/proc/self/fd cannot join it: replace the chunk (O_TRUNC), or open it once it is closed");
}

Result<OpenFilePtr> TakeOver(Superblock& superblock, NodeId node, const ChunkId& of,
                             const StagedPtr& staged, const OpenRequest& request) {
  OpenVersions& open_versions = superblock.open_versions;
  if (!open_versions.BeginWriting(node, staged, OpenVersions::Begin::kTakenOver)) {
    staged->Release();
    // Another writer may have taken it over since the look-up.
    const auto other = open_versions.StagedAt(node);
    if (other && !request.truncate && !other->ended()) {
      return OpenTaken(superblock, node, of, other, request);
    }
    return AnswerStale(superblock, of, node, request);
  }
  staged->SetNode(node);
  auto file = OpenStaged(superblock, node, staged, request);
  staged->Release();
  return file;
}

Result<OpenFilePtr> OpenTaken(Superblock& superblock, NodeId node, const ChunkId& of,
                              const StagedPtr& staged, const OpenRequest& request) {
  if (!request.write || request.truncate || staged->ended()) {
    return AnswerStale(superblock, of, node, request);
  }
  auto file = OpenStaged(superblock, node, staged, request);
  if (!file && IsStaleName(file.error())) return AnswerStale(superblock, of, node, request);
  return file;
}

bool WasLedAstray(Superblock& superblock, NodeId node, const OpenRequest& request) {
  if (!superblock.writable()) return false;
  const auto led_to = superblock.writers.EndOtherRedirects(request);
  bool astray = false;
  for (const auto& staged : led_to) {
    const auto id = StagedFiles::WriterId(*staged);
    if (!id || staged->node() != node) continue;
    static_cast<void>(AnswerStale(superblock, *id, node, request));
    astray = true;
  }
  superblock.staged_files->RedirectsEnded(led_to);
  return astray;
}

void EndOpen(Superblock& superblock, pid_t thread, const Error* failure) {
  if (!superblock.writable() || (failure != nullptr && ErrnoOf(*failure) == ESTALE)) return;
  superblock.staged_files->RedirectsEnded(superblock.writers.EndOpen(thread));
}

}  // namespace unshard
