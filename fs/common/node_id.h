// FUSE node numbers. Grid cells and grid directories have arithmetic numbers, so that no table
// grows with the number of chunks; everything else has a small number from a table
// (fs/tree/node_table.h).
//
//   bit 63      1: arithmetic, 0: from the table (1 is the root)
//   bit 62      of a number from the table: the node belongs to .unshard
//   bits 50-62  ordinal of the chunk tree
//   bits 41-49  number of the shard's generation, below kGenerationLimit; 0 for directories
//   bits 0-40   position in the tree, in storage order
//
// The generation is part of the number, so that the kernel never has pages of two generations of
// one chunk at one node; it is not part of st_ino, which stays the same across generations.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/chunks/chunk_tree.h"

namespace unshard {

using NodeId = std::uint64_t;

inline constexpr NodeId kRootNode = 1;
inline constexpr NodeId kNoNode = 0;  // the kernel does not know the file
inline constexpr unsigned kGenerationBits = 9;
inline constexpr unsigned kOrdinalBits = 13;
inline constexpr std::uint32_t kGenerationLimit = 1u << kGenerationBits;
inline constexpr std::uint32_t kMaxTrees = 1u << kOrdinalBits;

struct GridNode {
  std::uint32_t ordinal = 0;
  std::uint32_t generation_number = 0;
  std::uint64_t position = 0;
  friend bool operator==(const GridNode&, const GridNode&) = default;
};

// A node of .unshard, whose requests are not counted.
inline constexpr NodeId kControlNodes = NodeId{1} << 62;
[[nodiscard]] constexpr bool IsControlNode(NodeId id) { return id >> 62 == 1; }

// The number of a grid node; nothing where a field does not fit (the caller uses the table then).
std::optional<NodeId> PackGridNode(const GridNode& node);
// The grid node of a number; nothing for numbers from the table.
std::optional<GridNode> UnpackGridNode(NodeId id);
// st_ino of a grid node: its number without the generation.
std::uint64_t GridInode(const GridNode& node);
// st_ino of a node from the table, stable across mounts: a hash of what identifies it.
std::uint64_t StableInode(std::string_view identity);
// The same, above that of every grid node: rm(1) removes a large directory in order of st_ino.
std::uint64_t LastInode(std::string_view identity);

}  // namespace unshard
