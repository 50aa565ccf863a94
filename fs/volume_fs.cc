#include "fs/volume_fs.h"

#include <algorithm>

#include "fs/common/request_failures.h"
#include "fs/control_files.h"
#include "store/local/shard_lock.h"

namespace unshard {
namespace {

// A decoded chunk may take an eighth of the memory cap; several are under way at a time.
constexpr std::uint64_t kChunkShare = 8;

timespec Now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

std::string ChunkIdentity(const ChunkTree& tree, const ChunkRef& chunk,
                          const ShardGeneration& generation) {
  return "k:" + std::to_string(tree.ordinal()) + ':' + std::to_string(generation.shard) + ':' +
         std::to_string(generation.count) + ':' + std::to_string(chunk.slot.page) + ':' +
         std::to_string(chunk.slot.slot) + ':' + std::to_string(static_cast<int>(chunk.part));
}

}  // namespace

VolumeFs::VolumeFs(Parts parts, const MountOptions& options)
    : parts_(std::move(parts)),
      options_(options),
      mounted_(Now()),
      reader_(parts_.decoded, options.memory_bytes / kChunkShare, counters_) {}

// Trees and what is written into them know each other.
VolumeFs::~VolumeFs() {
  writes_.reset();
  for (const auto& tree : parts_.datasets->trees()) tree->SetUnpublished(nullptr);
}

void VolumeFs::StartWriting(Writing writing) {
  writing_ = std::move(writing);
  ChunkWrites::Parts parts;
  parts.source = parts_.files;
  parts.datasets = parts_.datasets;
  parts.written = parts_.written;
  parts.spools = writing_.spools;
  parts.spool_path = writing_.paths.front();
  parts.reader = &reader_;
  parts.on_renewed = writing_.look_again;
  writes_ = std::make_unique<ChunkWrites>(std::move(parts), options_);
  documents_ = std::make_unique<MetadataDocuments>(*parts_.store, *parts_.files, *parts_.datasets,
                                                   *writes_, writing_.look_again);
  staged_files_ = std::make_unique<StagedFiles>(StagedFiles::Parts{
      *writes_, *parts_.written, writers_, open_versions_, scratch_,
      [this](const auto& document, StagedFile& bytes, const timespec& modified) {
        return documents_->Commit(document, bytes, modified);
      },
      [this](NodeId node, const Error& error) { Report("release", node, "", error); }});
  writes_->Replay();
}

Status VolumeFs::FlushAll() { return writes_ ? writes_->Flush() : Status{}; }

void VolumeFs::End() {
  if (writes_) writes_->End();
}

std::optional<WriteStatus> VolumeFs::write_status() const {
  if (!writes_) return std::nullopt;
  return writes_->status();
}

// What somebody has set, else that of the shard.
timespec VolumeFs::ShownTime(const ChunkTree& tree, const ChunkRef& chunk,
                             const ShardGeneration& generation) const {
  if (!writes_) return generation.modified;
  const std::lock_guard lock(times_mutex_);
  if (times_.empty()) return generation.modified;
  const auto found = times_.find(JoinPath(tree.directory(), tree.Path(chunk)));
  if (found == times_.end() || found->second.generation_count != generation.count) {
    return generation.modified;
  }
  return found->second.modified;
}

std::uint64_t VolumeFs::Timeout() const {
  if (options_.immutable || parts_.watcher->complete()) return kDayMilliseconds;
  return options_.ttl_milliseconds;
}

Entry VolumeFs::Missing() const { return Entry{0, {}, Timeout()}; }

// Of a directory of the source. FUSE_NOTIFY_INVAL_ENTRY waits in the kernel for the lock of the
// directory that the name is in, which a request to ourselves may hold; so on a writable mount, all
// changes of which come back to us as events of the watcher, no name of the source is dropped:
// names of files, and those that are absent, have no time to live, those of directories a short
// one.
std::uint64_t VolumeFs::NameTimeout() const {
  return writable() ? std::min(Timeout(), options_.ttl_milliseconds) : Timeout();
}

timespec VolumeFs::ModifiedOf(const std::string& store_directory) const {
  const auto info = parts_.store->Stat(store_directory, CallerDeadline());
  return info && *info ? (*info)->modified : mounted_;
}

Result<Entry> VolumeFs::Lookup(NodeId parent, std::string_view name, pid_t thread) {
  UNSHARD_RETURN_IF_ERROR(CheckName(name));
  if (const auto grid = UnpackGridNode(parent)) {
    const auto tree = parts_.datasets->TreeAt(grid->ordinal);
    if (!tree) return tl::unexpected<Error>(StaleNode());
    if (tree->retired()) return LookAgain();
    return LookupGrid(tree, tree->AtPosition(grid->position).directory, name, thread);
  }
  const std::uint64_t moves = directory_moves_.Count();
  const TablePtr node = nodes_.Get(parent);
  if (!node) return tl::unexpected<Error>(StaleNode());
  if (const auto* directory = std::get_if<DirectoryTarget>(&node->target)) {
    auto entry = LookupInDirectory(*directory, name, thread);
    if (entry && !directory_moves_.NoneSince(moves)) entry->timeout_milliseconds = 0;
    return entry;
  }
  if (const auto* in = std::get_if<GridDirectoryTarget>(&node->target)) {
    if (in->tree->retired()) return LookAgain();
    return LookupGrid(in->tree, in->directory, name, thread);
  }
  if (const auto* scratch = std::get_if<ScratchDirectoryTarget>(&node->target)) {
    const auto path = scratch_.PathOf(*scratch->directory);
    return (path ? LookupScratch(*path, name) : std::nullopt).value_or(Missing());
  }
  if (std::holds_alternative<ControlDirectoryTarget>(node->target)) return LookupControl(name);
  return Fail(ErrorCode::kInvalidArgument, "not a directory");
}

bool VolumeFs::IsHidden(const DirectoryOverlay& overlay, std::string_view name) {
  name = WithoutLockSuffix(name);
  return std::any_of(overlay.trees.begin(), overlay.trees.end(),
                     [&](const auto& tree) { return tree->IsShardKey(name); });
}

// A shard, or its lock, among the other names of the directory "c" in which an array of one
// dimension has its chunks.
bool VolumeFs::IsHidden(const ChunkTree& tree, const GridDirectory& in, std::string_view name) {
  return tree.IsShardKey(JoinPath(tree.Path(in), WithoutLockSuffix(name)));
}

std::optional<Entry> VolumeFs::LookupScratch(const std::string& directory, std::string_view name) {
  if (!writable()) return std::nullopt;
  const ScratchFiles::Found found = scratch_.Find(directory, name);
  if (found.directory) return ReferScratchDirectory(found.directory);
  if (!found.file) return std::nullopt;
  return ReferStaged(found.file);
}

Result<Entry> VolumeFs::LookupInDirectory(const DirectoryTarget& directory, std::string_view name,
                                          pid_t thread) {
  if (directory.path.empty() && name == kControlDirectory) {
    const TablePtr node = nodes_.Refer("control", "control", ControlDirectoryTarget{});
    return Entry{node->id, {node->inode, 0, mounted_, true}, kDayMilliseconds};
  }
  const std::string path = JoinPath(directory.path, name);
  if (writable() && IsDocumentName(name)) {
    const ChunkId id = StagedFiles::DocumentId({directory.path, std::string(name)});
    if (const auto staged = writers_.Redirected(thread, id)) return ReferStaged(staged);
  }
  const auto overlay = directory.opaque ? nullptr : parts_.datasets->Find(directory.path);
  if (!overlay) return LookupInSource(directory, path);
  if (overlay->fault) {
    UNSHARD_ASSIGN_OR_RETURN(const auto there, parts_.store->Stat(path, CallerDeadline()));
    if (!there) return Missing();
    const bool damaged = overlay->fault->code == ErrorCode::kDataLoss;
    return Fail(damaged ? ErrorCode::kDataLoss : ErrorCode::kUnavailable, overlay->fault->message);
  }
  if (overlay->document && overlay->document->name == name) {
    parts_.watcher->Watch(directory.path);
    if (writable()) {
      const ChunkId id = StagedFiles::DocumentId({directory.path, std::string(name)});
      if (const auto staged = writers_.Redirected(thread, id)) return ReferStaged(staged);
    }
    return ReferDocument(path, *overlay->document);
  }
  bool shaped_like_chunk = false;
  Entry missing = Missing();
  for (const auto& tree : overlay->trees) {
    const ChunkTree::Match match = tree->Resolve({}, name);
    if (match.kind == ChunkTree::Match::Kind::kOther) continue;
    shaped_like_chunk = true;
    if (match.kind == ChunkTree::Match::Kind::kNoChunk) continue;
    UNSHARD_ASSIGN_OR_RETURN(const Entry entry, LookupInTree(tree, match, thread));
    if (entry.node != 0) return entry;
    // A chunk that is being written is missing for a moment only.
    missing.timeout_milliseconds =
        std::min(missing.timeout_milliseconds, entry.timeout_milliseconds);
  }
  if (const auto scratch = LookupScratch(directory.path, name)) return *scratch;
  if (shaped_like_chunk && !overlay->holds_plain_chunks) return missing;
  if (IsHidden(*overlay, name)) return Missing();
  if (overlay->virtual_children.contains(std::string(name))) {
    parts_.watcher->Watch(directory.path);
    return ReferDirectory(path, false, nullptr);
  }
  UNSHARD_ASSIGN_OR_RETURN(const Entry entry,
                           LookupInSource({directory.path, overlay->opaque}, path));
  if (entry.node != 0) return entry;
  missing.timeout_milliseconds = std::min(missing.timeout_milliseconds, entry.timeout_milliseconds);
  return missing;
}

Result<Entry> VolumeFs::LookupInSource(const DirectoryTarget& directory, const std::string& path) {
  parts_.watcher->Watch(directory.path);
  if (writable()) {
    UNSHARD_ASSIGN_OR_RETURN(const auto status, parts_.files->Stat(path));
    if (!status || status->kind == FileStatus::Kind::kOther) return Entry{0, {}, 0};
    if (status->kind == FileStatus::Kind::kFile) return ReferLiveFile(path, *status);
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto info, parts_.store->Stat(path, CallerDeadline()));
  if (!info || info->kind == ObjectInfo::Kind::kOther) return Missing();
  if (info->kind == ObjectInfo::Kind::kDirectory) {
    return ReferDirectory(path, directory.opaque, &*info);
  }
  return ReferFile(path, *info);
}

Result<Entry> VolumeFs::LookupGrid(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in,
                                   std::string_view name, pid_t thread) {
  const ChunkTree::Match match = tree->Resolve(in, name);
  switch (match.kind) {
    case ChunkTree::Match::Kind::kNoChunk:
      return Missing();
    case ChunkTree::Match::Kind::kChunk:
    case ChunkTree::Match::Kind::kDirectory:
      return LookupInTree(tree, match, thread);
    case ChunkTree::Match::Kind::kOther:
      break;
  }
  if (const auto scratch = LookupScratch(PathOfDirectory(tree, in), name)) return *scratch;
  if (!tree->IsStoreDirectory(in) || IsHidden(*tree, in, name)) return Missing();
  const std::string directory = tree->StoreDirectory(in);
  return LookupInSource({directory, true}, JoinPath(directory, name));
}

Result<Entry> VolumeFs::LookupInTree(const std::shared_ptr<ChunkTree>& tree,
                                     const ChunkTree::Match& match, pid_t thread) {
  if (match.kind == ChunkTree::Match::Kind::kDirectory) {
    return ReferGridDirectory(tree, match.directory);
  }
  if (writable()) {
    const ChunkId id = ChunkId::Of(*tree, match.chunk);
    const auto staged = writers_.Redirected(thread, id);
    if (staged && StagedFiles::WriterId(*staged) == id) return ReferStaged(staged);
    // The chunk was removed, or renamed, since the thread was sent to look its name up.
    if (staged) writers_.TakeRedirect(thread, staged);
  }
  return LookupLatest(tree, match.chunk);
}

// What readers are shown.
Result<Entry> VolumeFs::LookupLatest(const std::shared_ptr<ChunkTree>& tree,
                                     const ChunkRef& chunk) {
  NodeUse use = NodeUse::kCached;
  std::uint64_t absence = Timeout();
  if (writable()) {
    const ChunkId id = ChunkId::Of(*tree, chunk);
    use = choice_.UseFor(id);
    // Such a chunk can come by its other name, of which the kernel knows nothing.
    if (tree->TakesGzipNames()) absence = 0;
    // Asked before the version: a writer that comes later makes the kernel look up again.
    if (chunk.part != ChunkPart::kPlain || tree->is_mesh() || writers_.HasWriter(id)) {
      absence = 0;
      if (use == NodeUse::kCached) use = NodeUse::kRevalidated;
    }
    UNSHARD_ASSIGN_OR_RETURN(const auto written, LookupWritten(id, chunk, use));
    if (written && written->node != 0) return *written;
    if (written) return LookupUncommitted(tree, chunk).value_or(Entry{0, {}, absence});
  }
  attribute_demand_.ChunkLookedUp();
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, reader_.Find(*tree, chunk));
  if (!facts) return LookupUncommitted(tree, chunk).value_or(Entry{0, {}, absence});
  Entry entry = ReferChunk(tree, chunk, *facts, use);
  if (!tree->shards().format().is_wrapped() && reader_.ExpectsRead()) {
    entry.next_object = facts->generation->object;
    entry.next_range = facts->stored;
  }
  return entry;
}

