// Open files of a writable mount: reading one version, writing the next one.
#include <algorithm>
#include <cerrno>
#include <fstream>

#include "codec/metadata_merge.h"
#include "fs/request_failures.h"
#include "fs/volume_fs.h"
#include "store/log.h"

namespace unshard {
namespace {

// Writers that compete for the same room come to it in turn.
constexpr int kRoomTries = 64;

Error StaleNode() {
  return Error{ErrorCode::kConflict, "another version stands under this name now", 0};
}

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
  constexpr int kMostMoves = 100;
  auto seen = ChunkLookedUpAs(node, table);
  for (int i = 0; i < kMostMoves && seen && seen->version && seen->version->moved_to; ++i) {
    seen->chunk = *seen->version->moved_to;
    seen->version = parts_.written->Find(ChunkId::Of(*seen->tree, seen->chunk));
    seen->current = false;
    seen->moved = true;
  }
  return seen;
}

std::optional<VolumeFs::SeenChunk> VolumeFs::ChunkLookedUpAs(NodeId node,
                                                             const TablePtr& table) const {
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
  if (const auto* promised = std::get_if<PromisedTarget>(&table->target)) {
    seen = {promised->tree, promised->chunk};
    seen.version = parts_.written->Find(ChunkId::Of(*seen.tree, seen.chunk));
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
    const std::lock_guard lock(table->mutex);
    return table->begun;
  }
  const auto seen = ChunkOf(node, table);
  if (!seen) return nullptr;
  return writers_.AtNode(ChunkId::Of(*seen->tree, seen->chunk), node);
}

std::uint64_t VolumeFs::InodeOfChunk(const std::shared_ptr<ChunkTree>& tree,
                                     const ChunkRef& chunk) const {
  const WrittenVersionPtr version = parts_.written->Find(ChunkId::Of(*tree, chunk));
  if (version && version->inode != 0) return version->inode;
  return InodeOf(*tree, {ChunkTree::Match::Kind::kChunk, {}, chunk});
}

Entry VolumeFs::ReferStaged(const std::shared_ptr<StagedInode>& staged) {
  if (const auto grid = UnpackGridNode(staged->node())) {
    // Alive, because the kernel refers to it for whoever created the file.
    const auto tree = parts_.datasets->TreeAt(grid->ordinal);
    const ChunkTree::Match match = tree->AtPosition(grid->position);
    const auto generation = tree->shards().Find(match.chunk.slot.shard, grid->generation_count);
    if (generation) tree->shards().AddReference(generation);
  } else if (!nodes_.ReferAgain(staged->node())) {
    // A staged inode lives as long as somebody has it open or it has a name; its address is its
    // identity that long, and the node keeps it alive.
    const TablePtr node =
        nodes_.Refer("u:" + std::to_string(reinterpret_cast<std::uintptr_t>(staged.get())),
                     staged->inode(), StagedTarget{staged});
    staged->SetNode(node->id);
  }
  return AttributesOfStaged(staged->node(), staged);
}

// A scratch file that was linked onto a chunk's name has that name as well.
std::uint32_t VolumeFs::LinksOf(const std::shared_ptr<StagedInode>& staged) const {
  const std::size_t own = WriterId(*staged) ? 1 : 0;
  return static_cast<std::uint32_t>(std::max<std::size_t>(1, scratch_.Links(staged) + own));
}

Entry VolumeFs::AttributesOfStaged(NodeId node, const std::shared_ptr<StagedInode>& staged) const {
  Entry entry{
      node, {staged->inode(), staged->size(), staged->modified(), false, LinksOf(staged)}, 0};
  // All that changes them comes through the kernel, which keeps account of it; the name leads
  // elsewhere once it is committed.
  entry.attributes_milliseconds = Timeout();
  return entry;
}

// The arithmetic node of a chunk, where nobody has ever been shown other bytes under it.
std::optional<Entry> VolumeFs::ReferArithmetic(const std::shared_ptr<ChunkTree>& tree,
                                               const ChunkRef& chunk) {
  if (chunk.part != ChunkPart::kPlain) return std::nullopt;
  const auto position = tree->Position(chunk);
  const auto generation = tree->shards().Current(chunk.slot.shard);
  if (!position || !generation) return std::nullopt;
  const GridNode grid{tree->ordinal(), (*generation)->count, *position};
  const auto id = PackGridNode(grid);
  if (!id) return std::nullopt;
  tree->shards().AddReference(*generation);
  return Entry{*id, {GridInode(grid), 0, {}, false}, 0};
}

Result<Entry> VolumeFs::ReferWritten(const WrittenVersionPtr& version, const ChunkRef& chunk) {
  const std::shared_ptr<ChunkTree>& tree = version->tree;
  const timespec modified = parts_.written->ModifiedOf(*version);
  if (chunk.part == ChunkPart::kStored) {
    UNSHARD_ASSIGN_OR_RETURN(const ContentPtr plain, writes_->ContentOf(version));
    if (!plain) return tl::unexpected<Error>(StaleNode());
    UNSHARD_ASSIGN_OR_RETURN(Bytes bytes, ReadAll(*plain, options_.memory_bytes / 8));
    UNSHARD_ASSIGN_OR_RETURN(bytes, tree->shards().format().EncodeEntry(std::move(bytes)));
    const ContentPtr gzipped = MakeBytesContent(std::move(bytes));
    const TablePtr node = nodes_.Refer("z:" + std::to_string(version->number),
                                       InodeOfChunk(tree, chunk), WrittenTarget{version, gzipped});
    return Entry{node->id, {node->inode, gzipped->size(), modified, false}, 0};
  }
  const bool in_use = writers_.HasWriter(ChunkId::Of(*tree, chunk));
  if (version->first && !in_use) {
    if (auto entry = ReferArithmetic(tree, chunk)) {
      if (version->inode != 0) entry->attributes.inode = version->inode;
      entry->attributes.size = version->size;
      entry->attributes.modified = modified;
      entry->timeout_milliseconds = Timeout();
      return *entry;
    }
  }
  const TablePtr node = nodes_.Refer("w:" + std::to_string(version->number),
                                     InodeOfChunk(tree, chunk), WrittenTarget{version, nullptr});
  return Entry{node->id, {node->inode, version->size, modified, false}, Timeout()};
}

// What a look-up is answered with where a version was written here; nothing where the store has the
// say. Pins it for a reader that was sent away (fs/reader_pins.h).
Result<std::optional<Entry>> VolumeFs::LookupWritten(const ChunkId& id, const ChunkRef& chunk,
                                                     pid_t thread) {
  constexpr int kTries = 8;
  for (int i = 1;; ++i) {
    const WrittenVersionPtr version = parts_.written->Find(id);
    if (!version) return std::nullopt;
    if (version->removed) return Entry{0, {}, Timeout()};
    ContentPtr content;
    // The node of "<name>.gz" holds its bytes by itself.
    if (chunk.part != ChunkPart::kStored && pins_.Awaits(thread, id)) {
      auto found = writes_->ContentOf(version);
      // The bytes are those of this version as long as there is no later one.
      const bool later = parts_.written->Find(id) != version;
      if (later && i < kTries) continue;
      if (!later && found && *found && (*found)->size() == version->size) {
        content = *std::move(found);
      }
    }
    UNSHARD_ASSIGN_OR_RETURN(const Entry entry, ReferWritten(version, chunk));
    if (content) pins_.Pin(thread, id, entry.node, std::move(content));
    return entry;
  }
}

Result<OpenFilePtr> VolumeFs::Open(NodeId id, const OpenRequest& request) {
  const TablePtr table = UnpackGridNode(id) ? nullptr : nodes_.Get(id);
  if (const auto staged = StagedAt(id, table)) return OpenStaged(id, staged, request);
  if (const auto seen = ChunkOf(id, table)) {
    auto file = OpenChunk(id, *seen, request, table);
    if (writable() && file && (*file)->content) CountOpen(**file);
    return file;
  }
  if (!table) return tl::unexpected<Error>(StaleNode());
  if (std::holds_alternative<LiveFileTarget>(table->target)) return OpenLive(*table, request);
  if (const auto* document = std::get_if<DocumentTarget>(&table->target)) {
    return OpenDocument(*table, *document, request);
  }
  return Fail(ErrorCode::kInvalidArgument, "not a file");
}

Result<OpenFilePtr> VolumeFs::OpenChunk(NodeId node, const SeenChunk& seen,
                                        const OpenRequest& request, const TablePtr& table) {
  if (request.write) return OpenForWriting(seen, request, table);
  streaks_.End(request.thread);
  if (table && BreaksPromise(*table)) return LookAgain();
  auto file = std::make_unique<OpenFile>();
  file->node = node;
  file->opener = request.thread;
  if (table && std::holds_alternative<WrittenTarget>(table->target)) {
    file->content = std::get<WrittenTarget>(table->target).gzipped;
    if (file->content) return file;
  }
  const ChunkId id = ChunkId::Of(*seen.tree, seen.chunk);
  file->content = pins_.Take(request.thread, id, node);
  if (file->content) return file;
  const auto send_away = [&] {
    pins_.SendAway(request.thread, id);
    return LookAgain();
  };
  if (seen.version) {
    if (!seen.current) return send_away();
    auto content = writes_->ContentOf(seen.version);
    if (!content && content.error().code == ErrorCode::kConflict) return send_away();
    if (!content) return tl::unexpected<Error>(std::move(content).error());
    if (!*content) return send_away();
    file->content = *std::move(content);
    return file;
  }
  // The generation first, then once more whether a version was committed meanwhile.
  std::uint32_t count = 0;
  if (const auto grid = UnpackGridNode(node)) {
    count = grid->generation_count;
  } else {
    count = std::get<ChunkTarget>(table->target).generation_count;
  }
  const auto generation = seen.tree->shards().Find(seen.chunk.slot.shard, count);
  if (!generation) return send_away();
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, reader_.FindIn(*seen.tree, seen.chunk, generation));
  if (parts_.written->Find(id) || !facts) return send_away();
  file->content = MakeStoredContent(reader_, seen.tree, seen.chunk, *facts);
  return file;
}

