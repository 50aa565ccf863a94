#include "fs/volume_fs.h"

#include <algorithm>

#include "fs/control_files.h"
#include "fs/request_failures.h"
#include "store/shard_lock.h"

namespace unshard {
namespace {

constexpr std::uint64_t kDay = std::uint64_t{86400} * 1000;
// A decoded chunk may take an eighth of the memory cap; several are under way at a time.
constexpr std::uint64_t kChunkShare = 8;

timespec Now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

Error StaleNode() {
  return Error{ErrorCode::kConflict, "the shard was replaced, and its old bytes are gone", 0};
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
  writes_->Replay();
}

Status VolumeFs::FlushAll() { return writes_ ? writes_->Flush() : Status{}; }

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
  if (options_.immutable || parts_.watcher->complete()) return kDay;
  return options_.ttl_milliseconds;
}

Entry VolumeFs::Missing() const { return Entry{0, {}, Timeout()}; }

timespec VolumeFs::ModifiedOf(const std::string& store_directory) const {
  const auto info = parts_.store->Stat(store_directory);
  return info && *info ? (*info)->modified : mounted_;
}

Result<Entry> VolumeFs::Lookup(NodeId parent, std::string_view name, pid_t thread) {
  if (const auto grid = UnpackGridNode(parent)) {
    const auto tree = parts_.datasets->TreeAt(grid->ordinal);
    if (!tree) return tl::unexpected<Error>(StaleNode());
    return LookupGrid(tree, tree->AtPosition(grid->position).directory, name, thread);
  }
  const TablePtr node = nodes_.Get(parent);
  if (!node) return tl::unexpected<Error>(StaleNode());
  if (const auto* directory = std::get_if<DirectoryTarget>(&node->target)) {
    return LookupInDirectory(*directory, name, thread);
  }
  if (const auto* in = std::get_if<GridDirectoryTarget>(&node->target)) {
    return LookupGrid(in->tree, in->directory, name, thread);
  }
  if (std::holds_alternative<ControlDirectoryTarget>(node->target)) return LookupControl(name);
  return Fail(ErrorCode::kInvalidArgument, "not a directory");
}

bool VolumeFs::IsHidden(const DirectoryOverlay& overlay, std::string_view name) {
  name = WithoutLockSuffix(name);
  return std::any_of(overlay.trees.begin(), overlay.trees.end(),
                     [&](const auto& tree) { return tree->IsShardKey(name); });
}

std::optional<Entry> VolumeFs::LookupScratch(const std::string& directory, std::string_view name) {
  if (!writable()) return std::nullopt;
  const auto staged = scratch_.Find(directory, name);
  if (!staged) return std::nullopt;
  return ReferStaged(staged);
}

Result<Entry> VolumeFs::LookupInDirectory(const DirectoryTarget& directory, std::string_view name,
                                          pid_t thread) {
  if (directory.path.empty() && name == kControlDirectory) {
    const TablePtr node = nodes_.Refer("control", "control", ControlDirectoryTarget{});
    return Entry{node->id, {node->inode, 0, mounted_, true}, kDay};
  }
  const std::string path = JoinPath(directory.path, name);
  if (writable() && name == kZarrDocument) {
    const ChunkId id = DocumentId({directory.path, std::string(name)});
    if (const auto staged = writers_.Redirected(thread, id)) return ReferStaged(staged);
  }
  const auto overlay = directory.opaque ? nullptr : parts_.datasets->Find(directory.path);
  if (!overlay) return LookupInSource(directory, path);
  if (overlay->fault) {
    UNSHARD_ASSIGN_OR_RETURN(const auto there, parts_.store->Stat(path));
    if (!there) return Missing();
    const bool damaged = overlay->fault->code == ErrorCode::kDataLoss;
    return Fail(damaged ? ErrorCode::kDataLoss : ErrorCode::kUnavailable, overlay->fault->message);
  }
  if (overlay->document && overlay->document->name == name) {
    parts_.watcher->Watch(directory.path);
    if (writable()) {
      const ChunkId id = DocumentId({directory.path, std::string(name)});
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
  return entry.node != 0 ? entry : missing;
}

Result<Entry> VolumeFs::LookupInSource(const DirectoryTarget& directory, const std::string& path) {
  parts_.watcher->Watch(directory.path);
  if (writable()) {
    UNSHARD_ASSIGN_OR_RETURN(const auto status, parts_.files->Stat(path));
    if (!status && MovedAway(directory.path)) return LookAgain();
    if (!status || status->kind == FileStatus::Kind::kOther) return Missing();
    if (status->kind == FileStatus::Kind::kFile) return ReferLiveFile(path, *status);
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto info, parts_.store->Stat(path));
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
  // Below "c" a directory of the grid and one of the store have nothing in common but their names.
  if (!tree->AlwaysExists(in)) return Missing();
  const std::string directory = tree->StoreDirectory(in);
  return LookupInSource({directory, true}, JoinPath(directory, name));
}

Result<Entry> VolumeFs::LookupInTree(const std::shared_ptr<ChunkTree>& tree,
                                     const ChunkTree::Match& match, pid_t thread) {
  if (match.kind == ChunkTree::Match::Kind::kDirectory) {
    return ReferGridDirectory(tree, match.directory);
  }
  auto entry = LookupChunk(tree, match, thread);
  // No open follows.
  const bool found = entry && entry->node != 0;
  if (writable() && !found) pins_.GiveUp(thread, ChunkId::Of(*tree, match.chunk));
  return entry;
}

Result<Entry> VolumeFs::LookupChunk(const std::shared_ptr<ChunkTree>& tree,
                                    const ChunkTree::Match& match, pid_t thread) {
  if (!writable()) return LookupLatest(tree, match.chunk, thread);
  if (const auto staged = writers_.Redirected(thread, ChunkId::Of(*tree, match.chunk))) {
    return ReferStaged(staged);
  }
  UNSHARD_ASSIGN_OR_RETURN(const Entry entry, LookupLatest(tree, match.chunk, thread));
  return entry.node == 0 ? entry : PromiseInstead(tree, match.chunk, thread, entry);
}

// What readers are shown.
Result<Entry> VolumeFs::LookupLatest(const std::shared_ptr<ChunkTree>& tree, const ChunkRef& chunk,
                                     pid_t thread) {
  bool short_lived = false;
  const ChunkId id = ChunkId::Of(*tree, chunk);
  if (writable()) {
    // Asked before the version: a writer that comes later makes the kernel look up again.
    short_lived = chunk.part != ChunkPart::kPlain || tree->is_mesh() || writers_.HasWriter(id);
    UNSHARD_ASSIGN_OR_RETURN(auto written, LookupWritten(id, chunk, thread));
    if (written) {
      if (short_lived) written->timeout_milliseconds = 0;
      return *written;
    }
  }
  attribute_demand_.ChunkLookedUp();
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, reader_.Find(*tree, chunk));
  if (!facts) return Entry{0, {}, short_lived ? 0 : Timeout()};
  Entry entry = ReferChunk(tree, chunk, *facts);
  if (writable() && pins_.Awaits(thread, id)) {
    pins_.Pin(thread, id, entry.node, MakeStoredContent(reader_, tree, chunk, *facts));
  }
  if (short_lived) entry.timeout_milliseconds = 0;
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
                           const ChunkFacts& facts) {
  Entry entry;
  entry.timeout_milliseconds = Timeout();
  entry.attributes.size = facts.size;
  entry.attributes.modified = ShownTime(*tree, chunk, *facts.generation);
  if (const auto position = tree->Position(chunk)) {
    const GridNode grid{tree->ordinal(), facts.generation->count, *position};
    if (const auto id = PackGridNode(grid)) {
      tree->shards().AddReference(facts.generation);
      entry.node = *id;
      entry.attributes.inode = GridInode(grid);
      return entry;
    }
  }
  const std::string path = JoinPath(tree->directory(), tree->Path(chunk));
  tree->shards().AddReference(facts.generation);
  const TablePtr node = nodes_.Refer(ChunkIdentity(*tree, chunk, *facts.generation), "k:" + path,
                                     ChunkTarget{tree, chunk, facts.generation->count});
  entry.node = node->id;
  entry.attributes.inode = node->inode;
  return entry;
}

Result<Entry> VolumeFs::ReferGridDirectory(const std::shared_ptr<ChunkTree>& tree,
                                           const GridDirectory& in) {
  const std::string store_directory = tree->StoreDirectory(in);
  Attributes attributes{0, 0, mounted_, true};
  if (!options_.immutable) parts_.watcher->Watch(ParentPath(store_directory));
  UNSHARD_ASSIGN_OR_RETURN(const auto modified, tree->Modified(in));
  if (writable()) {
    UNSHARD_ASSIGN_OR_RETURN(const bool exists, GridDirectoryExists(tree, in));
    if (!exists) return Missing();
  } else if (!modified && !tree->AlwaysExists(in) && options_.list != ListMode::kGrid) {
    return Missing();
  }
  if (modified) attributes.modified = *modified;
  attributes.inode = InodeOf(*tree, {ChunkTree::Match::Kind::kDirectory, in, {}});
  const auto position = tree->Position(in);
  const auto id = position ? PackGridNode({tree->ordinal(), 0, *position}) : std::nullopt;
  if (id) return Entry{*id, attributes, Timeout()};
  const std::string path = JoinPath(tree->directory(), tree->Path(in));
  const TablePtr node = nodes_.Refer("g:" + std::to_string(tree->ordinal()) + ':' + path,
                                     "k:" + path, GridDirectoryTarget{tree, in});
  return Entry{node->id, attributes, Timeout()};
}

Entry VolumeFs::ReferDirectory(const std::string& path, bool opaque, const ObjectInfo* info) {
  const TablePtr node = nodes_.Refer("d:" + path, "d:" + path, DirectoryTarget{path, opaque});
  return Entry{node->id,
               {node->inode, 0, info != nullptr ? info->modified : ModifiedOf(path), true},
               Timeout()};
}

Entry VolumeFs::ReferDocument(const std::string& path, const Document& document) {
  const std::string identity = "m:" + path + '\n' + document.source.generation.tag + '\n' +
                               std::to_string(std::hash<std::string>()(*document.text));
  const TablePtr node = nodes_.Refer(
      identity, "f:" + path, DocumentTarget{path, document.text, document.source.modified, false});
  // A document that may be written here is looked up anew each time.
  return Entry{node->id,
               {node->inode, document.text->size(), document.source.modified, false},
               writable() ? 0 : Timeout()};
}

Entry VolumeFs::ReferFile(const std::string& path, const ObjectInfo& info) {
  const TablePtr node =
      nodes_.Refer("f:" + path + '\n' + info.generation.tag, "f:" + path, FileTarget{path, info});
  return Entry{node->id, {node->inode, info.size, info.modified, false}, Timeout()};
}

Result<Entry> VolumeFs::LookupControl(std::string_view name) {
  const auto text = ControlFileText(*this, name);
  if (!text) return Entry{0, {}, kDay};
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
    return nodes_.Forget(node, references);
  }
  const auto tree = parts_.datasets->TreeAt(grid->ordinal);
  if (!tree) return;
  const ChunkTree::Match match = tree->AtPosition(grid->position);
  if (match.kind != ChunkTree::Match::Kind::kChunk) return;
  tree->shards().DropReferences(match.chunk.slot.shard, grid->generation_count, references);
}

Result<Entry> VolumeFs::GetAttributes(NodeId id) {
  auto now = AttributesNow(id);
  if (!writable()) return now;
  const auto shown = open_versions_.Find(id);
  if (!shown || (now && now->attributes.size == shown->size)) return now;
  return Entry{id, {shown->inode, shown->size, shown->modified, false}, Timeout()};
}

Result<Entry> VolumeFs::AttributesNow(NodeId id) {
  const auto grid = UnpackGridNode(id);
  if (!grid) {
    const TablePtr node = nodes_.Get(id);
    if (!node) return tl::unexpected<Error>(StaleNode());
    return AttributesOfTableNode(*node);
  }
  if (writable()) {
    if (const auto staged = StagedAt(id, nullptr)) return AttributesOfStaged(id, staged);
    const auto seen = ChunkOf(id, nullptr);
    if (seen && seen->version && seen->current) {
      return Entry{id,
                   {seen->version->inode != 0 ? seen->version->inode : GridInode(*grid),
                    seen->version->size, parts_.written->ModifiedOf(*seen->version), false},
                   Timeout()};
    }
  }
  const auto tree = parts_.datasets->TreeAt(grid->ordinal);
  if (!tree) return tl::unexpected<Error>(StaleNode());
  const ChunkTree::Match match = tree->AtPosition(grid->position);
  const std::uint64_t inode = GridInode(*grid);
  if (match.kind == ChunkTree::Match::Kind::kDirectory) {
    const timespec modified = ModifiedOf(tree->StoreDirectory(match.directory));
    return Entry{id, {inode, 0, modified, true}, Timeout()};
  }
  const auto generation = tree->shards().Find(match.chunk.slot.shard, grid->generation_count);
  if (!generation) return LookAgain();
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, reader_.FindIn(*tree, match.chunk, generation));
  if (!facts) return LookAgain();
  return Entry{
      id, {inode, facts->size, ShownTime(*tree, match.chunk, *generation), false}, Timeout()};
}

