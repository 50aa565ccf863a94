#include "codec/voxel/item_codec.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "codec/core/byte_range.h"
#include "codec/json/writer.h"
#include "codec/voxel/transpose.h"

namespace unshard {
namespace {

// Filters may change the size of items, and compressors add headers: the bytes between two steps
// may exceed those of the voxels by this factor, and this many bytes.
constexpr std::uint64_t kMostGrowth = 16;
constexpr std::uint64_t kSlack = std::uint64_t{64} << 10;

bool IsFilter(const ArrayStep& step) { return step.filter != nullptr; }

ChunkEncoding DescribeChain(const ItemChain& chain, bool big_endian) {
  ChunkEncoding encoding;
  encoding.big_endian = big_endian;
  std::vector<std::size_t> order;
  for (const ArrayStep& step : chain.array_steps) {
    if (IsFilter(step)) {
      encoding.items += ", " + step.filter->name();
      if (!step.filter_configuration.is_null()) {
        encoding.items += " " + WriteJson(step.filter_configuration, 0);
      }
    } else {
      order = order.empty() ? step.order : Transposed(order, step.order);
    }
  }
  if (chain.packing) encoding.items += ", packbits " + WriteJson(chain.packing_configuration, 0);
  if (!IsIdentity(order)) encoding.order = std::move(order);
  for (const BytesStep& step : chain.bytes_steps) {
    encoding.steps.push_back({step.codec->name(), step.configuration});
  }
  return encoding;
}

class ItemCodec final : public ChunkCodec {
 public:
  explicit ItemCodec(ItemChain chain) : chain_(std::move(chain)) {
    if (chain_.ordered_size == 0) chain_.ordered_size = chain_.type.ordered_size();
    swaps_ = chain_.big_endian && chain_.ordered_size > 1;
    has_filters_ = std::any_of(chain_.array_steps.begin(), chain_.array_steps.end(), IsFilter);
    encoding_ = DescribeChain(chain_, swaps_);
  }

  [[nodiscard]] const DataType& type() const override { return chain_.type; }
  [[nodiscard]] const ChunkEncoding& encoding() const override { return encoding_; }
  [[nodiscard]] bool is_lossy() const override { return chain_.is_lossy; }

  [[nodiscard]] Status CanEncode() const override {
    for (const ArrayStep& step : chain_.array_steps) {
      if (IsFilter(step)) UNSHARD_RETURN_IF_ERROR(step.filter->CanEncode());
    }
    for (const BytesStep& step : chain_.bytes_steps) {
      UNSHARD_RETURN_IF_ERROR(step.codec->CanEncode());
    }
    return {};
  }

  [[nodiscard]] std::optional<std::uint64_t> EncodedSize(
      std::span<const std::uint64_t> shape) const override {
    if (has_filters_) return std::nullopt;
    const auto items = VoxelBytes(chain_.type, shape);
    std::optional<std::uint64_t> size = items ? std::optional(StoredSize(*items)) : std::nullopt;
    for (const BytesStep& step : chain_.bytes_steps) {
      const auto overhead = step.codec->fixed_overhead();
      size = size && overhead ? CheckedAdd(*size, *overhead) : std::nullopt;
    }
    return size;
  }

  [[nodiscard]] Result<Voxels> Decode(ByteSpan encoded,
                                      std::span<const std::uint64_t> shape) const override {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, VoxelBytes(chain_.type, shape));
    UNSHARD_RETURN_IF_ERROR(CheckRank(shape.size()));
    const std::uint64_t stored_size = StoredSize(size);
    UNSHARD_ASSIGN_OR_RETURN(ByteVector items, DecodeSteps(encoded, stored_size));
    if (!has_filters_) UNSHARD_RETURN_IF_ERROR(ExpectSize(items.size(), stored_size));
    if (chain_.packing) {
      UNSHARD_ASSIGN_OR_RETURN(items, chain_.packing->Unpack(items, size / chain_.type.size));
    }
    if (swaps_) {
      if (items.size() % chain_.ordered_size != 0) return ExpectWholeItems(items.size());
      ReverseBytes(items, chain_.ordered_size);
    }
    UNSHARD_RETURN_IF_ERROR(DecodeArray(items, shape, size));
    UNSHARD_RETURN_IF_ERROR(ExpectSize(items.size(), size));
    return Voxels{chain_.type, {shape.begin(), shape.end()}, std::move(items)};
  }

  [[nodiscard]] Result<ByteVector> Encode(const Voxels& voxels) const override {
    UNSHARD_RETURN_IF_ERROR(CheckVoxels(voxels));
    UNSHARD_RETURN_IF_ERROR(CanEncode());
    std::vector<std::uint64_t> shape = voxels.shape;
    ByteVector bytes;  // the output of the last step; empty before the first
    ByteSpan current = voxels.bytes;
    const auto take = [&](ByteVector next) {
      bytes = std::move(next);
      current = bytes;
    };
    for (const ArrayStep& step : chain_.array_steps) {
      if (IsFilter(step)) {
        UNSHARD_ASSIGN_OR_RETURN(ByteVector next, step.filter->Encode(current));
        take(std::move(next));
      } else {
        take(Transpose(current, chain_.type.size, shape, step.order));
        shape = Transposed(shape, step.order);
      }
    }
    if (chain_.packing) take(chain_.packing->Pack(current));
    if (swaps_) {
      take(ByteVector(current.begin(), current.end()));
      ReverseBytes(bytes, chain_.ordered_size);
    }
    for (const BytesStep& step : chain_.bytes_steps) {
      UNSHARD_ASSIGN_OR_RETURN(ByteVector next, step.codec->Encode(current));
      take(std::move(next));
    }
    if (current.data() != bytes.data()) take(ByteVector(current.begin(), current.end()));
    return bytes;
  }

