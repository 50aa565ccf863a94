#include "codec/voxel/compressed_segmentation.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codec/core/byte_range.h"

namespace unshard {
namespace {

using Extent = std::array<std::uint64_t, 3>;

// Layout, in 32-bit little-endian words:
//   word 0           offset of the channel's data (1, for the only channel)
//   2 words a block  table offset | bits << 24, then the offset of the packed values; both count
//                    from the start of the channel's data
//   then, block by block: packed values, and the table unless an equal one was written before
constexpr std::uint64_t kMaxOffset = (std::uint64_t{1} << 24) - 1;
constexpr std::uint64_t kChannelTableWords = 1;

class ChannelEncoder {
 public:
  ChannelEncoder(std::span<const std::uint64_t> labels, const Extent& shape, const Extent& block)
      : labels_(labels), shape_(shape), block_(block) {
    for (std::size_t d = 0; d < 3; ++d) grid_[d] = (shape[d] + block[d] - 1) / block[d];
  }

  Result<ByteVector> Encode() {
    const std::uint64_t block_count = grid_[0] * grid_[1] * grid_[2];
    if (2 * block_count > kMaxOffset) return TooLarge();
    words_.assign(2 * block_count, 0);
    std::uint64_t number = 0;
    for (std::uint64_t z = 0; z < grid_[2]; ++z) {
      for (std::uint64_t y = 0; y < grid_[1]; ++y) {
        for (std::uint64_t x = 0; x < grid_[0]; ++x) {
          UNSHARD_RETURN_IF_ERROR(
              EncodeBlock({x * block_[0], y * block_[1], z * block_[2]}, number));
          ++number;
        }
      }
    }
    ByteVector encoded((kChannelTableWords + words_.size()) * 4);
    StoreU32Le(encoded.data(), kChannelTableWords);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      StoreU32Le(encoded.data() + 4 * (kChannelTableWords + i), words_[i]);
    }
    return encoded;
  }

 private:
  static tl::unexpected<Error> TooLarge() {
    return Fail(ErrorCode::kResourceExhausted,
                "compressed_segmentation: the chunk needs offsets beyond 24 bits (64 MiB); "
                "expected a smaller chunk");
  }

  // Calls visit(label, position in the nominal block) for each voxel of a block within the chunk.
  template <class Visit>
  void ForEachVoxel(const Extent& begin, Visit visit) const {
    Extent size;
    for (std::size_t d = 0; d < 3; ++d) size[d] = std::min(block_[d], shape_[d] - begin[d]);
    for (std::uint64_t z = 0; z < size[2]; ++z) {
      for (std::uint64_t y = 0; y < size[1]; ++y) {
        const std::uint64_t row =
            begin[0] + shape_[0] * (begin[1] + y + shape_[1] * (begin[2] + z));
        const std::uint64_t position = block_[0] * (y + block_[1] * z);
        for (std::uint64_t x = 0; x < size[0]; ++x) visit(labels_[row + x], position + x);
      }
    }
  }

  Status EncodeBlock(const Extent& begin, std::uint64_t number) {
    std::vector<std::uint64_t> table = DistinctLabels(begin);
    unsigned bits = 0;
    if (table.size() > 1) bits = 1;
    while (bits != 0 && (std::uint64_t{1} << bits) < table.size()) bits *= 2;
    const std::uint64_t values_at = words_.size();
    if (bits != 0) AppendPackedIndices(begin, table, bits);
    const std::uint64_t table_at = AppendTable(std::move(table));
    if (values_at > kMaxOffset || table_at > kMaxOffset) return TooLarge();
    words_[2 * number] = static_cast<std::uint32_t>(table_at) | static_cast<std::uint32_t>(bits)
                                                                    << 24;
    words_[2 * number + 1] = static_cast<std::uint32_t>(values_at);
    return {};
  }

  [[nodiscard]] std::vector<std::uint64_t> DistinctLabels(const Extent& begin) const {
    // Most neighbours are equal: dropping runs of one label first makes sorting cheap.
    std::vector<std::uint64_t> distinct;
    ForEachVoxel(begin, [&](std::uint64_t label, std::uint64_t) {
      if (distinct.empty() || distinct.back() != label) distinct.push_back(label);
    });
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    return distinct;
  }

  void AppendPackedIndices(const Extent& begin, const std::vector<std::uint64_t>& table,
                           unsigned bits) {
    const std::uint64_t first = words_.size();
    // Positions beyond a clipped edge have index 0.
    words_.resize(first + (bits * block_[0] * block_[1] * block_[2] + 31) / 32, 0);
    std::uint64_t index = 0;
    ForEachVoxel(begin, [&](std::uint64_t label, std::uint64_t position) {
      if (table[index] != label) {
        const auto found = std::lower_bound(table.begin(), table.end(), label);
        index = static_cast<std::uint64_t>(found - table.begin());
      }
      const std::uint64_t bit = position * bits;
      words_[first + bit / 32] |= static_cast<std::uint32_t>(index) << (bit % 32);
    });
  }

  // The offset of the table, which is appended unless an equal one was written before.
  std::uint64_t AppendTable(std::vector<std::uint64_t> table) {
    const auto [entry, is_new] = tables_.try_emplace(std::move(table), words_.size());
    if (is_new) {
      for (const std::uint64_t label : entry->first) {
        words_.push_back(static_cast<std::uint32_t>(label));
        words_.push_back(static_cast<std::uint32_t>(label >> 32));
      }
    }
    return entry->second;
  }

  const std::span<const std::uint64_t> labels_;
  const Extent shape_;
  const Extent block_;
  Extent grid_{};
  std::vector<std::uint32_t> words_;  // of the channel, without the channel table
  std::map<std::vector<std::uint64_t>, std::uint64_t> tables_;  // to their offsets
};

}  // namespace

Result<ByteVector> EncodeCompressedSegmentation(std::span<const std::uint64_t> labels,
                                                const Extent& shape, const Extent& block_shape) {
  if (CheckedProduct(shape) != labels.size()) {
    return Fail(ErrorCode::kInvalidArgument,
                "compressed_segmentation: expected as many labels as the shape has voxels, found " +
                    std::to_string(labels.size()));
  }
  // One packed block has to lie within reach of an offset; this also bounds every product below.
  const auto block_voxels = CheckedProduct(block_shape);
  if (!block_voxels || *block_voxels == 0 || *block_voxels > kMaxOffset) {
    return Fail(ErrorCode::kInvalidArgument,
                "compressed_segmentation: expected block extents of at least 1 and a block of at "
                "most 16777215 voxels");
  }
  return ChannelEncoder(labels, shape, block_shape).Encode();
}

}  // namespace unshard
