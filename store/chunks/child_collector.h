// Which names of a directory of a view lead to chunks, found from the shards that exist.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "store/chunks/sharded_tree.h"
#include "store/object/step_check.h"

namespace unshard {

// What is known of stored chunks while one listing is made: the neighbours of a chunk are mostly in
// the same index page. Used by one thread.
class ChunkPresence {
 public:
  // An index page that cannot be read is reported to `damaged`, which has to outlive this.
  ChunkPresence(const ShardedTree& stored, const ChunkTree::DamageVisitor& damaged)
      : stored_(stored), damaged_(damaged) {}

  // Whether a stored chunk is there. `unreadable`: whether chunks of a page that cannot be read
  // count as absent (kLeftOut).
  bool Holds(const ShardSlot& slot, ChunkTree::Unreadable unreadable);
  // The number of chunks in a page; 0 where it cannot be read.
  std::uint64_t CountIn(std::uint64_t shard, std::uint64_t page);

  // The page of a chunk with the overlay applied; whether that costs no request now.
  using Page = Result<std::shared_ptr<const IndexPage>>;
  static Page Load(const ShardedTree& stored, const ShardSlot& slot);
  static bool IsKnown(const ShardedTree& stored, const ShardSlot& slot);

 private:
  const Page& PageOf(const ShardSlot& slot);

  const ShardedTree& stored_;
  const ChunkTree::DamageVisitor& damaged_;
  std::optional<ShardSlot> slot_;  // of some chunk of page_
  Page page_ = nullptr;
  bool reported_ = false;  // that page_ cannot be read
};

// One axis of the files of a view, whose cells are unions of cells of the stored files.
struct ViewAxis {
  GridAxis stored, shown;

  [[nodiscard]] std::uint64_t ShownCell(std::uint64_t stored_cell) const {
    return shown.CellAt(stored.Begin(stored_cell));
  }
  // The first stored cell of a shown one; of the last one and one more: the number of stored cells.
  [[nodiscard]] std::uint64_t StoredBegin(std::uint64_t shown_cell) const {
    return shown_cell < shown.cells() ? stored.CellAt(shown.Begin(shown_cell)) : stored.cells();
  }
};

// One directory of a view, in cells of the stored files.
struct ViewDirectory {
  CellBox below;  // all stored cells below it
  // Along which the names count; nothing: its only name, 0, leads to all chunks.
  std::optional<std::size_t> axis;
  ViewAxis names;           // of that axis
  std::uint64_t count = 0;  // of names
  bool holds_directories = false;
};

// Finds the names, numbers below `count`, that lead to chunks. Visits shards that exist, in each
// the fewer of its chunks and of the cells that the directory has in it; of a shard whose names are
// all found it reads nothing. Used by one thread, once.
class ChildCollector {
 public:
  // Numbers below `from` are left out, and of more than `most` the largest. `remote`: each request
  // costs the way to the store, and several are sent at a time.
  ChildCollector(ShardedTree& stored, bool remote, const ViewDirectory& in, std::uint64_t from,
                 std::size_t most, const ChunkTree::DamageVisitor& damaged);

  // Fails where the shards cannot be listed, or the caller's deadline passes. `begins`: as in
  // ShardWalk.
  Status Run(bool begins);
  // All names from `from` on that are below end().
  [[nodiscard]] const std::set<std::uint64_t>& found() const { return found_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }

 private:
  using Shards = std::span<const std::uint64_t>;
  [[nodiscard]] std::optional<CellBox> Wanted(const CellBox& box) const;
  [[nodiscard]] CellBox BoxOf(std::uint64_t shard) const;
  [[nodiscard]] std::uint64_t NameOf(const GridCell& cell) const;
  // The names of a box of cells: the first, and the end.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> NamesOf(const CellBox& box) const;
  void Add(std::uint64_t name);
  Result<bool> Visit(Shards shards);
  std::size_t LoadFrom(Shards shards);
  Status Probe(const CellBox& box, Shards shards);
  Status LoadFirstPages(const CellBox& box, Shards shards);
  Status ForEachName(const CellBox& box,
                     const std::function<Status(std::uint64_t, const CellBox&)>& visit) const;
  Result<bool> AnyOf(const CellBox& box, Shards shards,
                     const std::function<bool(const ShardSlot&)>& holds);
  Status Scan(std::uint64_t shard, const CellBox& box);

  ShardedTree& stored_;
  const bool remote_;
  const ViewDirectory in_;
  const std::uint64_t from_;
  const std::size_t most_;
  const ChunkTree::DamageVisitor& damaged_;
  const ChunkTree::Unreadable unreadable_;
  CellBox whole_;
  ChunkPresence presence_;
  StepCheck steps_;
  std::set<std::uint64_t> found_;
  std::uint64_t end_;
};

}  // namespace unshard