Result<Entry> VolumeFs::AttributesOfTableNode(const TableNode& node) {
  struct Visitor {
    VolumeFs& fs;
    const TableNode& node;
    Result<Entry> operator()(const DirectoryTarget& target) const {
      return Entry{node.id, {node.inode, 0, fs.ModifiedOf(target.path), true}, fs.Timeout()};
    }
    Result<Entry> operator()(const GridDirectoryTarget& target) const {
      const timespec modified = fs.ModifiedOf(target.tree->StoreDirectory(target.directory));
      return Entry{node.id, {node.inode, 0, modified, true}, fs.Timeout()};
    }
    Result<Entry> operator()(const FileTarget& target) const {
      return Entry{
          node.id, {node.inode, target.info.size, target.info.modified, false}, fs.Timeout()};
    }
    Result<Entry> operator()(const DocumentTarget& target) const {
      return Entry{node.id,
                   {node.inode, target.text->size(), target.modified, false, 1, target.control},
                   target.control ? 0 : fs.Timeout()};
    }
    Result<Entry> operator()(const ChunkTarget& target) const {
      const auto generation =
          target.tree->shards().Find(target.chunk.slot.shard, target.generation_count);
      if (!generation) return LookAgain();
      UNSHARD_ASSIGN_OR_RETURN(const auto facts,
                               fs.reader_.FindIn(*target.tree, target.chunk, generation));
      if (!facts) return LookAgain();
      const timespec modified = fs.ShownTime(*target.tree, target.chunk, *generation);
      return Entry{node.id, {node.inode, facts->size, modified, false}, fs.Timeout()};
    }
    Result<Entry> operator()(const WrittenTarget& target) const {
      const std::uint64_t size = target.gzipped ? target.gzipped->size() : target.version->size;
      return Entry{node.id,
                   {node.inode, size, fs.parts_.written->ModifiedOf(*target.version), false},
                   fs.Timeout()};
    }
    Result<Entry> operator()(const StagedTarget& target) const {
      return fs.AttributesOfStaged(node.id, target.staged);
    }
    Result<Entry> operator()(const PromisedTarget&) const {
      if (fs.BreaksPromise(node)) return LookAgain();
      const std::lock_guard lock(node.mutex);
      return fs.AttributesOfStaged(node.id, node.begun);
    }
    Result<Entry> operator()(const LiveFileTarget&) const { return fs.AttributesOfLiveFile(node); }
    Result<Entry> operator()(const ControlDirectoryTarget&) const {
      return Entry{node.id, {node.inode, 0, fs.mounted_, true}, kDay};
    }
  };
  return std::visit(Visitor{*this, node}, node.target);
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
  std::shared_ptr<ObjectHandle> handle;
  {
    const std::lock_guard lock(node.mutex);
    handle = node.handle;
  }
  if (!handle) {
    UNSHARD_ASSIGN_OR_RETURN(handle, parts_.store->Open(file->path));
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
  UNSHARD_ASSIGN_OR_RETURN(ReadResult read,
                           handle->Read(RangeRequest::At(range.begin, range.size)));
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
    std::string operator()(const PromisedTarget& target) const {
      return JoinPath(target.tree->directory(), target.tree->Path(target.chunk));
    }
    std::string operator()(const StagedTarget& target) const {
      const StagedInode::Purpose purpose = target.staged->purpose();
      if (const auto* chunk = std::get_if<StagedInode::Chunk>(&purpose)) {
        return JoinPath(chunk->tree->directory(), chunk->tree->Path(chunk->chunk));
      }
      if (const auto* document = std::get_if<StagedInode::Document>(&purpose)) {
        return JoinPath(document->directory, document->name);
      }
      return "(scratch)";
    }
    std::string operator()(const LiveFileTarget& target) const { return target.path; }
  };
  return std::visit(Visitor{}, node->target);
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
