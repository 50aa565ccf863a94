// The layout of a compressed_segmentation chunk.
//
// In 32-bit little-endian words:
//   1 word a channel  offset of the channel's data
//   and for each channel
//   2 words a block   offset of the table | bits of an index << 24, then the offset of the packed
//                     indexes; both count from the start of the channel's data; x fastest
//   and in any order  packed indexes, for all positions of a full block; tables of labels, of which
//                     several blocks may share one
//
// Channels are at the offsets that the first words name, in any order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

constexpr std::string_view kSegmentationFormat = "compressed_segmentation chunk";
constexpr std::uint64_t kSegmentationHeaderWords = 2;  // of a block
// Offsets of tables have 24 bits, and readers use no more of the other ones.
constexpr std::uint64_t kMaxSegmentationOffset = (std::uint64_t{1} << 24) - 1;

// The properties of one chunk in the metadata.
struct SegmentationForm {
  std::array<std::uint64_t, 3> shape{};        // of the clipped chunk, x y z
  std::array<std::uint64_t, 3> block_shape{};  // at least 1 each
  std::uint64_t channels = 1;
  std::uint64_t label_words = 1;  // of 32 bits: 1 or 2
};

// The number of blocks along x, y and z. Requires: block extents of at least 1.
std::array<std::uint64_t, 3> SegmentationGrid(const SegmentationForm& form);

// One block. Offsets count words from the start of the chunk.
struct SegmentationBlock {
  unsigned bits = 0;         // of an index: 0, 1, 2, 4, 8, 16 or 32; 0: all labels are the first
  std::uint64_t table = 0;   // at least one label lies within the chunk
  std::uint64_t values = 0;  // where bits is not 0: all indexes of voxels lie within the chunk
};

// The rules of one chunk of `size` bytes. All failures are kInvalidArgument. Immutable;
// thread-safe; pure.
class SegmentationLayout {
 public:
  // Fails unless the chunk is of whole words and has room for its channels.
  static Result<SegmentationLayout> Make(std::uint64_t size, const SegmentationForm& form);

  [[nodiscard]] const SegmentationForm& form() const { return form_; }
  [[nodiscard]] std::uint64_t words() const { return words_; }
  [[nodiscard]] const std::array<std::uint64_t, 3>& grid() const { return grid_; }

  // Fails unless the block headers of a channel, whose data begin at `base`, lie within the chunk.
  [[nodiscard]] Status CheckChannel(std::uint64_t channel, std::uint64_t base) const;
  // The block at `position` in the grid, from the two words of its header. Fails unless what they
  // refer to lies within the chunk. Requires: CheckChannel succeeded.
  [[nodiscard]] Result<SegmentationBlock> ReadBlock(
      std::uint64_t base, std::uint32_t word0, std::uint32_t word1,
      const std::array<std::uint64_t, 3>& position) const;

 private:
  SegmentationLayout(std::uint64_t words, const SegmentationForm& form)
      : words_(words), form_(form) {}
  [[nodiscard]] tl::unexpected<Error> Refuse(const std::string& what, std::uint64_t at) const;
  [[nodiscard]] std::optional<std::uint64_t> PackedWords(
      const std::array<std::uint64_t, 3>& position, unsigned bits) const;

  std::uint64_t words_;
  SegmentationForm form_;
  std::array<std::uint64_t, 3> grid_{};
  std::uint64_t header_words_ = 0;  // of all blocks of a channel
};

}  // namespace unshard