std::uint64_t VolumeFs::InodeOf(const ChunkTree& tree, const ChunkTree::Match& match) const {
  const bool directory = match.kind == ChunkTree::Match::Kind::kDirectory;
  const auto position = directory ? tree.Position(match.directory) : tree.Position(match.chunk);
  if (position && PackGridNode({tree.ordinal(), 0, *position})) {
    return GridInode({tree.ordinal(), 0, *position});
  }
  const std::string path = directory ? tree.Path(match.directory) : tree.Path(match.chunk);
  return StableInode("k:" + JoinPath(tree.directory(), path));
}

Entry VolumeFs::ReferChunk(const std::shared_ptr<ChunkTree>& tree, const ChunkRef& chunk,
                           const ChunkFacts& facts, NodeUse use) {
  Attributes attributes;
  attributes.inode = InodeOf(*tree, {ChunkTree::Match::Kind::kChunk, {}, chunk});
  attributes.size = facts.size;
  attributes.modified = ShownTime(*tree, chunk, *facts.generation);
  tree->shards().AddReference(facts.generation);
  if (const auto position = tree->Position(chunk); position && use == NodeUse::kCached) {
    const auto id = PackGridNode({tree->ordinal(), facts.generation->count, *position});
    if (id && !open_versions_.IsTaken(*id)) return Entry{*id, attributes, Timeout()};
  }
  return ReferFree(ChunkIdentity(*tree, chunk, *facts.generation), use, attributes,
                   [&](NodeUse as) {
                     return ChunkTarget{tree, chunk, facts.generation->count, as};
                   });
}

