// Whether a chunk that somebody wants to store can be right: what its format lets us see without
// decoding voxels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "codec/core/bytes.h"
#include "codec/core/error.h"

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

// Asks nothing but that a chunk is not empty; for formats that nobody here can look into.
std::shared_ptr<const ChunkCheck> MakeNotEmptyCheck();

// A check looks into at most this much of a chunk, and decodes it to no more: larger chunks are
// taken on what their start shows, so that checking stays cheap and its memory bounded.
constexpr std::uint64_t kMostCheckedBytes = std::uint64_t{64} << 20;

// The refusals of checks, all kInvalidArgument. `what` names the format: "raw chunk".
tl::unexpected<Error> RefuseChunk(std::string_view what, std::string_view why);
tl::unexpected<Error> RefuseChunkSize(std::string_view what, std::uint64_t expected,
                                      std::uint64_t found);
tl::unexpected<Error> RefuseEmptyChunk();

}  // namespace unshard
