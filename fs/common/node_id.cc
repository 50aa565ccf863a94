#include "fs/common/node_id.h"

namespace unshard {
namespace {

constexpr std::uint64_t kArithmetic = std::uint64_t{1} << 63;
constexpr std::uint64_t kPositionMask = (std::uint64_t{1} << kPositionBits) - 1;

}  // namespace

std::optional<NodeId> PackGridNode(const GridNode& node) {
  if (node.position > kPositionMask || node.generation_number >= kGenerationLimit ||
      node.ordinal >= kMaxTrees) {
    return std::nullopt;
  }
  return kArithmetic | std::uint64_t{node.ordinal} << (kPositionBits + kGenerationBits) |
         std::uint64_t{node.generation_number} << kPositionBits | node.position;
}

std::optional<GridNode> UnpackGridNode(NodeId id) {
  if ((id & kArithmetic) == 0) return std::nullopt;
  GridNode node;
  node.position = id & kPositionMask;
  node.generation_number = static_cast<std::uint32_t>(id >> kPositionBits) & (kGenerationLimit - 1);
  node.ordinal =
      static_cast<std::uint32_t>(id >> (kPositionBits + kGenerationBits)) & (kMaxTrees - 1);
  return node;
}

std::uint64_t GridInode(const GridNode& node) {
  return kArithmetic | std::uint64_t{node.ordinal} << (kPositionBits + kGenerationBits) |
         (node.position & kPositionMask);
}

std::uint64_t StableInode(std::string_view identity) {
  // FNV-1a; the two top bits are fixed so that no inode is 0, 1 or an arithmetic one.
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : identity) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  return (hash >> 2) | std::uint64_t{1} << 62;
}

std::uint64_t LastInode(std::string_view identity) {
  return StableInode(identity) | ~((std::uint64_t{1} << kPositionBits) - 1);
}

}  // namespace unshard
