#include "fs/tree/chunk_lookup.h"

#include "fs/common/request_failures.h"
#include "fs/tree/away_store.h"
#include "fs/tree/chunk_opening.h"
#include "fs/tree/free_node.h"
#include "fs/tree/staged_node.h"
#include "fs/tree/stored_chunk.h"
#include "fs/tree/superblock.h"
#include "fs/tree/written_chunk.h"

namespace unshard {
namespace {

// Other writers may commit a chunk while it is looked up, each time.
constexpr int kTries = 64;

// Each view of a version has a node of its own.
std::string IdentityOf(const ChunkTree& tree, const WrittenVersion& version) {
  return std::to_string(version.number) + ':' + std::to_string(tree.ordinal());
}

// The entry of "<chunk>.gz" of a written version.
Result<Entry> ReferGzipped(Superblock& sb, const WrittenChunk::Written& written, NodeUse use,
                           Attributes attributes) {
  const auto& [tree, chunk, version, size] = written;
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr plain,
                           sb.writes->current().ContentIn(tree, chunk, version));
  if (!plain) return tl::unexpected<Error>(StaleNode());
  UNSHARD_ASSIGN_OR_RETURN(ContentPtr gzipped, EncodedContent(sb, *tree, *plain));
  // For as long as the kernel remembers the name.
  UNSHARD_ASSIGN_OR_RETURN(gzipped, sb.held_contents->Keep(std::move(gzipped)));
  attributes.size = gzipped->size();
  return ReferFreeNode(
      sb, "z:" + IdentityOf(*tree, *version), use, attributes, [&](NodeId id, NodeUse as) {
        return std::make_shared<WrittenChunk>(sb, id, attributes.inode, written, gzipped, as);
      });
}

// The arithmetic node of a chunk's first version: the kernel has no pages of other bytes at it, and
// no dentry with a time to live from while the array was written. Nothing where another node must
// be used.
std::optional<Entry> ReferFirstVersion(Superblock& sb, const WrittenChunk::Written& written,
                                       NodeUse use, const Attributes& attributes) {
  const auto& [tree, chunk, version, size] = written;
  const bool revalidated = use == NodeUse::kRevalidated && !version->remembered;
  if (!version->first || (use != NodeUse::kCached && !revalidated)) return std::nullopt;
  if (sb.writers.HasWriter(ChunkId::Of(*tree, chunk))) return std::nullopt;
  auto entry = ReferArithmetic(tree, chunk);
  if (!entry) return std::nullopt;
  if (sb.open_versions.IsWriters(entry->node)) {
    sb.Forget(entry->node, 1);
    return std::nullopt;
  }
  if (!revalidated) version->remembered = true;
  const std::uint64_t own = entry->attributes.inode;
  entry->attributes = attributes;
  if (version->inode == 0) entry->attributes.inode = own;
  entry->timeout_milliseconds = revalidated ? 0 : sb.Timeout();
  entry->attributes_milliseconds = sb.Timeout();
  return entry;
}

Result<Entry> ReferWritten(Superblock& sb, const WrittenChunk::Written& written, NodeUse use) {
  const auto& [tree, chunk, version, size] = written;
  const Attributes attributes{InodeOfChunk(sb, *tree, chunk), size,
                              sb.parts.written->ModifiedOf(*version), false};
  if (chunk.part == ChunkPart::kStored) return ReferGzipped(sb, written, use, attributes);
  if (const auto entry = ReferFirstVersion(sb, written, use, attributes)) return *entry;
  if (use == NodeUse::kCached) version->remembered = true;
  return ReferFreeNode(
      sb, "w:" + IdentityOf(*tree, *version), use, attributes, [&](NodeId id, NodeUse as) {
        return std::make_shared<WrittenChunk>(sb, id, attributes.inode, written, nullptr, as);
      });
}

// The entry of a version that was written through this mount; nothing where the store has the
// latest one.
Result<std::optional<Entry>> LookupWritten(Superblock& sb, const std::shared_ptr<ChunkTree>& tree,
                                           const ChunkRef& chunk, NodeUse use) {
  const ChunkId id = ChunkId::Of(*tree, chunk);
  for (int i = 0; i < kTries; ++i) {
    const WrittenVersionPtr version = sb.parts.written->Find(id);
    if (!version) return std::nullopt;
    const auto size =
        sb.writes->current().SizeIn(tree, chunk.With(WrittenPart(chunk.part)), version);
    // A later version was committed meanwhile.
    if (!size && size.error().code == ErrorCode::kConflict) continue;
    UNSHARD_RETURN_IF_ERROR(size);
    if (!*size) return Entry{};
    UNSHARD_ASSIGN_OR_RETURN(const Entry entry,
                             ReferWritten(sb, {tree, chunk, version, **size}, use));
    return entry;
  }
  return Fail(ErrorCode::kConflict, tree->Path(chunk), ": keeps being rewritten");
}

// A chunk without a committed version has a name while it is being written, so that the kernel
// sends us unlink(2): a program that cleans up removes what it writes. The name ends with the last
// close, whose RELEASE may still be on its way.
std::optional<Entry> LookupUncommitted(Superblock& sb, const std::shared_ptr<ChunkTree>& tree,
                                       const ChunkRef& chunk) {
  if (!sb.writable()) return std::nullopt;
  for (const auto& staged : sb.writers.All(ChunkId::Of(*tree, chunk))) {
    const auto creates = staged->chunk();
    const bool gzipped = chunk.part == ChunkPart::kStored;
    const bool other = !creates || creates->tree != tree || creates->gzipped != gzipped;
    if (other || staged->all_flushed()) continue;
    const Attributes attributes = StagedEntry(sb, 0, staged).attributes;
    Entry entry = ReferFreeNode(sb, "n:" + JoinPath(tree->directory(), tree->Path(chunk)),
                                NodeUse::kOwn, attributes, [&](NodeId id, NodeUse) {
                                  return std::make_shared<UncommittedChunk>(
                                      sb, id, attributes.inode, tree, chunk, staged);
                                });
    entry.attributes_milliseconds = 0;
    return entry;
  }
  return std::nullopt;
}

// The entry from the store, for a chunk that was not written through this mount.
Result<Entry> LookupStored(Superblock& sb, const std::shared_ptr<ChunkTree>& tree,
                           const ChunkRef& chunk, NodeUse use, std::uint64_t absence) {
  sb.attribute_demand.ChunkLookedUp();
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, tree->chunks().Latest(chunk));
  if (!facts) return LookupUncommitted(sb, tree, chunk).value_or(Entry{0, {}, absence});
  Entry entry = ReferStoredChunk(sb, tree, chunk, *facts, use);
  if (const auto next = tree->chunks().NextRead(*facts)) {
    entry.next_object = next->object;
    entry.next_range = next->range;
  }
  return entry;
}

