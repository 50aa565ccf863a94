// Open files of a writable mount: reading one version, writing the next one.
#include <algorithm>
#include <cerrno>
#include <fstream>

#include "codec/shard/metadata_merge.h"
#include "fs/common/request_failures.h"
#include "fs/volume_fs.h"
#include "store/object/log.h"
#include "store/publish/can_publish.h"

namespace unshard {
namespace {

// Writers that compete for the same room come to it in turn.
constexpr int kRoomTries = 64;

tl::unexpected<Error> BeingWritten() {
  return FailWith(EBUSY, ErrorCode::kUnavailable,
                  "is being written, and an open from another pid name space than the mount's, or "
                  "through /proc/self/fd, cannot be led to the file of its writer: write it with "
                  "O_TRUNC, or once it is closed");
}

// Attempts of an open that the kernel does not repeat.
constexpr int kLastTries = 64;

// The process that a thread belongs to; 0 where that cannot be told.
pid_t ProcessOf(pid_t thread) {
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Tgid:")) return static_cast<pid_t>(std::strtol(&line[5], nullptr, 10));
  }
  return 0;
}

}  // namespace

bool VolumeFs::SameProcess(pid_t a, pid_t b) {
  if (a == b || a == 0 || b == 0) return true;
  const pid_t process_a = ProcessOf(a);
  const pid_t process_b = ProcessOf(b);
  return process_a == 0 || process_b == 0 || process_a == process_b;
}

ChunkId VolumeFs::DocumentId(const StagedInode::Document& document) {
  // No chunk tree has this ordinal.
  return {~std::uint32_t{0},
          {StableInode(JoinPath(document.directory, document.name)), 0, 0},
          ChunkPart::kPlain};
}

std::optional<ChunkId> VolumeFs::WriterId(const StagedInode& staged) {
  const StagedInode::Purpose purpose = staged.purpose();
  if (const auto* chunk = std::get_if<StagedInode::Chunk>(&purpose)) {
    return ChunkId::Of(*chunk->tree, chunk->chunk);
  }
  if (const auto* document = std::get_if<StagedInode::Document>(&purpose)) {
    return DocumentId(*document);
  }
  return std::nullopt;
}

// The chunk that a node stands for, and whether it is the version that readers are shown.
std::optional<VolumeFs::SeenChunk> VolumeFs::ChunkOf(NodeId node, const TablePtr& table) const {
  SeenChunk seen;
  if (const auto grid = UnpackGridNode(node)) {
    seen.tree = parts_.datasets->TreeAt(grid->ordinal);
    if (!seen.tree) return std::nullopt;
    const ChunkTree::Match match = seen.tree->AtPosition(grid->position);
    if (match.kind != ChunkTree::Match::Kind::kChunk) return std::nullopt;
    seen.chunk = match.chunk;
    seen.version = parts_.written->Find(ChunkId::Of(*seen.tree, seen.chunk));
    seen.current = !seen.version || (seen.version->first && !seen.version->removed);
    return seen;
  }
  if (!table) return std::nullopt;
  if (const auto* chunk = std::get_if<ChunkTarget>(&table->target)) {
    seen = {chunk->tree, chunk->chunk};
    seen.version = parts_.written->Find(ChunkId::Of(*seen.tree, seen.chunk));
    seen.current = !seen.version;
    return seen;
  }
  if (const auto* written = std::get_if<WrittenTarget>(&table->target)) {
    seen = {written->version->tree, written->version->chunk};
    seen.version = parts_.written->Find(ChunkId::Of(*seen.tree, seen.chunk));
    seen.current = seen.version == written->version;
    return seen;
  }
  return std::nullopt;
}

std::shared_ptr<StagedInode> VolumeFs::StagedAt(NodeId node, const TablePtr& table) const {
  if (table) {
    if (const auto* staged = std::get_if<StagedTarget>(&table->target)) return staged->staged;
  }
  auto staged = open_versions_.StagedAt(node);
  if (!staged || open_versions_.IsTaken(node) || staged->opens() != 0) return staged;
  // A chunk that was created at this node, and is what readers are shown by now.
  const auto id = WriterId(*staged);
  return id && writers_.IsWriter(*id, staged) ? staged : nullptr;
}

