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

// The entry of "<chunk>.gz" of a written version.
Result<Entry> ReferGzipped(Superblock& sb, const WrittenVersionPtr& version, NodeUse use,
                           Attributes attributes) {
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr plain, sb.writes->ContentOf(version));
  if (!plain) return tl::unexpected<Error>(StaleNode());
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr gzipped, EncodedContent(sb, *version->tree, *plain));
  attributes.size = gzipped->size();
  return ReferFreeNode(
      sb, "z:" + std::to_string(version->number), use, attributes, [&](NodeId id, NodeUse as) {
        return std::make_shared<WrittenChunk>(sb, id, attributes.inode, version, gzipped, as);
      });
}

// The arithmetic node of a chunk's first version: the kernel has no pages of other bytes at it, and
// no dentry with a time to live from while the array was written. Nothing where another node must
// be used.
std::optional<Entry> ReferFirstVersion(Superblock& sb, const WrittenVersionPtr& version,
                                       const ChunkRef& chunk, NodeUse use,
                                       const Attributes& attributes) {
  const bool revalidated = use == NodeUse::kRevalidated && !version->remembered;
  if (!version->first || (use != NodeUse::kCached && !revalidated)) return std::nullopt;
  if (sb.writers.HasWriter(ChunkId::Of(*version->tree, chunk))) return std::nullopt;
  auto entry = ReferArithmetic(version->tree, chunk);
  if (!entry) return std::nullopt;
  if (sb.open_versions.IsTaken(entry->node)) {
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

Result<Entry> ReferWritten(Superblock& sb, const WrittenVersionPtr& version, const ChunkRef& chunk,
                           NodeUse use) {
  const Attributes attributes{InodeOfChunk(sb, *version->tree, chunk), version->size,
                              sb.parts.written->ModifiedOf(*version), false};
  if (chunk.part == ChunkPart::kStored) return ReferGzipped(sb, version, use, attributes);
  if (const auto entry = ReferFirstVersion(sb, version, chunk, use, attributes)) return *entry;
  if (use == NodeUse::kCached) version->remembered = true;
  return ReferFreeNode(
      sb, "w:" + std::to_string(version->number), use, attributes, [&](NodeId id, NodeUse as) {
        return std::make_shared<WrittenChunk>(sb, id, attributes.inode, version, nullptr, as);
      });
}

// The entry of a version that was written through this mount; nothing where the store has the
// latest one.
Result<std::optional<Entry>> LookupWritten(Superblock& sb, const ChunkId& id, const ChunkRef& chunk,
                                           NodeUse use) {
  const WrittenVersionPtr version = sb.parts.written->Find(id);
  if (!version) return std::nullopt;
  if (version->removed) return Entry{};
  UNSHARD_ASSIGN_OR_RETURN(const Entry entry, ReferWritten(sb, version, chunk, use));
  return entry;
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
    if (!creates || creates->gzipped != gzipped || staged->all_flushed()) continue;
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
  if (chunk.part != ChunkPart::kPlain || tree->is_mesh() || sb.writers.HasWriter(id)) {
    absence = 0;
    if (use == NodeUse::kCached) use = NodeUse::kRevalidated;
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto written, LookupWritten(sb, id, chunk, use));
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
    if (staged && StagedFiles::WriterId(*staged) == id) return ReferStaged(superblock, staged);
    // The chunk was removed or renamed after the thread was redirected.
    if (staged) superblock.writers.TakeRedirect(thread, staged);
  }
  return LookupLatest(superblock, tree, chunk);
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
    if (tree->is_mesh() || superblock.writers.HasWriter(id) || superblock.parts.written->Find(id)) {
      return std::nullopt;
    }
    if (superblock.choice.UseFor(id) == NodeUse::kOwn) return std::nullopt;
  }
  const auto facts = tree->chunks().Latest(chunk);
  if (!facts || !*facts) return std::nullopt;
  return ReferStoredChunk(superblock, tree, chunk, **facts, NodeUse::kCached);
}

}  // namespace unshard