// The entry of the version that readers get.
Result<Entry> LookupLatest(Superblock& sb, const std::shared_ptr<ChunkTree>& tree,
                           const ChunkRef& chunk) {
  if (!sb.writable()) return LookupStored(sb, tree, chunk, NodeUse::kCached, sb.Timeout());
  const ChunkId id = ChunkId::Of(*tree, chunk);
  NodeUse use = sb.choice.UseFor(id);
  // Such a chunk can be created by its other name, without the kernel dropping a negative entry of
  // this one.
  std::uint64_t absence = tree->TakesGzipNames() ? 0 : sb.Timeout();
  // Checked before the version: for a writer that comes later the kernel looks up again.
  if (chunk.part != ChunkPart::kPlain || tree->is_mesh() || sb.shares_chunks() || tree->joins() ||
      sb.writers.HasWriter(id)) {
    absence = 0;
    if (use == NodeUse::kCached) use = NodeUse::kRevalidated;
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto written, LookupWritten(sb, tree, chunk, use));
  if (!written) return LookupStored(sb, tree, chunk, use, absence);
  if (written->node != 0) return *written;
  return LookupUncommitted(sb, tree, chunk).value_or(Entry{0, {}, absence});
}

}  // namespace

Result<Entry> LookupChunk(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                          const ChunkRef& chunk, pid_t thread) {
  if (superblock.writable()) {
    const ChunkId id = ChunkId::Of(*tree, chunk);
    const auto staged = superblock.writers.Redirected(thread, id);
    const auto writes = staged ? staged->chunk() : std::nullopt;
    const bool here = writes && writes->tree == tree && StagedFiles::WriterId(*staged) == id;
    if (here) return ReferStaged(superblock, staged);
    // The chunk was removed or renamed after the thread was redirected.
    if (staged) {
      superblock.staged_files->RedirectsEnded(superblock.writers.TakeRedirect(thread, staged));
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(Entry entry, LookupLatest(superblock, tree, chunk));
  // What is opened for writing next is empty, and not as large as this version.
  if (superblock.writable() && superblock.writers.IsEmptied(ChunkId::Of(*tree, chunk))) {
    entry.attributes_milliseconds = 0;
  }
  return entry;
}

Result<Entry> LookupChunkName(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                              const ChunkRef& chunk, pid_t thread) {
  const auto briefly = [&] {
    const BriefWait brief(superblock);
    return LookupChunk(superblock, tree, chunk, thread);
  };
  auto found = briefly();
  if (found || chunk.part != ChunkPart::kPlain || !IsStoreAway(superblock, found.error())) {
    return found;
  }
  superblock.writes->FoundStoreAway(found.error());
  return ReferUnknownChunk(superblock, tree, chunk);
}

std::optional<Entry> EntryWithoutIo(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                                    const ChunkRef& chunk) {
  if (!tree->chunks().SizeIsFree(chunk)) return std::nullopt;
  if (superblock.writable()) {
    const ChunkId id = ChunkId::Of(*tree, chunk);
    const bool looked_up = tree->is_mesh() || superblock.shares_chunks() || tree->joins();
    if (looked_up || superblock.writers.HasWriter(id) || superblock.parts.written->Find(id)) {
      return std::nullopt;
    }
    if (superblock.choice.UseFor(id) == NodeUse::kOwn) return std::nullopt;
  }
  const auto facts = tree->chunks().Latest(chunk);
  if (!facts || !*facts) return std::nullopt;
  return ReferStoredChunk(superblock, tree, chunk, **facts, NodeUse::kCached);
}

}  // namespace unshard