std::uint64_t VolumeFs::InodeOfChunk(const std::shared_ptr<ChunkTree>& tree,
                                     const ChunkRef& chunk) const {
  const WrittenVersionPtr version = parts_.written->Find(ChunkId::Of(*tree, chunk));
  if (version && version->inode != 0) return version->inode;
  return InodeOf(*tree, {ChunkTree::Match::Kind::kChunk, {}, chunk});
}

// Who comes to the same node twice has no name to look up: waits until nobody else has the node.
Result<OpenFilePtr> VolumeFs::Open(NodeId id, const OpenRequest& request) {
  const TablePtr table = UnpackGridNode(id) ? nullptr : nodes_.Get(id);
  const bool last = CameWithoutName(id, request, table);
  auto file = OpenOnce(id, request, table);
  for (int i = 0; i < kLastTries && last && !file && IsLookAgain(file.error()); ++i) {
    if (!RequestEpoch::Outside([&] { return open_versions_.AwaitFree(id); })) break;
    file = OpenOnce(id, request, table);
  }
  return file;
}

bool VolumeFs::CameWithoutName(NodeId node, const OpenRequest& request,
                               const TablePtr& table) const {
  const auto seen = request.write ? ChunkOf(node, table) : std::nullopt;
  return seen && writers_.WasSentAway(request.thread, ChunkId::Of(*seen->tree, seen->chunk), node);
}

Result<OpenFilePtr> VolumeFs::OpenOnce(NodeId id, const OpenRequest& request,
                                       const TablePtr& table) {
  if (const auto staged = StagedAt(id, table)) {
    if (!open_versions_.IsTaken(id)) return OpenStaged(id, staged, request);
    const auto* document = table ? std::get_if<DocumentTarget>(&table->target) : nullptr;
    const auto seen = ChunkOf(id, table);
    if (document != nullptr) {
      const ChunkId of = DocumentId({ParentPath(document->path), BaseName(document->path)});
      return OpenTaken(id, of, staged, request);
    }
    if (!seen) return LookAgain();
    const bool taken = !staged->ended() || !CameWithoutName(id, request, table);
    if (taken) return OpenTaken(id, ChunkId::Of(*seen->tree, seen->chunk), staged, request);
  }
  if (const auto seen = ChunkOf(id, table)) {
    // Its metadata say otherwise now: what stands under the name is to be found by that.
    if (seen->tree->retired()) return LookAgain();
    return OpenChunk(id, *seen, request, table);
  }
  if (!table) return tl::unexpected<Error>(StaleNode());
  if (std::holds_alternative<LiveFileTarget>(table->target)) return OpenLive(*table, request);
  if (const auto* document = std::get_if<DocumentTarget>(&table->target)) {
    return OpenDocument(*table, *document, request);
  }
  return Fail(ErrorCode::kInvalidArgument, "not a file");
}

// From now on each look-up of this chunk leads to a node that nobody else is given.
tl::unexpected<Error> VolumeFs::SendAway(const ChunkId& id, NodeId node,
                                         const OpenRequest& request) {
  choice_.SendAway(id);
  if (request.write) writers_.SendAway(request.thread, id, node);
  return LookAgain();
}

// A node that a writer has taken over after it was looked up. Who writes to the same version shares
// it; everybody else is led to another one.
Result<OpenFilePtr> VolumeFs::OpenTaken(NodeId node, const ChunkId& id,
                                        const std::shared_ptr<StagedInode>& staged,
                                        const OpenRequest& request) {
  if (!request.write || request.truncate || staged->ended()) return SendAway(id, node, request);
  auto file = OpenStaged(node, staged, request);
  if (!file && IsLookAgain(file.error())) return SendAway(id, node, request);
  return file;
}

Result<OpenFilePtr> VolumeFs::OpenChunk(NodeId node, const SeenChunk& seen,
                                        const OpenRequest& request, const TablePtr& table) {
  const ChunkId id = ChunkId::Of(*seen.tree, seen.chunk);
  if (request.write) return OpenForWriting(node, seen, request, table);
  auto file = std::make_unique<OpenFile>();
  file->node = node;
  file->opener = request.thread;
  UNSHARD_ASSIGN_OR_RETURN(file->content, ContentAt(node, seen, table));
  if (!file->content || (writable() && !CountOpen(*file))) return SendAway(id, node, request);
  return file;
}