// A node of this identity that no writer has taken over; `attributes` name its st_ino.
Entry VolumeFs::ReferFree(const std::string& identity, NodeUse use, const Attributes& attributes,
                          const MakeTarget& target) {
  std::string name = identity;
  if (use == NodeUse::kOwn) name += '#' + std::to_string(++own_nodes_);
  for (int i = 0;; ++i) {
    if (use == NodeUse::kRevalidated) name = identity + '+' + std::to_string(i);
    const TablePtr node = nodes_.Refer(name, attributes.inode, target(use));
    if (open_versions_.IsTaken(node->id)) {
      nodes_.Forget(node->id, 1);
      use = NodeUse::kRevalidated;
      continue;
    }
    Entry entry{node->id, attributes, Timeout()};
    if (use == NodeUse::kCached) return entry;
    // The attributes are as old as the name, which is looked up each time.
    entry.timeout_milliseconds = 0;
    entry.attributes_milliseconds = Timeout();
    return entry;
  }
}

Result<Entry> VolumeFs::ReferGridDirectory(const std::shared_ptr<ChunkTree>& tree,
                                           const GridDirectory& in) {
  const std::string store_directory = tree->StoreDirectory(in);
  Attributes attributes{0, 0, mounted_, true};
  if (!options_.immutable) parts_.watcher->Watch(ParentPath(store_directory));
  UNSHARD_ASSIGN_OR_RETURN(const auto modified, tree->Modified(in));
  if (modified) attributes.modified = *modified;
  attributes.inode = InodeOf(*tree, {ChunkTree::Match::Kind::kDirectory, in, {}});
  const auto position = tree->Position(in);
  const std::string path = JoinPath(tree->directory(), tree->Path(in));
  auto id = position ? PackGridNode({tree->ordinal(), 0, *position}) : std::nullopt;
  if (!id) {
    id = nodes_
             .Refer("g:" + std::to_string(tree->ordinal()) + ':' + path, "k:" + path,
                    GridDirectoryTarget{tree, in})
             ->id;
  }
  Entry entry{*id, attributes, Timeout()};
  entry.generation = removed_.GenerationOf(path);
  return entry;
}

