#include "codec/voxel/compressed_segmentation_layout.h"

#include <algorithm>
#include <bit>

#include "codec/core/byte_range.h"
#include "codec/voxel/chunk_check.h"

namespace unshard {

using Extent = std::array<std::uint64_t, 3>;

Extent SegmentationGrid(const SegmentationForm& form) {
  Extent grid;
  for (std::size_t d = 0; d < 3; ++d) {
    grid[d] = form.shape[d] / form.block_shape[d] + (form.shape[d] % form.block_shape[d] != 0);
  }
  return grid;
}

Result<SegmentationLayout> SegmentationLayout::Make(std::uint64_t size,
                                                    const SegmentationForm& form) {
  if (size % 4 != 0) {
    return RefuseChunk(kSegmentationFormat,
                       "expected words of 4 bytes, found " + std::to_string(size) + " bytes");
  }
  SegmentationLayout layout(size / 4, form);
  layout.grid_ = SegmentationGrid(form);
  const auto blocks = CheckedProduct(layout.grid_);
  const auto headers = blocks ? CheckedMultiply(*blocks, kSegmentationHeaderWords) : std::nullopt;
  if (!headers || form.channels > layout.words_) {
    return layout.Refuse("offsets of all channels", layout.words_);
  }
  layout.header_words_ = *headers;
  return layout;
}

Status SegmentationLayout::CheckChannel(std::uint64_t channel, std::uint64_t base) const {
  const std::string number = std::to_string(channel);
  if (base < form_.channels) {
    return RefuseChunk(kSegmentationFormat,
                       "expected the data of channel " + number +
                           " after the offsets of all channels, found it at word " +
                           std::to_string(base));
  }
  if (!MakeByteRange(base, header_words_, words_)) {
    return Refuse("block headers of channel " + number, base);
  }
  return {};
}

Result<SegmentationBlock> SegmentationLayout::ReadBlock(std::uint64_t base, std::uint32_t word0,
                                                        std::uint32_t word1,
                                                        const Extent& position) const {
  const SegmentationBlock block = {word0 >> 24, base + (word0 & kMaxSegmentationOffset),
                                   base + word1};
  if (block.bits > 32 || (block.bits != 0 && !std::has_single_bit(block.bits))) {
    return RefuseChunk(
        kSegmentationFormat,
        "expected 0, 1, 2, 4, 8, 16 or 32 bits a voxel, found " + std::to_string(block.bits));
  }
  if (!MakeByteRange(block.table, form_.label_words, words_)) {
    return Refuse("a table of labels", block.table);
  }
  const auto packed = PackedWords(position, block.bits);
  if (block.bits != 0 && (!packed || !MakeByteRange(block.values, *packed, words_))) {
    return Refuse("packed voxels", block.values);
  }
  return block;
}

tl::unexpected<Error> SegmentationLayout::Refuse(const std::string& what, std::uint64_t at) const {
  return RefuseChunk(kSegmentationFormat, "expected " + what + " within its " +
                                              std::to_string(words_) +
                                              " words, found them at word " + std::to_string(at));
}

// The words up to the last voxel of the block that lies in the chunk; readers need only these.
std::optional<std::uint64_t> SegmentationLayout::PackedWords(const Extent& position,
                                                             unsigned bits) const {
  Extent last{};
  for (std::size_t d = 0; d < 3; ++d) {
    const std::uint64_t begin = position[d] * form_.block_shape[d];
    last[d] = std::min(form_.block_shape[d], form_.shape[d] - begin) - 1;
  }
  const auto plane = CheckedMultiply(form_.block_shape[1], last[2]);
  const auto rows = plane ? CheckedAdd(*plane, last[1]) : std::nullopt;
  const auto before = rows ? CheckedMultiply(*rows, form_.block_shape[0]) : std::nullopt;
  const auto index = before ? CheckedAdd(*before, last[0]) : std::nullopt;
  const auto end = index ? CheckedAdd(*index, 1) : std::nullopt;
  const auto packed_bits = end ? CheckedMultiply(*end, bits) : std::nullopt;
  if (!packed_bits) return std::nullopt;
  return *packed_bits / 32 + (*packed_bits % 32 != 0);
}

}  // namespace unshard