Result<OpenFilePtr> VolumeFs::OpenForWriting(const SeenChunk& seen, const OpenRequest& request,
                                             const TablePtr& table) {
  Place place;
  place.tree = seen.tree;
  place.chunk = seen.chunk;
  place.gzipped = seen.chunk.part == ChunkPart::kStored ||
                  (table && std::holds_alternative<WrittenTarget>(table->target) &&
                   std::get<WrittenTarget>(table->target).gzipped);
  streaks_.Wrote(request.thread, ChunkId::Of(*seen.tree, seen.chunk));
  UNSHARD_ASSIGN_OR_RETURN(const auto staged, StageChunk(place, request.truncate));
  if (!table || !BeginPromised(*table, seen, request, staged)) {
    return Redirect(ChunkId::Of(*seen.tree, seen.chunk), staged, request.thread);
  }
  auto file = OpenStaged(table->id, staged, request);
  staged->LetGo();
  return file;
}

// Gives a new staged inode the promised node. False where it is no such node, or the kernel knows
// the staged inode, or a file of this size, under another one.
bool VolumeFs::BeginPromised(const TableNode& node, const SeenChunk& seen,
                             const OpenRequest& request,
                             const std::shared_ptr<StagedInode>& staged) {
  const auto* promised = std::get_if<PromisedTarget>(&node.target);
  if (promised == nullptr || seen.moved) return false;
  if (writers_.Latest(ChunkId::Of(*seen.tree, seen.chunk)) == staged) return false;
  if (!request.truncate && staged->size() != promised->size) return false;
  const std::lock_guard lock(node.mutex);
  if (node.begun) return false;
  node.begun = staged;
  staged->SetNode(node.id);
  return true;
}