// A document that may be written here is looked up anew each time.
Entry VolumeFs::ReferDocument(const std::string& path, const Document& document) {
  NodeUse use = NodeUse::kCached;
  if (writable()) {
    use = std::max(NodeUse::kRevalidated,
                   choice_.UseFor(StagedFiles::DocumentId({ParentPath(path), BaseName(path)})));
  }
  const std::string identity = "m:" + path + '\n' + document.source.generation.tag + '\n' +
                               std::to_string(std::hash<std::string>()(*document.text));
  Entry entry =
      ReferFree(identity, use,
                {LastInode("f:" + path), document.text->size(), document.source.modified, false},
                [&](NodeUse) {
                  return DocumentTarget{path, document.text, document.source.modified, false};
                });
  if (writable()) entry.attributes_milliseconds = 0;
  return entry;
}

Entry VolumeFs::ReferFile(const std::string& path, const ObjectInfo& info) {
  const TablePtr node =
      nodes_.Refer("f:" + path + '\n' + info.generation.tag, "f:" + path, FileTarget{path, info});
  return Entry{node->id, {node->inode, info.size, info.modified, false}, Timeout()};
}

Result<Entry> VolumeFs::LookupControl(std::string_view name) {
  const auto text = ControlFileText(*this, name);
  if (!text) return Entry{0, {}, kDayMilliseconds};
  const std::string path = std::string(kControlDirectory) + '/' + std::string(name);
  const std::string identity = "s:" + std::to_string(next_snapshot_.fetch_add(1));
  const TablePtr node =
      nodes_.Refer(identity, path,
                   DocumentTarget{path, std::make_shared<const std::string>(*text), Now(), true});
  return Entry{node->id, {node->inode, text->size(), Now(), false, 1, true}, 0};
}

