// How many shards and chunks a tree has in the store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/chunks/sharded_tree.h"
#include "store/object/object_store.h"

namespace unshard {

// Counting stops here: it answers at once also for sources with very many shards.
inline constexpr std::uint64_t kMostCountedShards = 4096;

struct ShardCount {
  std::uint64_t shards = 0;
  std::uint64_t chunks = 0;
  std::uint64_t fitting = 0;    // chunks that the shards hold when they are full
  bool complete = true;         // false: at least this many; none were counted where there are 0
  bool fitting_known = true;    // false: ids are scattered over shards, or too many to be counted
  bool chunks_complete = true;  // false: not counted, or some index could not be read
  // The first of the shards with an index that cannot be read, and how many there are.
  struct Unreadable {
    std::string path;  // of the shard, in the store
    std::string why;
  };
  static constexpr std::size_t kMostNamed = 10;
  std::vector<Unreadable> unreadable;
  std::uint64_t unreadable_shards = 0;
};

// Reads the indexes of the shards. `cost`: how many ids are tried to find out what fits into one.
ShardCount CountShards(ObjectStore& store, ShardedTree& tree, std::uint64_t cost);

}  // namespace unshard
