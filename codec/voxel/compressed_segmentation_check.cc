#include "codec/voxel/compressed_segmentation_check.h"

namespace unshard {
namespace {

class SegmentationChecker {
 public:
  SegmentationChecker(ByteSpan start, const SegmentationLayout& layout)
      : start_(start), layout_(layout), budget_(layout.words()) {}

  Status Check() {
    const std::uint64_t channels = layout_.form().channels;
    for (std::uint64_t channel = 0; channel < channels && IsSeen(channel, 1); ++channel) {
      const std::uint64_t base = Word(channel);
      UNSHARD_RETURN_IF_ERROR(layout_.CheckChannel(channel, base));
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

  Status CheckBlocks(std::uint64_t base) {
    const auto& grid = layout_.grid();
    std::uint64_t at = base;
    for (std::uint64_t z = 0; z < grid[2]; ++z) {
      for (std::uint64_t y = 0; y < grid[1]; ++y) {
        for (std::uint64_t x = 0; x < grid[0]; ++x, at += kSegmentationHeaderWords) {
          if (!IsSeen(at, kSegmentationHeaderWords) || budget_ == 0) return {};
          --budget_;
          UNSHARD_RETURN_IF_ERROR(layout_.ReadBlock(base, Word(at), Word(at + 1), {x, y, z}));
        }
      }
    }
    return {};
  }

  const ByteSpan start_;
  const SegmentationLayout& layout_;
  // The number of blocks that may still be checked. This bounds the time for a small chunk in which
  // all channels refer to the same headers.
  std::uint64_t budget_;
};

}  // namespace

Status CheckCompressedSegmentation(ByteSpan start, std::uint64_t size,
                                   const SegmentationForm& form) {
  UNSHARD_ASSIGN_OR_RETURN(const SegmentationLayout layout, SegmentationLayout::Make(size, form));
  return SegmentationChecker(start, layout).Check();
}

}  // namespace unshard
