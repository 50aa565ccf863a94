// Open files of a writable mount: reading one version, writing the next one.
#include <algorithm>
#include <cerrno>
#include <fstream>

#include "codec/shard/metadata_merge.h"
#include "fs/common/request_failures.h"
#include "fs/volume_fs.h"
#include "store/object/log.h"

namespace unshard {
namespace {

tl::unexpected<Error> BeingWritten() {
  return FailWith(EBUSY, ErrorCode::kUnavailable,
                  "is being written, and an open from another pid name space than the mount's, or "
                  "through /proc/self/fd, cannot be led to the file of its writer: write it with "
                  "O_TRUNC, or once it is closed");
}

// Attempts of an open that the kernel does not repeat.
constexpr int kLastTries = 64;

}  // namespace

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
  if (const auto* uncommitted = std::get_if<UncommittedTarget>(&table->target)) {
    return SeenChunk{uncommitted->tree, uncommitted->chunk};
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
  const auto id = StagedFiles::WriterId(*staged);
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
      const ChunkId of =
          StagedFiles::DocumentId({ParentPath(document->path), BaseName(document->path)});
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
  UNSHARD_ASSIGN_OR_RETURN(ContentPtr content, ContentAt(node, seen, table));
  if (!content || (writable() && !CountOpen(node, *content))) return SendAway(id, node, request);
  OpenVersions* const counted_in = writable() ? &open_versions_ : nullptr;
  return std::make_unique<OpenContent>(node, request, std::move(content), counted_in);
}

namespace {

// Nodes that are remembered by the kernel lead to the past once another version is committed.
NodeUse UseOf(const TableNode* node) {
  if (node == nullptr) return NodeUse::kCached;
  if (const auto* chunk = std::get_if<ChunkTarget>(&node->target)) return chunk->use;
  if (const auto* written = std::get_if<WrittenTarget>(&node->target)) return written->use;
  if (std::holds_alternative<UncommittedTarget>(node->target)) return NodeUse::kOwn;
  return NodeUse::kCached;
}

}  // namespace

// What who opens this node for reading is given:
//   1. what the node holds;
//   2. nothing, where the kernel may remember the name and another version has been committed;
//   3. ENOENT, where the chunk was being created when it was looked up, and still is;
//   4. the written version that the node stands for, as long as its bytes are there;
//   5. the chunk of the generation that the node stands for.
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
  if (table && std::holds_alternative<UncommittedTarget>(table->target)) {
    UNSHARD_ASSIGN_OR_RETURN(const ContentPtr now, writes_->Current(seen.tree, seen.chunk));
    return now ? Result<ContentPtr>(nullptr) : NotCommitted();
  }
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
  UNSHARD_RETURN_IF_ERROR(writes_->replacer().CanReplace(
      JoinPath(place.tree->directory(), place.tree->shards().keys().Key(place.chunk.slot.shard))));
  if (BareNameIsRemembered(place)) DropBareName(*place.tree, place.chunk);
  UNSHARD_RETURN_IF_ERROR(staged_files_->AwaitRoom(1));
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
  UNSHARD_RETURN_IF_ERROR(staged_files_->Reserve(*staged));
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
  if (request.write && !staged->ended()) UNSHARD_RETURN_IF_ERROR(staged_files_->Reserve(*staged));
  OpenFilePtr file = staged_files_->Open(staged, node, request);
  if (!file) return LookAgain();
  // Also where the chunk was removed meanwhile: later look-ups are not to lead to this file.
  writers_.TakeRedirect(request.thread, staged);
  if (const auto id = StagedFiles::WriterId(*staged); id && request.write)
    writers_.Arrive(request.thread, *id);
  if (request.truncate && staged->size() != 0) {
    UNSHARD_RETURN_IF_ERROR(staged->Truncate(0));
  }
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
  const ChunkId id = StagedFiles::DocumentId(purpose);
  if (request.write) {
    auto staged = writers_.Latest(id);
    if (staged && !request.truncate && staged->Hold()) return Join(id, staged, node.id, request);
    staged = std::make_shared<StagedInode>(writes_->spool(), purpose,
                                           request.truncate ? nullptr : content, node.inode);
    UNSHARD_RETURN_IF_ERROR(staged_files_->Reserve(*staged));
    if (!staged->Hold()) return tl::unexpected<Error>(StaleNode());
    return TakeOver(node.id, id, staged, request);
  }
  const bool counted = !document.control;
  if (counted && !CountOpen(node.id, *content)) return SendAway(id, node.id, request);
  return std::make_unique<OpenContent>(node.id, request, content,
                                       counted ? &open_versions_ : nullptr);
}

}  // namespace unshard
