// Nodes of chunks that were written through a mount, or are being written.
#include <algorithm>

#include "fs/common/request_failures.h"
#include "fs/volume_fs.h"

namespace unshard {

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
  const std::size_t own = StagedFiles::WriterId(*staged) ? 1 : 0;
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
  const auto generation = tree->shards().Current(chunk.slot.shard, CallerDeadline());
  if (!position || !generation) return std::nullopt;
  const GridNode grid{tree->ordinal(), (*generation)->count, *position};
  const auto id = PackGridNode(grid);
  if (!id) return std::nullopt;
  tree->shards().AddReference(*generation);
  return Entry{*id, {GridInode(grid), 0, {}, false}, 0};
}

// Takes back the reference that ReferArithmetic has added.
void VolumeFs::DropArithmetic(NodeId node) {
  const auto grid = UnpackGridNode(node);
  const auto tree = grid ? parts_.datasets->TreeAt(grid->ordinal) : nullptr;
  if (!tree) return;
  const ChunkTree::Match match = tree->AtPosition(grid->position);
  tree->shards().DropReferences(match.chunk.slot.shard, grid->generation_count, 1);
}

Result<Entry> VolumeFs::ReferWritten(const WrittenVersionPtr& version, const ChunkRef& chunk,
                                     NodeUse use) {
  const std::shared_ptr<ChunkTree>& tree = version->tree;
  Attributes attributes{InodeOfChunk(tree, chunk), version->size,
                        parts_.written->ModifiedOf(*version), false};
  const std::string number = std::to_string(version->number);
  if (chunk.part == ChunkPart::kStored) {
    UNSHARD_ASSIGN_OR_RETURN(const ContentPtr plain, writes_->ContentOf(version));
    if (!plain) return tl::unexpected<Error>(StaleNode());
    UNSHARD_ASSIGN_OR_RETURN(Bytes bytes, ReadAll(*plain, options_.memory_bytes / 8));
    UNSHARD_ASSIGN_OR_RETURN(bytes, tree->shards().format().EncodeEntry(std::move(bytes)));
    const ContentPtr gzipped = MakeBytesContent(std::move(bytes));
    attributes.size = gzipped->size();
    return ReferFree("z:" + number, use, attributes, [&](NodeUse as) {
      return WrittenTarget{version, gzipped, as};
    });
  }
  // Nobody has other bytes of it, and nobody has remembered it as long as the array is written.
  const bool revalidated = use == NodeUse::kRevalidated && !version->remembered;
  if (version->first && (use == NodeUse::kCached || revalidated) &&
      !writers_.HasWriter(ChunkId::Of(*tree, chunk))) {
    if (const auto entry = ReferArithmetic(tree, chunk)) {
      if (version->inode == 0) attributes.inode = entry->attributes.inode;
      if (!open_versions_.IsTaken(entry->node)) {
        if (!revalidated) version->remembered = true;
        return Entry{entry->node, attributes, revalidated ? 0 : Timeout(), nullptr, {}, Timeout()};
      }
      DropArithmetic(entry->node);
    }
  }
  if (use == NodeUse::kCached) version->remembered = true;
  return ReferFree("w:" + number, use, attributes, [&](NodeUse as) {
    return WrittenTarget{version, nullptr, as};
  });
}

// Whether the kernel may have a dentry of this name that it does not look up before it uses it: of
// a version that was looked up while nobody wrote to the array. Names with ".gz" never have a time
// to live.
bool VolumeFs::MayBeRemembered(const Place& chunk) const {
  if (chunk.gzipped) return false;
  // Written under "<name>.gz", it has a name that was looked up before.
  if (chunk.tree->TakesGzipNames()) return true;
  const WrittenVersionPtr version = parts_.written->Find(ChunkId::Of(*chunk.tree, chunk.chunk));
  return !version || version->remembered;
}

