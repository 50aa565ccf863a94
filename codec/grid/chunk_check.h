// Checks of a chunk before it is stored: its length, its headers, and what else the format lets
// find out without decoding voxels.
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
      std::span<const std::uint64_t> cell) const {
    (void)cell;
    return std::nullopt;
  }
  // The number of bytes, from the start of a chunk of `size` bytes, that Check needs.
  [[nodiscard]] virtual std::uint64_t NeededBytes(std::uint64_t size) const {
    (void)size;
    return 0;
  }
  // Fails with kInvalidArgument, naming what was expected and what was found. `start` holds the
  // first NeededBytes(size) bytes. Refuses every empty chunk.
  [[nodiscard]] virtual Status Check(std::span<const std::uint64_t> cell, std::uint64_t size,
                                     ByteSpan start) const = 0;
};

// Refuses only empty chunks; for formats that are not known here. Never null.
std::shared_ptr<const ChunkCheck> MakeNotEmptyCheck();

// The most bytes of a chunk that a check reads, and to which it decodes them. This bounds the time
// and memory of a check: of a larger chunk only the start is checked.
constexpr std::uint64_t kMaxCheckedBytes = std::uint64_t{64} << 20;

// The failures of checks, all kInvalidArgument. `what` names the format: "raw chunk".
template <class... Parts>
tl::unexpected<Error> RefuseChunk(std::string_view what, const Parts&... why) {
  return Fail(ErrorCode::kInvalidArgument, what, ": ", why...);
}
tl::unexpected<Error> RefuseChunkSize(std::string_view what, std::uint64_t expected,
                                      std::uint64_t found);
tl::unexpected<Error> RefuseEmptyChunk();

}  // namespace unshard
