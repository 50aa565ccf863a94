// The committed versions of chunk files: the latest one of each chunk, from its commit until it is
// forgotten after its publish.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/chunks/chunk_tree.h"
#include "store/publish/queue.h"
#include "store/shard/set.h"
#include "store/spool/spool.h"

namespace unshard {

// A chunk as it is stored, whichever view presents it. "<name>.gz" is the same file as "<name>".
struct ChunkId {
  std::uint32_t tree = 0;  // ChunkTree::stored_ordinal, or that of a tree which joins chunks
  ShardSlot slot;
  ChunkPart part = ChunkPart::kPlain;

  static ChunkId Of(const ChunkTree& tree, const ChunkRef& chunk) {
    const std::uint32_t number = tree.joins() ? tree.ordinal() : tree.stored_ordinal();
    return {number, chunk.slot, WrittenPart(chunk.part)};
  }
  // Of the stored chunks that are written for it.
  static std::vector<ChunkId> AllOf(const ChunkTree& tree, const ChunkRef& chunk) {
    std::vector<ChunkId> ids;
    for (const ChunkRef& one : tree.StoredChunks(chunk)) {
      ids.push_back({tree.stored_ordinal(), one.slot, WrittenPart(one.part)});
    }
    return ids;
  }
  [[nodiscard]] DirtyShard shard() const { return {tree, slot.shard}; }
  friend bool operator==(const ChunkId&, const ChunkId&) = default;
};

// Page and slot of a chunk in its shard.
using ShardPlace = std::pair<std::uint64_t, std::uint64_t>;

// An order of chunks, for maps.
struct ChunkIdLess {
  bool operator()(const ChunkId& a, const ChunkId& b) const {
    const auto key = [](const ChunkId& id) {
      return std::tuple(id.tree, id.slot.shard, id.slot.page, id.slot.slot, id.part);
    };
    return key(a) < key(b);
  }
};

// The bytes that the store may hold for a chunk when a version of it is published; any others were
// written by another process.
struct ReplacedBytes {
  ChunkFingerprint base;
  std::optional<ChunkFingerprint> other;
  // A version of the shard that is known to hold one of the two.
  std::optional<Generation> seen_in = std::nullopt;
};

// One committed version of one chunk file.
struct WrittenVersion : std::enable_shared_from_this<WrittenVersion> {
  std::shared_ptr<ChunkTree> tree;  // a ShardedTree
  ChunkRef chunk;
  std::uint64_t number = 0;  // of all versions of this mount; never used again
  bool removed = false;
  // An earlier mount has committed it: what another process has put in its place since is later.
  bool adopted = false;
  // The chunk was absent until this version, and the page cache has no other bytes of its
  // arithmetic node.
  std::atomic<bool> first = false;
  // The kernel was allowed to cache the dentry of this version's node.
  std::atomic<bool> remembered = false;
  std::uint64_t size = 0;
  std::uint32_t checksum = 0;
  std::uint64_t inode = 0;  // st_ino

  // Guarded by the mutex of CommittedVersions.
  timespec modified{};
  std::shared_ptr<Spool> spool;         // null once it is published
  std::optional<SpooledChunk> spooled;  // the same
  // Of two versions of one spool, published or not, the one with the higher sequence is the later.
  const Spool* origin = nullptr;
  std::uint64_t sequence = 0;
  // From its name in the spool or, known more exactly, from the version before and its publish.
  // Until Replace() only seen_in is set.
  ReplacedBytes replaces;
  std::optional<Generation> stored_in;  // a version of the shard that has it, once it is published
  // Of a version that is in the spool: whether the store has it nevertheless, from a publish that
  // failed, or that was under way when its mount was killed.
  enum class Put { kNo, kPerhaps, kYes };
  Put put = Put::kNo;
  bool publishing = false;
  bool superseded = false;
};
using WrittenVersionPtr = std::shared_ptr<WrittenVersion>;

ChunkFingerprint FingerprintOf(const WrittenVersion& version);

// Thread-safe; does no I/O.
class CommittedVersions final : public UnpublishedChunks {
 public:
  // The latest version, tombstones included; null where readers see the store.
  WrittenVersionPtr Find(const ChunkId& id) const;
  // The same of each, at one moment.
  std::vector<WrittenVersionPtr> FindAll(const std::vector<ChunkId>& ids) const;
  // Where in the spool the bytes of `version` are; nothing where they are not in it.
  struct Spooled {
    std::shared_ptr<Spool> spool;
    SpooledChunk chunk;
  };
  std::optional<Spooled> SpooledOf(const WrittenVersion& version) const;
  // The files of these versions that are in one spool.
  std::vector<SpooledChunk> SpooledIn(const Spool& spool,
                                      const std::vector<WrittenVersionPtr>& versions) const;
  timespec ModifiedOf(const WrittenVersion& version) const;
  // Of `version`, and of a version that is committed after it.
  ReplacedBytes ReplacedBy(const WrittenVersion& version) const;
  ReplacedBytes ReplacedAfter(const WrittenVersion& version) const;
  void SetModified(WrittenVersion& version, const timespec& modified);