void VolumeFs::Forget(NodeId node, std::uint64_t references) {
  const auto grid = UnpackGridNode(node);
  if (!grid) {
    const TablePtr table = nodes_.Get(node);
    if (const auto* chunk = table ? std::get_if<ChunkTarget>(&table->target) : nullptr) {
      chunk->tree->shards().DropReferences(chunk->chunk.slot.shard, chunk->generation_count,
                                           references);
    }
    nodes_.Forget(node, references);
    if (table && writable() && !nodes_.Get(node)) open_versions_.Forget(node);
    return;
  }
  const auto tree = parts_.datasets->TreeAt(grid->ordinal);
  if (!tree) return;
  const ChunkTree::Match match = tree->AtPosition(grid->position);
  if (match.kind != ChunkTree::Match::Kind::kChunk) return;
  tree->shards().DropReferences(match.chunk.slot.shard, grid->generation_count, references);
}

Result<FilePiece> VolumeFs::Read(NodeId id, std::uint64_t offset, std::uint64_t size) {
  const auto grid = UnpackGridNode(id);
  if (!grid) {
    const TablePtr node = nodes_.Get(id);
    if (!node) return tl::unexpected<Error>(StaleNode());
    return ReadTableNode(*node, offset, size);
  }
  const auto tree = parts_.datasets->TreeAt(grid->ordinal);
  if (!tree) return tl::unexpected<Error>(StaleNode());
  const ChunkTree::Match match = tree->AtPosition(grid->position);
  const auto generation = tree->shards().Find(match.chunk.slot.shard, grid->generation_count);
  if (!generation) return tl::unexpected<Error>(StaleNode());
  return reader_.Read(*tree, match.chunk, generation, offset, size);
}