namespace {

// Nodes that are remembered by the kernel lead to the past once another version is committed.
NodeUse UseOf(const TableNode* node) {
  if (node == nullptr) return NodeUse::kCached;
  if (const auto* chunk = std::get_if<ChunkTarget>(&node->target)) return chunk->use;
  if (const auto* written = std::get_if<WrittenTarget>(&node->target)) return written->use;
  return NodeUse::kCached;
}

}  // namespace

// What who opens this node for reading is given:
//   1. what the node holds;
//   2. nothing, where the kernel may remember the name and another version has been committed;
//   3. the written version that the node stands for, as long as its bytes are there;
//   4. the chunk of the generation that the node stands for.
// Null: the name is to be looked up again.
Result<ContentPtr> VolumeFs::ContentAt(NodeId node, const SeenChunk& seen, const TablePtr& table) {
  const auto* written = table ? std::get_if<WrittenTarget>(&table->target) : nullptr;
  if (written != nullptr && written->gzipped) return written->gzipped;
  if (table) {
    const std::lock_guard lock(table->mutex);
    if (auto held = table->held.lock()) return held;
  }
  const bool remembered = UseOf(table.get()) == NodeUse::kCached;
  if (remembered && !seen.current) return nullptr;
  const auto grid = UnpackGridNode(node);
  if (written != nullptr || (grid && seen.version)) {
    auto content = writes_->ContentOf(written != nullptr ? written->version : seen.version);
    if (!content && content.error().code == ErrorCode::kConflict) return nullptr;
    return content;
  }
  const std::uint32_t count =
      grid ? grid->generation_count : std::get<ChunkTarget>(table->target).generation_count;
  const auto generation = seen.tree->shards().Find(seen.chunk.slot.shard, count);
  if (!generation) return nullptr;
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, reader_.FindIn(*seen.tree, seen.chunk, generation));
  // The generation first, then once more whether a version was committed meanwhile.
  const bool later =
      remembered && parts_.written->Find(ChunkId::Of(*seen.tree, seen.chunk)) != nullptr;
  if (later || !facts) return nullptr;
  return MakeStoredContent(reader_, seen.tree, seen.chunk, *facts);
}

// An open for writing
//   1. joins the staged inode of another writer, unless it truncates;
//   2. takes the node over, where a look-up of the same open(2) has led there;
//   3. is answered with ESTALE otherwise. The kernel's second attempt is the last one: without
//      O_TRUNC a staged inode is reserved for it, which its look-up leads to, so that no writer
//      that comes in between is in the way; with O_TRUNC its look-up leads to a node that is its
//      own;
//   4. takes the node over at its second attempt, where it comes to a remembered node again and so
//      has no name to look up: it waits until nobody else has the node, and no writer the chunk.
Result<OpenFilePtr> VolumeFs::OpenForWriting(NodeId node, const SeenChunk& seen,
                                             const OpenRequest& request, const TablePtr& table) {
  const ChunkId id = ChunkId::Of(*seen.tree, seen.chunk);
  Place place;
  place.tree = seen.tree;
  place.chunk = seen.chunk;
  place.gzipped = seen.chunk.part == ChunkPart::kStored ||
                  (table && std::holds_alternative<WrittenTarget>(table->target) &&
                   std::get<WrittenTarget>(table->target).gzipped);
  choice_.Wrote(id);
  while (const auto staged = request.truncate ? nullptr : JoinableWriter(place)) {
    const bool last = request.thread == 0 || writers_.WasSentAway(request.thread, id);
    if (!last) return Join(id, staged, node, request);
    staged->LetGo();
    writers_.TakeRedirect(request.thread, staged);
    if (RequestEpoch::Outside([&] { return writers_.WaitForEnd(id, staged); })) continue;
    if (request.thread == 0) return BeingWritten();
    if (staged->Hold()) return Join(id, staged, node, request);
  }
  const bool nameless = CameWithoutName(node, request, table);
  const bool removed = seen.version && seen.version->removed;
  const bool only_written = !table && seen.version && seen.current && !seen.version->remembered;
  const bool remembered = UseOf(table.get()) == NodeUse::kCached && !only_written;
  const bool elsewhere =
      (remembered && !choice_.IsContended(id)) || open_versions_.Find(node).has_value();
  const bool led = !request.truncate && request.thread != 0 && !nameless;
  // Removed or renamed since a look-up that may be old: it is created by its name, or not at all.
  const bool gone = removed && remembered && !nameless;
  if (gone || (elsewhere && !led)) return SendAway(id, node, request);
  UNSHARD_ASSIGN_OR_RETURN(const auto staged, StageChunk(place, request.truncate));
  if (elsewhere) {
    choice_.SendAway(id);
    return Join(id, staged, node, request);
  }
  // Removed since this open(2) has looked it up: as on a disk, a file without a name.
  if (removed) staged->SetPurpose(StagedInode::Scratch{});
  auto file = TakeOver(node, id, staged, request);
  if (file && remembered && !removed) AwaitDrop(*seen.tree, seen.chunk);
  return file;
}