// A node of its own in place of the one that everybody has, for who writes one chunk after the
// other (fs/write_streaks.h).
Entry VolumeFs::PromiseInstead(const std::shared_ptr<ChunkTree>& tree, const ChunkRef& chunk,
                               pid_t thread, const Entry& seen) {
  if (chunk.part != ChunkPart::kPlain || tree->is_mesh()) return seen;
  const auto number = streaks_.Promise(thread, ChunkId::Of(*tree, chunk));
  if (!number) return seen;
  const std::uint64_t size = seen.attributes.size;
  const TablePtr node =
      nodes_.Refer("p:" + std::to_string(*number) + ':' + std::to_string(size),
                   seen.attributes.inode, PromisedTarget{tree, chunk, size, thread});
  Forget(seen.node, 1);
  Entry entry{node->id, seen.attributes, 0};
  // They are as old as the name, which is looked up each time.
  entry.attributes_milliseconds = Timeout();
  return entry;
}

// True for a promised node that nobody has begun to write. What is asked for was not foreseen: the
// thread's next look-up leads where everybody's does.
bool VolumeFs::BreaksPromise(const TableNode& node) {
  const auto* promised = std::get_if<PromisedTarget>(&node.target);
  if (promised == nullptr) return false;
  {
    const std::lock_guard lock(node.mutex);
    if (node.begun) return false;
  }
  streaks_.End(promised->thread);
  return true;
}