 private:
  // The size of the items before the bytes-to-bytes codecs, of `size` bytes of voxels without
  // filters.
  [[nodiscard]] std::uint64_t StoredSize(std::uint64_t size) const {
    return chain_.packing ? chain_.packing->PackedSize(size / chain_.type.size) : size;
  }

  static Status ExpectSize(std::uint64_t found, std::uint64_t expected) {
    if (found == expected) return {};
    return Fail(ErrorCode::kDataLoss, "expected a chunk that decodes to " +
                                          std::to_string(expected) + " bytes, found " +
                                          std::to_string(found));
  }

  [[nodiscard]] tl::unexpected<Error> ExpectWholeItems(std::uint64_t found) const {
    return Fail(ErrorCode::kDataLoss, "expected items of " + std::to_string(chain_.ordered_size) +
                                          " bytes, found " + std::to_string(found) +
                                          " bytes in all");
  }

  [[nodiscard]] Status CheckRank(std::size_t rank) const {
    for (const ArrayStep& step : chain_.array_steps) {
      if (IsFilter(step) || step.order.size() == rank) continue;
      return Fail(ErrorCode::kInvalidArgument, "expected a chunk of " +
                                                   std::to_string(step.order.size()) +
                                                   " dimensions, found " + std::to_string(rank));
    }
    return {};
  }

  [[nodiscard]] Status CheckVoxels(const Voxels& voxels) const {
    if (!(voxels.type == chain_.type)) {
      return Fail(ErrorCode::kInvalidArgument, "expected voxels of " + DataTypeName(chain_.type) +
                                                   ", found " + DataTypeName(voxels.type));
    }
    UNSHARD_RETURN_IF_ERROR(CheckRank(voxels.shape.size()));
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, VoxelBytes(voxels.type, voxels.shape));
    if (voxels.bytes.size() != size) {
      return Fail(ErrorCode::kInvalidArgument, "expected voxels of " + std::to_string(size) +
                                                   " bytes, found " +
                                                   std::to_string(voxels.bytes.size()));
    }
    return {};
  }

  // Decodes the bytes-to-bytes codecs, to `size` bytes where there are no filters.
  [[nodiscard]] Result<ByteVector> DecodeSteps(ByteSpan encoded, std::uint64_t size) const {
    const std::uint64_t most = kMostGrowth * size + kSlack;
    if (chain_.bytes_steps.empty()) {
      // Before the copy, so that a file of a wrong size takes no memory.
      if (!has_filters_) UNSHARD_RETURN_IF_ERROR(ExpectSize(encoded.size(), size));
      if (encoded.size() > most) return ExpectNoMore(most);
      return ByteVector(encoded.begin(), encoded.end());
    }
    ByteVector bytes;
    for (std::size_t i = chain_.bytes_steps.size(); i-- > 0;) {
      const bool gives_items = i == 0 && !has_filters_;
      UNSHARD_ASSIGN_OR_RETURN(
          ByteVector next, chain_.bytes_steps[i].codec->Decode(encoded, gives_items ? size : most));
      bytes = std::move(next);
      encoded = bytes;
    }
    return bytes;
  }

  static tl::unexpected<Error> ExpectNoMore(std::uint64_t most) {
    return Fail(ErrorCode::kDataLoss,
                "expected a chunk of at most " + std::to_string(most) + " bytes");
  }

  // Decodes the array-to-array codecs, in place.
  [[nodiscard]] Status DecodeArray(ByteVector& items, std::span<const std::uint64_t> shape,
                                   std::uint64_t size) const {
    std::vector<std::vector<std::uint64_t>> shapes{{shape.begin(), shape.end()}};  // before steps
    for (const ArrayStep& step : chain_.array_steps) {
      const std::vector<std::uint64_t>& last = shapes.back();
      shapes.push_back(IsFilter(step) ? last : Transposed(last, step.order));
    }
    for (std::size_t i = chain_.array_steps.size(); i-- > 0;) {
      const ArrayStep& step = chain_.array_steps[i];
      if (IsFilter(step)) {
        UNSHARD_ASSIGN_OR_RETURN(items, step.filter->Decode(items, kMostGrowth * size + kSlack));
      } else {
        UNSHARD_RETURN_IF_ERROR(ExpectSize(items.size(), size));
        items = Transpose(items, chain_.type.size, shapes[i + 1], InverseOrder(step.order));
      }
    }
    return {};
  }

  ItemChain chain_;
  bool swaps_ = false;
  bool has_filters_ = false;
  ChunkEncoding encoding_;
};

}  // namespace

ChunkCodecPtr MakeItemCodec(ItemChain chain) {
  return std::make_shared<ItemCodec>(std::move(chain));
}

}  // namespace unshard
