// From grid cells to slots of shards, from shards to store keys, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "codec/shard/format.h"

namespace unshard {

// Maps the cells of a grid to slots of shards. Immutable; thread-safe. A locator that metadata
// describe never fails. A locator that has to look at data throws if it cannot, as its maker says.
class ChunkLocator {
 public:
  virtual ~ChunkLocator() = default;
  // Requires: a cell of the inner chunk grid.
  [[nodiscard]] virtual ShardSlot Locate(std::span<const std::uint64_t> cell) const = 0;
  // Sets `cell` to the cell of a slot; false where the slot has none (unused Morton codes, slots
  // beyond the array).
  [[nodiscard]] virtual bool CellAt(const ShardSlot& slot, std::span<std::uint64_t> cell) const = 0;
};

// Store keys of shards, below the directory of the array, scale or index. Immutable; thread-safe.
class ShardKeys {
 public:
  virtual ~ShardKeys() = default;
  [[nodiscard]] virtual std::string Key(std::uint64_t shard) const = 0;
  // The shard that has exactly this key, or one of the keys of the obsolete two-file form; nothing
  // for any other name.
  [[nodiscard]] virtual std::optional<std::uint64_t> Parse(std::string_view key) const = 0;
  // The two keys whose objects, concatenated, are the shard where Key(shard) is missing; nothing
  // where the format has no such form.
  struct Pair {
    std::string index;
    std::string data;
  };
  [[nodiscard]] virtual std::optional<Pair> ObsoletePair(std::uint64_t shard) const {
    (void)shard;
    return std::nullopt;
  }
};

}  // namespace unshard