// What a look-up is answered with where a version was written here; nothing where the store has the
// say. A node of its own is answered with only while the bytes are there, and keeps them.
Result<std::optional<Entry>> VolumeFs::LookupWritten(const ChunkId& id, const ChunkRef& chunk,
                                                     NodeUse use) {
  constexpr int kTries = 8;
  for (int i = 1;; ++i) {
    const WrittenVersionPtr version = parts_.written->Find(id);
    if (!version) return std::nullopt;
    if (version->removed) return Entry{};
    ContentPtr content;
    // The node of "<name>.gz" holds its bytes by itself.
    if (chunk.part != ChunkPart::kStored && use == NodeUse::kOwn) {
      auto found = writes_->ContentOf(version);
      // The bytes are those of this version as long as there is no later one.
      const bool later = parts_.written->Find(id) != version;
      if (later && i < kTries) continue;
      if (!later && found && *found && (*found)->size() == version->size) {
        content = *std::move(found);
      }
    }
    UNSHARD_ASSIGN_OR_RETURN(const Entry entry, ReferWritten(version, chunk, use));
    if (const TablePtr node = content ? nodes_.Get(entry.node) : nullptr) {
      const std::lock_guard lock(node->mutex);
      node->held = content;
      choice_.Hold(std::move(content));
    }
    return entry;
  }
}

// A chunk without a committed version has a name while it is being written, so that unlink(2)
// reaches us: who cleans up removes what he writes. It ends with the last close, whose RELEASE may
// still be on its way.
std::optional<Entry> VolumeFs::LookupUncommitted(const std::shared_ptr<ChunkTree>& tree,
                                                 const ChunkRef& chunk) {
  if (!writable()) return std::nullopt;
  for (const auto& staged : writers_.All(ChunkId::Of(*tree, chunk))) {
    const StagedInode::Purpose purpose = staged->purpose();
    const auto* creates = std::get_if<StagedInode::Chunk>(&purpose);
    const bool gzipped = chunk.part == ChunkPart::kStored;
    if (creates == nullptr || creates->gzipped != gzipped || staged->all_flushed()) continue;
    const Attributes attributes = AttributesOfStaged(0, staged).attributes;
    const std::string identity = "n:" + JoinPath(tree->directory(), tree->Path(chunk));
    Entry entry = ReferFree(identity, NodeUse::kOwn, attributes, [&](NodeUse) {
      return UncommittedTarget{staged, tree, chunk};
    });
    entry.attributes_milliseconds = 0;
    return entry;
  }
  return std::nullopt;
}

// Before a chunk is written or removed under its name with ".gz": whether the kernel may have a
// dentry of the other name that it does not look up before it uses it. Of an absent chunk it never
// has (LookupLatest), and from now on of no chunk of the array.
bool VolumeFs::BareNameIsRemembered(const Place& place) {
  if (!place.gzipped) return false;
  const ChunkId id = ChunkId::Of(*place.tree, place.chunk);
  choice_.Wrote(id);
  if (const WrittenVersionPtr version = parts_.written->Find(id)) return version->remembered;
  const auto facts = reader_.Find(*place.tree, {place.chunk.slot, ChunkPart::kPlain});
  return !facts || *facts;
}

// A chunk was written under the name with ".gz". Where a reader keeps the version before open, the
// kernel's node of the other name has to keep that version's attributes: GETATTR does not say
// whether it is for fstat(2) or stat(2). So it is this name that has to go.
void VolumeFs::DropBareName(const ChunkTree& tree, const ChunkRef& chunk) {
  const ChunkRef bare{chunk.slot, ChunkPart::kPlain};
  const auto parent = KnownNode(tree, tree.Parent(bare));
  if (parent && writing_.drop_entry) writing_.drop_entry(*parent, BaseName(tree.Path(bare)));
}

// A writer without a name has taken over the node that the kernel's dentry leads to: it would show
// the bytes that he writes, and later readers that come with O_PATH would get ESTALE. OPEN holds no
// lock of the directory, so that FUSE_NOTIFY_INVAL_ENTRY does not wait for ourselves; all the same
// the wait has an end.
void VolumeFs::AwaitDrop(const ChunkTree& tree, const ChunkRef& chunk) {
  const auto parent = KnownNode(tree, tree.Parent(chunk));
  if (!parent || !writing_.drop_entry || !writing_.await_drop) return;
  const std::string name = BaseName(tree.Path(chunk));
  writing_.drop_entry(*parent, name);
  RequestEpoch::Outside([&] { writing_.await_drop(*parent, name); });
}

}  // namespace unshard
