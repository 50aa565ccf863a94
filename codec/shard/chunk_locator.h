// Grid cell to shard slot and back, for both shard formats.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "codec/shard/format.h"

namespace unshard {

// Where the entry of each grid cell stands. Immutable; thread-safe.
class ChunkLocator {
 public:
  virtual ~ChunkLocator() = default;
  // Requires: a cell of the inner chunk grid.
  [[nodiscard]] virtual ShardSlot Locate(std::span<const std::uint64_t> cell) const = 0;
  // False where no cell of the grid stands there (unused Morton codes, slots beyond the array).
  [[nodiscard]] virtual bool CellAt(const ShardSlot& slot, std::span<std::uint64_t> cell) const = 0;
};

// Store keys of shards, relative to the directory of the array, scale or index. Immutable.
class ShardKeys {
 public:
  virtual ~ShardKeys() = default;
  [[nodiscard]] virtual std::string Key(std::uint64_t shard) const = 0;
  // The shard that has exactly this key; nothing for any other name. True also for the names of
  // the obsolete two-file form.
  [[nodiscard]] virtual std::optional<std::uint64_t> Parse(std::string_view key) const = 0;
  // The two keys whose concatenation is the shard where Key(shard) is missing, if the format has
  // such a form; else nothing.
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