// Takes over the caller's hold on `staged`.
Result<OpenFilePtr> VolumeFs::TakeOver(NodeId node, const ChunkId& id,
                                       const std::shared_ptr<StagedInode>& staged,
                                       const OpenRequest& request) {
  if (!open_versions_.BeginWriting(node, staged, OpenVersions::Begin::kTakenOver)) {
    // Another writer has taken it over since the look-up.
    if (const auto other = open_versions_.StagedAt(node);
        other && !request.truncate && !other->ended()) {
      staged->LetGo();
      return OpenTaken(node, id, other, request);
    }
    staged->LetGo();
    return SendAway(id, node, request);
  }
  staged->SetNode(node);
  auto file = OpenStaged(node, staged, request);
  staged->LetGo();
  return file;
}

// Leads the thread to the node of `staged`, which counts as being written until it is there. Takes
// over the caller's hold.
tl::unexpected<Error> VolumeFs::Join(const ChunkId& id, const std::shared_ptr<StagedInode>& staged,
                                     NodeId node, const OpenRequest& request) {
  if (request.thread == 0) {
    staged->LetGo();
    return BeingWritten();
  }
  writers_.SendAway(request.thread, id, node);
  writers_.Redirect(request.thread, id, staged);
  return LookAgain();
}

// Held: who is writing the next version of this chunk under this name; null where nobody is.
std::shared_ptr<StagedInode> VolumeFs::JoinableWriter(const Place& place) {
  const auto latest = writers_.Latest(ChunkId::Of(*place.tree, place.chunk));
  if (!latest) return nullptr;
  const StagedInode::Purpose purpose = latest->purpose();
  const auto* chunk = std::get_if<StagedInode::Chunk>(&purpose);
  const bool same = chunk != nullptr && chunk->gzipped == place.gzipped;
  return same && latest->Hold() ? latest : nullptr;
}

// A new staged inode for a chunk, held.
Result<std::shared_ptr<StagedInode>> VolumeFs::StageChunk(const Place& place, bool truncate) {
  if (const Status writable = writes_->CanWrite(*place.tree); !writable) {
    return Fail(ErrorCode::kReadOnly, writable.error().message);
  }
  UNSHARD_RETURN_IF_ERROR(CanPublishInto(
      *parts_.files,
      JoinPath(place.tree->directory(), place.tree->shards().keys().Key(place.chunk.slot.shard))));
  if (BareNameIsRemembered(place)) DropBareName(*place.tree, place.chunk);
  UNSHARD_RETURN_IF_ERROR(AwaitRoom(1));
  // Who truncated it before has not written anything yet.
  const bool emptied = !truncate && writers_.IsEmptied(ChunkId::Of(*place.tree, place.chunk));
  ContentPtr base;
  if (!truncate && !emptied) {
    UNSHARD_ASSIGN_OR_RETURN(base, writes_->Current(place.tree, place.chunk));
  }
  if (base && place.gzipped) {
    UNSHARD_ASSIGN_OR_RETURN(Bytes bytes, ReadAll(*base, options_.memory_bytes / 8));
    UNSHARD_ASSIGN_OR_RETURN(bytes, place.tree->shards().format().EncodeEntry(std::move(bytes)));
    base = MakeBytesContent(std::move(bytes));
  }
  auto staged = std::make_shared<StagedInode>(
      writes_->spool(), StagedInode::Chunk{place.tree, place.chunk, place.gzipped}, base,
      InodeOfChunk(place.tree, place.chunk));
  UNSHARD_RETURN_IF_ERROR(Reserve(*staged));
  // Somebody truncates: a close that finds nothing written says so.
  if (truncate) staged->MarkTruncated();
  if (emptied) staged->StartOver();
  if (!staged->Hold()) return tl::unexpected<Error>(StaleNode());
  return staged;
}

