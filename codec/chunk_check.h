// Whether a chunk that somebody wants to store can be right: what its format lets us see without
// decoding voxels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "codec/bytes.h"
#include "codec/error.h"

namespace unshard {

// The rules of one array, scale or index. Immutable; thread-safe. `cell` is the chunk's grid cell,
// empty where chunks are keyed by ids.
class ChunkCheck {
 public:
  virtual ~ChunkCheck() = default;

  // The only length that the plain chunk can have; nothing where it varies.
  [[nodiscard]] virtual std::optional<std::uint64_t> FixedSize(
      std::span<const std::uint64_t> cell) const = 0;
  // How many bytes from the start Check has to see of a chunk of `size` bytes.
  [[nodiscard]] virtual std::uint64_t NeededBytes(std::uint64_t size) const = 0;
  // Fails with kInvalidArgument, saying what was expected and what was found. `start` holds the
  // first NeededBytes(size) bytes. An empty chunk is never right.
  [[nodiscard]] virtual Status Check(std::span<const std::uint64_t> cell, std::uint64_t size,
                                     ByteSpan start) const = 0;
};

}  // namespace unshard