// A staged inode for a chunk, held: one that is being written already, or a new one.
Result<std::shared_ptr<StagedInode>> VolumeFs::StageChunk(const Place& place, bool truncate) {
  if (const Status writable = ChunkWrites::CanWrite(*place.tree); !writable) {
    return Fail(ErrorCode::kReadOnly, writable.error().message);
  }
  // While it has a writer, what the kernel hears of the other name has no time to live.
  if (place.gzipped) DropBareName(*place.tree, place.chunk);
  const ChunkId id = ChunkId::Of(*place.tree, place.chunk);
  if (const auto latest = writers_.Latest(id); latest && !truncate) {
    const StagedInode::Purpose purpose = latest->purpose();
    const auto* chunk = std::get_if<StagedInode::Chunk>(&purpose);
    if (chunk != nullptr && chunk->gzipped == place.gzipped && latest->Hold()) return latest;
  }
  UNSHARD_RETURN_IF_ERROR(writes_->WaitForRoom());
  ContentPtr base;
  if (!truncate) {
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
  // Somebody truncates: a close that finds nothing written says so.
  if (truncate) staged->MarkTruncated();
  if (!staged->Hold()) return tl::unexpected<Error>(StaleNode());
  return staged;
}

tl::unexpected<Error> VolumeFs::Redirect(const ChunkId& id,
                                         const std::shared_ptr<StagedInode>& staged, pid_t thread) {
  writers_.Redirect(thread, id, staged);
  return LookAgain();
}

Result<OpenFilePtr> VolumeFs::OpenStaged(NodeId node, const std::shared_ptr<StagedInode>& staged,
                                         const OpenRequest& request) {
  OpenFilePtr file = OpenOn(staged, node, request);
  if (!file) return LookAgain();
  if (const auto id = WriterId(*staged)) writers_.TakeRedirect(request.thread, *id);
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
  if (request.write) {
    const StagedInode::Document purpose{ParentPath(document.path), BaseName(document.path)};
    const ChunkId id = DocumentId(purpose);
    auto staged = writers_.Latest(id);
    if (!staged || request.truncate || !staged->Hold()) {
      staged = std::make_shared<StagedInode>(writes_->spool(), purpose,
                                             request.truncate ? nullptr : content, node.inode);
      if (!staged->Hold()) return tl::unexpected<Error>(StaleNode());
    }
    return Redirect(id, staged, request.thread);
  }
  auto file = std::make_unique<OpenFile>();
  file->node = node.id;
  file->opener = request.thread;
  file->content = content;
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
  if (file.live) return file.live->Write(offset, bytes);
  if (!file.staged) return Fail(ErrorCode::kInvalidArgument, "not open for writing");
  return WithRoom(bytes.size(), [&] { return file.staged->Write(offset, bytes); });
}

// Who fills the spool to its cap waits until something is published; others may take what room
// there is in between. Where the disk itself is full there is room, and waiting ends at once.
Status VolumeFs::WithRoom(std::uint64_t bytes, const std::function<Status()>& write) {
  Status written = write();
  for (int i = 0; i < kRoomTries && !written && ErrnoOf(written.error()) == ENOSPC; ++i) {
    if (!writes_->WaitForRoom(bytes)) return written;
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
  return committed;
}

Status VolumeFs::Flush(OpenFile& file, pid_t thread) {
  if (file.live && file.writable) return CompleteLive(file);
  if (!file.staged || !file.writable || !file.staged->dirty()) return {};
  // A created file that is still empty is a shell's redirection: what it is for comes later.
  if (file.staged->size() == 0) return {};
  // A child that inherited the file has ended; who opened it may go on writing.
  if (!SameProcess(thread, file.opener)) return {};
  Status committed = CommitStaged(*file.staged, nullptr);
  // Who closes a file that others are still writing is not to blame for what they have not written
  // yet: the last of them is told.
  const bool unfinished = !committed && committed.error().code == ErrorCode::kInvalidArgument;
  if (unfinished && file.staged->writers() > 1) return {};
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

void VolumeFs::Release(OpenFilePtr file) {
  if (file->counted) open_versions_.Closed(file->node);
  const std::shared_ptr<StagedInode> staged = std::move(file->staged);
  if (!staged) return;
  std::optional<ChunkId> id;
  bool last = false;
  {
    const std::lock_guard lock(staged->counting());
    id = WriterId(*staged);
    last = staged->Close(file->writable) == 0;
  }
  if (last && id && staged->dirty()) {
    Status committed;
    if (staged->size() == 0) {
      committed = Fail(ErrorCode::kInvalidArgument, "closed while still empty");
    } else {
      committed = CommitStaged(*staged, nullptr);
    }
    if (!committed) {
      Error error = std::move(committed).error();
      if (UnpackGridNode(staged->node())) parts_.written->LeaveArithmeticNode(*id);
      error.message += "; what stood there before stays";
      Report("release", file->node, "", error);
    }
  }
  // Readers are sent to the version, and not to what becomes of this file, until here.
  if (id && file->writable) writers_.Leave(*id, staged);
  if (last) EndStaged(staged);
}

// A chunk is written under the name with ".gz", and the kernel may know that there is none.
void VolumeFs::DropBareName(const ChunkTree& tree, const ChunkRef& chunk) {
  const ChunkRef bare{chunk.slot, ChunkPart::kPlain};
  const auto parent = KnownNode(tree, tree.Parent(bare));
  if (parent && writing_.drop_entry) writing_.drop_entry(*parent, BaseName(tree.Path(bare)));
}

// The kernel keeps names for as long as it likes; those of a staged inode that has become a chunk
// lead to the past.
void VolumeFs::EndStaged(const std::shared_ptr<StagedInode>& staged) {
  const StagedInode::Purpose purpose = staged->purpose();
  const auto* chunk = std::get_if<StagedInode::Chunk>(&purpose);
  if (std::holds_alternative<StagedInode::Scratch>(purpose)) return;
  if (chunk != nullptr && chunk->gzipped) DropBareName(*chunk->tree, chunk->chunk);
  if (scratch_.Links(staged) != 0) return;
  if (!staged->End()) return;
  const bool arithmetic = UnpackGridNode(staged->node()).has_value();
  if (chunk == nullptr || arithmetic || !writing_.drop_entry) return;
  if (const auto parent = KnownNode(*chunk->tree, chunk->tree->Parent(chunk->chunk))) {
    std::string name = BaseName(chunk->tree->Path(chunk->chunk));
    if (chunk->gzipped && !name.ends_with(".gz")) name += ".gz";
    writing_.drop_entry(*parent, name);
  }
}

}  // namespace unshard