Result<FilePiece> VolumeFs::ReadTableNode(const TableNode& node, std::uint64_t offset,
                                          std::uint64_t size) {
  if (const auto* chunk = std::get_if<ChunkTarget>(&node.target)) {
    const auto generation =
        chunk->tree->shards().Find(chunk->chunk.slot.shard, chunk->generation_count);
    if (!generation) return tl::unexpected<Error>(StaleNode());
    return reader_.Read(*chunk->tree, chunk->chunk, generation, offset, size);
  }
  if (const auto* document = std::get_if<DocumentTarget>(&node.target)) {
    const std::string_view text = *document->text;
    const ByteSpan piece = AsBytes(text.substr(std::min<std::uint64_t>(offset, text.size()), size));
    return FilePiece(Bytes(ByteVector(piece.begin(), piece.end())));
  }
  const auto* file = std::get_if<FileTarget>(&node.target);
  if (file == nullptr) return Fail(ErrorCode::kInvalidArgument, "not a file");
  std::shared_ptr<ObjectVersion> handle;
  {
    const std::lock_guard lock(node.mutex);
    handle = node.handle;
  }
  if (!handle) {
    UNSHARD_ASSIGN_OR_RETURN(
        auto opened, parts_.store->Open(file->path, RangeRequest::At(0, 0), CallerDeadline()));
    handle = std::move(opened.version);
    // Nothing of this node has been read yet, so any version of the announced size is whole.
    if (!handle || handle->info().size != file->info.size) {
      return tl::unexpected<Error>(StaleNode());
    }
    const std::lock_guard lock(node.mutex);
    node.handle = handle;
  }
  const std::uint64_t begin = std::min(offset, file->info.size);
  const ByteRange range{begin, std::min(size, file->info.size - begin)};
  if (range.size == 0) return FilePiece(Bytes());
  if (auto slice = handle->Slice(range)) return FilePiece(*std::move(slice));
  UNSHARD_ASSIGN_OR_RETURN(
      ReadResult read, handle->Read(RangeRequest::At(range.begin, range.size), CallerDeadline()));
  if (read.state != ReadResult::State::kFound) return tl::unexpected<Error>(StaleNode());
  return FilePiece(std::move(read.value));
}

std::string VolumeFs::PathOf(NodeId id) const {
  if (const auto grid = UnpackGridNode(id)) {
    const auto tree = parts_.datasets->TreeAt(grid->ordinal);
    if (!tree) return {};
    const ChunkTree::Match match = tree->AtPosition(grid->position);
    return JoinPath(tree->directory(), match.kind == ChunkTree::Match::Kind::kDirectory
                                           ? tree->Path(match.directory)
                                           : tree->Path(match.chunk));
  }
  const TablePtr node = nodes_.Get(id);
  if (!node) return {};
  struct Visitor {
    const ScratchFiles& scratch;
    std::string operator()(const DirectoryTarget& target) const { return target.path; }
    std::string operator()(const GridDirectoryTarget& target) const {
      return JoinPath(target.tree->directory(), target.tree->Path(target.directory));
    }
    std::string operator()(const FileTarget& target) const { return target.path; }
    std::string operator()(const DocumentTarget& target) const { return target.path; }
    std::string operator()(const ChunkTarget& target) const {
      return JoinPath(target.tree->directory(), target.tree->Path(target.chunk));
    }
    std::string operator()(const ControlDirectoryTarget&) const {
      return std::string(kControlDirectory);
    }
    std::string operator()(const WrittenTarget& target) const {
      return JoinPath(target.version->tree->directory(),
                      target.version->tree->Path(target.version->chunk));
    }
    std::string operator()(const StagedTarget& target) const {
      const StagedInode::Purpose purpose = target.staged->purpose();
      if (const auto* chunk = std::get_if<StagedInode::Chunk>(&purpose)) {
        return JoinPath(chunk->tree->directory(), chunk->tree->Path(chunk->chunk));
      }
      if (const auto* document = std::get_if<StagedInode::Document>(&purpose)) {
        return JoinPath(document->directory, document->name);
      }
      return scratch.PathOf(*target.staged).value_or("(a scratch file without a name)");
    }
    std::string operator()(const UncommittedTarget& target) const {
      return JoinPath(target.tree->directory(), target.tree->Path(target.chunk));
    }
    std::string operator()(const LiveFileTarget& target) const { return target.path; }
    std::string operator()(const ScratchDirectoryTarget& target) const {
      return scratch.PathOf(*target.directory).value_or("(a removed scratch directory)");
    }
  };
  return std::visit(Visitor{scratch_}, node->target);
}

bool VolumeFs::IsControl(NodeId id) const {
  if (UnpackGridNode(id)) return false;
  const TablePtr node = nodes_.Get(id);
  if (!node) return false;
  if (std::holds_alternative<ControlDirectoryTarget>(node->target)) return true;
  const auto* document = std::get_if<DocumentTarget>(&node->target);
  return document != nullptr && document->control;
}

void VolumeFs::Report(std::string_view operation, NodeId node, std::string_view name,
                      const Error& error) {
  counters_.errors.fetch_add(1, std::memory_order_relaxed);
  errors_.Add(operation, JoinPath(PathOf(node), name), error);
}

}  // namespace unshard