Result<Entry> VolumeFs::MakeFile(NodeId parent, std::string_view name, pid_t thread) {
  UNSHARD_ASSIGN_OR_RETURN(const Place place, PlaceOf(parent, name));
  if (place.kind == Place::Kind::kChunk) {
    UNSHARD_RETURN_IF_ERROR(MustBeNew(place));
    return FailWith(EPERM, ErrorCode::kPermissionDenied,
                    place.path() +
                        ": mknod makes an empty file, and no chunk is empty: create it "
                        "with open and O_CREAT, and write it before it is closed");
  }
  OpenRequest request;
  request.write = true;
  request.exclusive = true;
  request.thread = thread;
  UNSHARD_ASSIGN_OR_RETURN(Created created, Create(parent, name, request));
  Release(std::move(created.file));
  return created.entry;
}

Result<OpenFilePtr> VolumeFs::OpenStaged(NodeId node, const std::shared_ptr<StagedInode>& staged,
                                         const OpenRequest& request) {
  if (request.write && !staged->ended()) UNSHARD_RETURN_IF_ERROR(Reserve(*staged));
  OpenFilePtr file = OpenOn(staged, node, request);
  if (!file) return LookAgain();
  // Also where the chunk was removed meanwhile: later look-ups are not to lead to this file.
  writers_.TakeRedirect(request.thread, staged);
  if (const auto id = WriterId(*staged); id && request.write) writers_.Arrive(request.thread, *id);
  if (request.truncate && staged->size() != 0) {
    if (const Status truncated = staged->Truncate(0); !truncated) {
      Release(std::move(file));
      return tl::unexpected<Error>(truncated.error());
    }
  }
  return file;
}

// Null where it has ended.
OpenFilePtr VolumeFs::OpenOn(const std::shared_ptr<StagedInode>& staged, NodeId node,
                             const OpenRequest& request) {
  auto file = std::make_unique<OpenFile>();
  file->node = node;
  file->writable = request.write;
  file->opener = request.thread;
  file->staged = staged;
  const std::lock_guard lock(staged->counting());
  const StagedInode::Opened opened = staged->Open(request.read, request.write);
  if (opened == StagedInode::Opened::kEnded) return nullptr;
  file->direct = opened == StagedInode::Opened::kDirect;
  if (!request.write) return file;
  if (const auto id = WriterId(*staged)) writers_.Enter(*id, staged);
  return file;
}

Result<OpenFilePtr> VolumeFs::OpenDocument(const TableNode& node, const DocumentTarget& document,
                                           const OpenRequest& request) {
  if (request.write && document.control) {
    return Fail(ErrorCode::kReadOnly, "control files are not written");
  }
  const ByteSpan text = AsBytes(*document.text);
  const ContentPtr content = MakeBytesContent(Bytes(ByteVector(text.begin(), text.end())));
  const StagedInode::Document purpose{ParentPath(document.path), BaseName(document.path)};
  const ChunkId id = DocumentId(purpose);
  if (request.write) {
    auto staged = writers_.Latest(id);
    if (staged && !request.truncate && staged->Hold()) return Join(id, staged, node.id, request);
    staged = std::make_shared<StagedInode>(writes_->spool(), purpose,
                                           request.truncate ? nullptr : content, node.inode);
    UNSHARD_RETURN_IF_ERROR(Reserve(*staged));
    if (!staged->Hold()) return tl::unexpected<Error>(StaleNode());
    return TakeOver(node.id, id, staged, request);
  }
  auto file = std::make_unique<OpenFile>();
  file->node = node.id;
  file->opener = request.thread;
  file->content = content;
  if (!document.control && !CountOpen(*file)) return SendAway(id, node.id, request);
  return file;
}