  // Sizes of the latest versions of one shard's chunks that are in the spool; 0 for tombstones.
  [[nodiscard]] std::map<ShardPlace, std::uint64_t> SpooledSizes(const DirtyShard& at) const;

  // Bytes that were written to the arithmetic node after the latest version was committed are
  // discarded, but the page cache may hold them: the version gets a node of its own.
  void LeaveArithmeticNode(const ChunkId& id);

  // Makes `version` the latest. Returns what is to be discarded from the spool: the version before,
  // unless it is being published, or `version` itself where a later one was committed meanwhile.
  struct Replaced {
    std::optional<Spooled> discard;
    std::int64_t chunks = 0;  // the increase in the spool for this shard
    std::int64_t bytes = 0;
    std::uint64_t in_shard = 0;  // chunks (not tombstones) of the shard that are in the spool now
  };
  Replaced Replace(const WrittenVersionPtr& version) { return ReplaceAll({version}).front(); }
  // The same of versions of different chunks, which are seen together.
  std::vector<Replaced> ReplaceAll(const std::vector<WrittenVersionPtr>& versions);
  // The same, if each seal names all that the store may hold when its version is published. A seal
  // does not if a publish has begun, or another version was committed, since it was made. Nothing
  // happens then, and `needed` has the terms that such a seal needs; nothing for the other seals.
  using NeededTerms = std::vector<std::optional<SealTerms>>;
  std::optional<std::vector<Replaced>> ReplaceAllIfSealed(
      const std::vector<WrittenVersionPtr>& versions, NeededTerms& needed);

  // Returns all versions that are in the spool for a shard, marked as being published.
  std::vector<WrittenVersionPtr> BeginPublish(const DirtyShard& shard);
  // Removes that mark from versions that are not published after all. Returns those that were
  // superseded meanwhile, to be discarded from the spool. `own`: the publish failed after it had
  // replaced the shard, or may have.
  std::vector<Spooled> AbandonPublish(
      const std::vector<WrittenVersionPtr>& versions,
      const std::optional<ShardSet::OwnPublish>& own = std::nullopt);
  // These versions of one shard are in the store now. Returns what is to be discarded from the
  // spool, and the decrease there for this shard. `own`: the publish, where it replaced the shard:
  // it left the chunks of all other versions unchanged.
  struct Published {
    std::vector<Spooled> discard;
    std::uint64_t chunks = 0;
    std::uint64_t bytes = 0;
  };
  Published EndPublish(const std::vector<WrittenVersionPtr>& versions,
                       const std::optional<ShardSet::OwnPublish>& own = std::nullopt);

  // These versions cannot be published: readers see the store again, as if the versions had never
  // been committed. Returns which files are to be quarantined, and which are to be discarded
  // because a later version exists.
  struct Withdrawn {
    std::vector<Spooled> keep;
    std::vector<Spooled> discard;
  };
  Withdrawn Withdraw(const std::vector<WrittenVersionPtr>& versions);

