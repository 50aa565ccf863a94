// The layout: codec/voxel/compressed_segmentation.cc. Offsets and sizes count words of 32 bits.
#include "codec/voxel/compressed_segmentation_check.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>

#include "codec/core/byte_range.h"
#include "codec/voxel/chunk_check.h"

namespace unshard {
namespace {

using Extent = std::array<std::uint64_t, 3>;

constexpr std::string_view kFormat = "compressed_segmentation chunk";
constexpr std::uint64_t kHeaderWords = 2;  // of a block
constexpr std::uint32_t kOffsetMask = (std::uint32_t{1} << 24) - 1;

class SegmentationChecker {
 public:
  SegmentationChecker(ByteSpan start, std::uint64_t size, const SegmentationForm& form)
      : start_(start), words_(size / 4), form_(form), budget_(words_) {
    for (std::size_t d = 0; d < 3; ++d) {
      grid_[d] = form.shape[d] / form.block_shape[d] + (form.shape[d] % form.block_shape[d] != 0);
    }
  }

  Status Check() {
    const auto blocks = CheckedProduct(grid_);
    const auto headers = blocks ? CheckedMultiply(*blocks, kHeaderWords) : std::nullopt;
    if (!headers || form_.channels > words_) return Refuse("offsets of all channels", words_);
    for (std::uint64_t channel = 0; channel < form_.channels && IsSeen(channel, 1); ++channel) {
      const std::uint64_t base = Word(channel);
      const std::string number = std::to_string(channel);
      if (base < form_.channels) return RefuseChunk(kFormat, "channel " + number + " has no place");
      if (!MakeByteRange(base, *headers, words_)) {
        return Refuse("block headers of channel " + number, base);
      }
      UNSHARD_RETURN_IF_ERROR(CheckBlocks(base));
    }
    return {};
  }

 private:
  [[nodiscard]] std::uint32_t Word(std::uint64_t at) const {
    return LoadU32Le(start_.data() + 4 * at);
  }
  // Requires: the words lie within the chunk.
  [[nodiscard]] bool IsSeen(std::uint64_t at, std::uint64_t count) const {
    return 4 * (at + count) <= start_.size();
  }

  [[nodiscard]] Status Refuse(const std::string& what, std::uint64_t at) const {
    return RefuseChunk(kFormat, "expected " + what + " within its " + std::to_string(words_) +
                                    " words, found them at word " + std::to_string(at));
  }

  Status CheckBlocks(std::uint64_t base) {
    std::uint64_t at = base;
    for (std::uint64_t z = 0; z < grid_[2]; ++z) {
      for (std::uint64_t y = 0; y < grid_[1]; ++y) {
        for (std::uint64_t x = 0; x < grid_[0]; ++x, at += kHeaderWords) {
          if (!IsSeen(at, kHeaderWords) || budget_ == 0) return {};
          --budget_;
          UNSHARD_RETURN_IF_ERROR(CheckBlock(base, at, {x, y, z}));
        }
      }
    }
    return {};
  }

  [[nodiscard]] Status CheckBlock(std::uint64_t base, std::uint64_t at, const Extent& block) const {
    const std::uint64_t table = base + (Word(at) & kOffsetMask);
    const unsigned bits = Word(at) >> 24;
    const std::uint64_t values = base + Word(at + 1);
    if (bits > 32 || (bits != 0 && !std::has_single_bit(bits))) {
      return RefuseChunk(
          kFormat, "expected 0, 1, 2, 4, 8, 16 or 32 bits a voxel, found " + std::to_string(bits));
    }
    if (!MakeByteRange(table, form_.label_words, words_)) return Refuse("a table of labels", table);
    const auto packed = PackedWords(block, bits);
    if (bits != 0 && (!packed || !MakeByteRange(values, *packed, words_))) {
      return Refuse("packed voxels", values);
    }
    return {};
  }

  // The words up to the last voxel of the block that lies in the chunk; readers need only these.
  [[nodiscard]] std::optional<std::uint64_t> PackedWords(const Extent& block, unsigned bits) const {
    Extent last{};
    for (std::size_t d = 0; d < 3; ++d) {
      const std::uint64_t begin = block[d] * form_.block_shape[d];
      last[d] = std::min(form_.block_shape[d], form_.shape[d] - begin) - 1;
    }
    const auto plane = CheckedMultiply(form_.block_shape[1], last[2]);
    const auto rows = plane ? CheckedAdd(*plane, last[1]) : std::nullopt;
    const auto before = rows ? CheckedMultiply(*rows, form_.block_shape[0]) : std::nullopt;
    const auto position = before ? CheckedAdd(*before, last[0]) : std::nullopt;
    const auto end = position ? CheckedAdd(*position, 1) : std::nullopt;
    const auto packed_bits = end ? CheckedMultiply(*end, bits) : std::nullopt;
    if (!packed_bits) return std::nullopt;
    return *packed_bits / 32 + (*packed_bits % 32 != 0);
  }

  const ByteSpan start_;
  const std::uint64_t words_;
  const SegmentationForm form_;
  // The number of blocks that may still be checked: it bounds the time for a small chunk in which
  // all channels refer to the same headers.
  std::uint64_t budget_;
  Extent grid_{};
};

}  // namespace

Status CheckCompressedSegmentation(ByteSpan start, std::uint64_t size,
                                   const SegmentationForm& form) {
  if (size % 4 != 0) {
    return RefuseChunk(kFormat,
                       "expected words of 4 bytes, found " + std::to_string(size) + " bytes");
  }
  return SegmentationChecker(start, size, form).Check();
}

}  // namespace unshard