Result<FilePiece> VolumeFs::Read(const OpenFile& file, std::uint64_t offset, std::uint64_t size) {
  if (file.staged) return file.staged->Read(offset, size);
  if (file.content) return file.content->Read(offset, size);
  if (file.live->descriptor() >= 0) {
    UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file.live->Stat());
    const std::uint64_t begin = std::min(offset, status.size);
    ByteVector bytes(std::min(size, status.size - begin));
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t read, file.live->Read(begin, bytes));
    bytes.resize(read);
    return FilePiece(Bytes(std::move(bytes)));
  }
  return Fail(ErrorCode::kInternal, "a file without a descriptor");
}

Status VolumeFs::Write(OpenFile& file, std::uint64_t offset, ByteSpan bytes) {
  counters_.bytes_written.fetch_add(bytes.size(), std::memory_order_relaxed);
  if (file.staged && offset == kAppend) offset = file.staged->size();
  if (file.staged) file.staged->SetFlushed(file.flushed, false);
  if (file.live) {
    if (offset == kAppend) {
      UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, file.live->Stat());
      offset = status.size;
    }
    return file.live->Write(offset, bytes);
  }
  if (!file.staged) return Fail(ErrorCode::kInvalidArgument, "not open for writing");
  return WithRoom(bytes.size(), [&] { return file.staged->Write(offset, bytes); });
}

Status VolumeFs::Reserve(StagedInode& staged) {
  return WithRoom(0, [&] { return staged.Reserve(); });
}

// Nobody waits for the answer of a request that waits for room.
Status VolumeFs::AwaitRoom(std::uint64_t bytes) {
  return RequestEpoch::Outside([&] { return writes_->WaitForRoom(bytes); });
}

// Who fills the spool to its cap waits until something is published; others may take what room
// there is in between. Where the disk itself is full there is room, and waiting ends at once.
Status VolumeFs::WithRoom(std::uint64_t bytes, const std::function<Status()>& write) {
  Status written = write();
  for (int i = 0; i < kRoomTries && !written && ErrnoOf(written.error()) == ENOSPC; ++i) {
    if (const Status room = AwaitRoom(bytes); !room) {
      return ErrnoOf(room.error()) == EINTR ? room : written;
    }
    written = write();
  }
  return written;
}

Status VolumeFs::CommitStaged(StagedInode& staged, WrittenVersionPtr* version) {
  const StagedInode::Purpose purpose = staged.purpose();
  if (const auto* document = std::get_if<StagedInode::Document>(&purpose)) {
    const timespec modified = staged.modified();
    return staged.CommitWith(
        [&](StagedFile& bytes) { return CommitDocument(*document, bytes, modified); });
  }
  const auto* chunk = std::get_if<StagedInode::Chunk>(&purpose);
  if (chunk == nullptr) return {};
  ChunkWrites::Commit commit{chunk->tree, chunk->chunk, chunk->gzipped, staged.modified(),
                             staged.inode()};
  commit.pages_doubtful = UnpackGridNode(staged.node()) && staged.pages_doubtful();
  const auto committed = staged.CommitWith([&](StagedFile& bytes) -> Status {
    UNSHARD_ASSIGN_OR_RETURN(const WrittenVersionPtr sealed, writes_->CommitBytes(commit, bytes));
    if (version != nullptr) *version = sealed;
    return {};
  });
  if (committed) writers_.ForgetEmptied(ChunkId::Of(*chunk->tree, chunk->chunk));
  return committed;
}