  // Another process has replaced the shard: forgets the published versions of its chunks. Returns
  // whether there were any.
  bool ForgetPublished(const DirtyShard& shard);
  // The shard that was published least recently, where more than `max_published` published versions
  // are known, and how many more.
  struct Excess {
    DirtyShard shard;
    std::size_t versions = 0;
  };
  std::optional<Excess> Oldest(std::size_t max_published) const;
  // Forgets so many of the published versions of a shard, those that were committed first.
  void ForgetOldest(const DirtyShard& shard, std::size_t count);

  // For listings.
  [[nodiscard]] bool empty() const override;
  [[nodiscard]] bool HoldsChunks(std::uint32_t tree, const GridDirectory& in) const override;
  [[nodiscard]] std::vector<std::uint64_t> Shards(std::uint32_t tree) const override;
  [[nodiscard]] std::vector<std::uint64_t> Pages(std::uint32_t tree,
                                                 std::uint64_t shard) const override;
  [[nodiscard]] std::vector<Difference> InPage(std::uint32_t tree, std::uint64_t shard,
                                               std::uint64_t page, std::uint64_t first,
                                               std::uint64_t last) const override;
  // Versions of chunks directly in this directory that are in the spool and not known to be
  // durable.
  [[nodiscard]] std::vector<WrittenVersionPtr> Unsynced(const ChunkTree& tree,
                                                        const GridDirectory& in) const;
  // The same of all directories of a tree.
  [[nodiscard]] std::vector<WrittenVersionPtr> Unsynced(std::uint32_t tree) const;
  void MarkSynced(WrittenVersion& version);

  // Forgets all versions: they hold their trees, and those hold this. The owner of the trees
  // calls it after the last read and write.
  void Clear();

 private:
  struct PlaceInShard {
    std::uint64_t page = 0, slot = 0;
    ChunkPart part = ChunkPart::kPlain;
    friend auto operator<=>(const PlaceInShard&, const PlaceInShard&) = default;
  };
  struct Shard {
    std::map<PlaceInShard, WrittenVersionPtr> versions;
    std::uint64_t spooled_chunks = 0;  // not tombstones, not fragments
    std::uint64_t spooled_versions = 0;
    std::list<DirtyShard>::iterator recent;
    bool listed = false;  // in recent_
  };
  using DirectoryKey = std::tuple<std::uint32_t, unsigned, std::uint64_t>;  // tree, level, prefix
  static PlaceInShard PlaceOf(const ChunkRef& chunk);
  static DirectoryKey ParentKey(const WrittenVersion& version);
  // These require the mutex.
  [[nodiscard]] WrittenVersionPtr FindLocked(const ChunkId& id) const;
  // Where memory runs out within a change, the process ends: half of a change would publish, or
  // discard, what it should not, and the spool has all that was acknowledged.
  Replaced ReplaceLocked(const WrittenVersionPtr& version) noexcept;
  [[nodiscard]] std::optional<SealTerms> NeededTermsLocked(const WrittenVersion& version) const;
  void ForgetUnsynced(WrittenVersion& version);
  void Count(Shard& shard, const WrittenVersion& version, int sign);
  // The store has this version, which the latest one replaces.
  static void ReplacedIs(Shard& shard, const WrittenVersion& version);
  // Our publish has left the chunks of all versions but its own as they were.
  void FollowPublish(const std::vector<WrittenVersionPtr>& versions,
                     const ShardSet::OwnPublish& own);
  // Forgets the published versions up to that number. Returns whether there were any.
  bool ForgetUpTo(const DirtyShard& at, std::uint64_t number);
  void Unspool(Shard& shard, WrittenVersion& version, std::vector<Spooled>& discard) noexcept;

  mutable std::mutex mutex_;
  std::map<DirtyShard, Shard> shards_;  // guarded by mutex_
  // How many chunks in the spool are in, or below, a directory. Guarded; never zero.
  std::map<DirectoryKey, std::uint64_t> directories_;
  // Latest versions that are in the spool and not known to be durable. Guarded; no set is empty.
  std::map<DirectoryKey, std::set<WrittenVersionPtr>> unsynced_;
  std::list<DirtyShard> recent_;  // guarded by mutex_; shards with published versions, latest last
  std::size_t published_ = 0;     // guarded by mutex_; versions that are not in the spool
  std::atomic<std::uint64_t> spooled_{0};  // versions that are
};

}  // namespace unshard
