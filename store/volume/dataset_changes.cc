#include "store/volume/dataset_changes.h"

#include <algorithm>
#include <cerrno>

#include "store/chunks/shard_visitor.h"
#include "store/local/shard_lock.h"
#include "store/object/log.h"
#include "store/object/time_now.h"

namespace unshard {

std::vector<std::shared_ptr<ShardedTree>> DatasetChanges::TreesOf(
    const std::string& directory) const {
  std::vector<std::shared_ptr<ShardedTree>> trees;
  const auto contribution = datasets_.index().ContributionAt(directory);
  if (!contribution) return trees;
  for (const ServedTree& served : contribution->trees) trees.push_back(served.stored);
  return trees;
}

Result<bool> DatasetChanges::HoldsChunk(ShardedTree& tree, std::uint64_t shard) {
  bool holds = false;
  UNSHARD_ASSIGN_OR_RETURN(const auto generation, tree.shards().Current(shard, CallerDeadline()));
  UNSHARD_RETURN_IF_ERROR(tree.ForEachPresent(generation, [&](const ChunkRef&) { holds = true; }));
  return holds;
}

Result<bool> DatasetChanges::Holds(ShardedTree& tree) {
  UNSHARD_RETURN_IF_ERROR(writes_.Flush(tree));
  bool holds = false;
  const auto visit = [&](std::uint64_t shard, const std::string&) -> Result<bool> {
    UNSHARD_ASSIGN_OR_RETURN(holds, HoldsChunk(tree, shard));
    return !holds;
  };
  UNSHARD_ASSIGN_OR_RETURN(std::ignore, VisitShards(store_, tree, visit));
  return holds;
}

HoldsChunks DatasetChanges::InDirectoriesBelow(const std::string& directory) {
  return [this, directory](std::string_view scale) -> Result<bool> {
    const auto at = ResolvePath(directory, scale);
    for (const auto& tree : TreesOf(directory)) {
      if (!at || tree->directory() != *at) continue;
      UNSHARD_ASSIGN_OR_RETURN(const bool holds, Holds(*tree));
      if (holds) return true;
    }
    return false;
  };
}

Status DatasetChanges::RemoveDocument(const std::string& directory, const std::string& name) {
  const std::string path = JoinPath(directory, name);
  const auto trees = TreesOf(directory);
  for (const auto& tree : trees) {
    UNSHARD_ASSIGN_OR_RETURN(const bool holds, Holds(*tree));
    if (!holds) continue;
    return FailWith(EPERM, ErrorCode::kPermissionDenied, path, ": describes how the chunks in \"",
                    tree->directory(), "\" are stored: remove those chunks first");
  }
  for (const auto& tree : trees) {
    UNSHARD_RETURN_IF_ERROR(RemoveLeftovers(*tree, ""));
    for (std::string at = tree->directory(); !IsAtOrBelow(directory, at); at = ParentPath(at)) {
      UNSHARD_RETURN_IF_ERROR(RemoveIfEmpty(at));
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(const bool removed, files_.Remove(path));
  if (!removed) return FailWith(ENOENT, ErrorCode::kNotFound, path, ": is gone");
  return {};
}

Status DatasetChanges::RemoveIfEmpty(const std::string& directory) {
  const auto removed = files_.Remove(directory);
  const bool done = removed || removed.error().system_errno == ENOTEMPTY;
  return done ? Status() : Status(tl::unexpected<Error>(removed.error()));
}

// Removes shards without a chunk, their locks, and directories that are empty then: none of them is
// presented in the mount. A directory with any other file stays.
Status DatasetChanges::RemoveLeftovers(ShardedTree& tree, const std::string& below) {
  std::vector<std::string> files, deeper;
  UNSHARD_RETURN_IF_ERROR(
      store_.List(JoinPath(tree.directory(), below), CallerDeadline(), [&](const ListEntry& entry) {
        const std::string key = JoinPath(below, entry.name);
        const bool ours =
            !below.empty() || tree.Resolve({}, key).kind == ChunkTree::Match::Kind::kDirectory;
        if (entry.kind == ObjectInfo::Kind::kDirectory) {
          if (ours) deeper.push_back(key);
        } else if (tree.IsShardKey(WithoutLockSuffix(key))) {
          files.push_back(key);
        }
        return true;
      }));
  for (const std::string& key : files) {
    UNSHARD_ASSIGN_OR_RETURN(std::ignore, files_.Remove(JoinPath(tree.directory(), key)));
  }
  for (const std::string& key : deeper) {
    UNSHARD_RETURN_IF_ERROR(RemoveLeftovers(tree, key));
    UNSHARD_RETURN_IF_ERROR(RemoveIfEmpty(JoinPath(tree.directory(), key)));
  }
  return {};
}

Status DatasetChanges::RemoveOutside(const std::string& directory, const std::string& stored,
                                     const std::string& wanted) {
  UNSHARD_ASSIGN_OR_RETURN(const ZarrNode before, ParseZarrMetadata(stored));
  UNSHARD_ASSIGN_OR_RETURN(const ZarrNode after, ParseZarrMetadata(wanted));
  if (!before.sharded || !after.sharded || before.array.rank() != after.array.rank()) return {};
  bool smaller = false;
  for (std::size_t d = 0; d < before.array.rank(); ++d) {
    smaller = smaller || after.array.shape[d] < before.array.shape[d];
  }
  if (!smaller) return {};
  for (const auto& tree : TreesOf(directory)) {
    UNSHARD_RETURN_IF_ERROR(writes_.Flush(*tree));
    const auto visit = [&](std::uint64_t shard, const std::string&) -> Result<bool> {
      const Status removed = RemoveOutside(tree, *before.sharded, after.sharded->grid, shard);
      if (!removed) return tl::unexpected<Error>(removed.error());
      return true;
    };
    UNSHARD_ASSIGN_OR_RETURN(std::ignore, VisitShards(store_, *tree, visit));
    UNSHARD_RETURN_IF_ERROR(writes_.Flush(*tree));
  }
  return {};
}

Status DatasetChanges::RemoveOutside(const std::shared_ptr<ShardedTree>& tree,
                                     const ZarrShardedArray& array, const ChunkGrid& wanted,
                                     std::uint64_t shard) {
  const ChunkGrid& shards = array.shard_grid;
  GridCell at(shards.rank());
  CellOfLinearIndex(shards.grid_shape(), shard, at);
  bool inside = true;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const GridAxis& axis = shards.axis(d);
    inside = inside && axis.Begin(at[d]) + axis.CellExtent(at[d]) <= wanted.shape()[d];
  }
  if (inside) return {};
  std::vector<ChunkRef> outside;
  UNSHARD_ASSIGN_OR_RETURN(const auto generation, tree->shards().Current(shard, CallerDeadline()));
  UNSHARD_RETURN_IF_ERROR(tree->ForEachPresent(generation, [&](const ChunkRef& chunk) {
    GridCell cell(array.grid.rank());
    if (!array.locator->CellAt(chunk.slot, cell)) return;
    for (std::size_t d = 0; d < cell.size(); ++d) {
      if (cell[d] < wanted.grid_shape()[d]) continue;
      outside.push_back(chunk);
      return;
    }
  }));
  for (const ChunkRef& chunk : outside) {
    WritePipeline::Commit removal;
    removal.tree = tree;
    removal.chunk = chunk;
    removal.modified = TimeNow();
    writes_.room().Wait(Room::Cap::kOnce, InterruptibleDeadline().stop);
    UNSHARD_ASSIGN_OR_RETURN(std::ignore, writes_.CommitRemoval(removal));
  }
  return {};
}

void DatasetChanges::LeaveRetired(const std::vector<std::shared_ptr<ShardedTree>>& trees) {
  for (const auto& tree : trees) {
    if (!tree->retired()) continue;
    if (const Status left = writes_.Flush(*tree); !left) LogWarning(left.error().message);
  }
}

}  // namespace unshard