Status VolumeFs::Flush(OpenFile& file, pid_t thread) {
  if (file.live && file.writable) return CompleteLive(file);
  if (!file.staged || !file.writable) return {};
  // A child that inherited the file has ended; who opened it may go on writing.
  if (!SameProcess(thread, file.opener)) return {};
  file.staged->SetFlushed(file.flushed, true);
  if (!file.staged->dirty()) return {};
  // A created file that is still empty is a shell's redirection: what it is for comes later.
  if (file.staged->size() == 0) return {};
  Status committed = CommitStaged(*file.staged, nullptr);
  // Who closes a file that others are still writing is not to blame for what they have not written
  // yet: the last of them is told.
  const bool unfinished = !committed && committed.error().code == ErrorCode::kInvalidArgument;
  if (unfinished && !file.staged->all_flushed()) return {};
  return committed;
}

Status VolumeFs::Sync(OpenFile& file) {
  if (file.live) return file.live->Sync();
  if (!file.staged) return {};
  if (!WriterId(*file.staged)) return file.staged->Sync();
  if (file.staged->dirty() && file.staged->size() != 0) {
    UNSHARD_RETURN_IF_ERROR(CommitStaged(*file.staged, nullptr));
  }
  const StagedInode::Purpose purpose = file.staged->purpose();
  const auto* chunk = std::get_if<StagedInode::Chunk>(&purpose);
  if (chunk == nullptr) return {};
  const WrittenVersionPtr version = parts_.written->Find(ChunkId::Of(*chunk->tree, chunk->chunk));
  return version ? writes_->Sync(version) : Status{};
}

// A mesh whose manifest announces no bytes of fragments has an empty file of them.
bool VolumeFs::MayBeEmpty(const StagedInode& staged) {
  const StagedInode::Purpose purpose = staged.purpose();
  const auto* chunk = std::get_if<StagedInode::Chunk>(&purpose);
  return chunk != nullptr && chunk->chunk.part == ChunkPart::kFragments;
}

void VolumeFs::Release(OpenFilePtr file) {
  if (file->counted) open_versions_.Closed(file->node);
  const std::shared_ptr<StagedInode> staged = std::move(file->staged);
  if (!staged) return;
  std::optional<ChunkId> id;
  bool last = false;
  {
    const std::lock_guard lock(staged->counting());
    id = WriterId(*staged);
    staged->SetFlushed(file->flushed, false);
    last = staged->Close(file->writable) == 0;
  }
  if (last && id && staged->dirty()) {
    Status committed;
    if (staged->size() == 0 && !MayBeEmpty(*staged)) {
      writers_.MarkEmptied(*id);
      committed = Fail(ErrorCode::kInvalidArgument, "closed while still empty");
    } else {
      committed = CommitStaged(*staged, nullptr);
    }
    if (!committed) {
      Error error = std::move(committed).error();
      if (UnpackGridNode(staged->node())) parts_.written->LeaveArithmeticNode(*id);
      const bool reported = file->refused == std::hash<std::string>()(error.message);
      error.message += "; what stood there before stays";
      if (!reported) Report("release", file->node, "", error);
    }
  }
  // Readers are sent to the version, and not to what becomes of this file, until here.
  if (id && file->writable) writers_.Leave(*id, staged);
  if (last) EndStaged(staged);
}

// The kernel looks the name of a staged inode up each time, and finds what has become of it. It is
// not told to drop the name: FUSE_NOTIFY_INVAL_ENTRY waits in the kernel for the lock of the
// directory, which a request to ourselves may hold; killed then, we would never end.
void VolumeFs::EndStaged(const std::shared_ptr<StagedInode>& staged) {
  const StagedInode::Purpose purpose = staged->purpose();
  const bool scratch = std::holds_alternative<StagedInode::Scratch>(purpose);
  if (scratch && open_versions_.StagedAt(staged->node()) != staged) return;
  if (scratch_.Links(staged) != 0) return;
  const bool dropped = staged->dirty();
  if (!staged->End()) return;
  // The kernel may have pages of what was dropped. Other nodes are forgotten soon.
  const bool spoilt = dropped && open_versions_.IsTaken(staged->node());
  const bool kept = spoilt || !UnpackGridNode(staged->node());
  using End = OpenVersions::End;
  open_versions_.EndWriting(staged->node(), staged, kept ? End::kStaysTaken : End::kGivenBack);
}

}  // namespace unshard
