#include "codec/chain/chain_check.h"

#include <algorithm>
#include <utility>

namespace unshard {
namespace {

class ChainCheck final : public ChunkCheck {
 public:
  ChainCheck(ChunkCodecPtr chain, Shape chunk_shape, std::optional<ChunkGrid> clipping)
      : chain_(std::move(chain)),
        chunk_shape_(std::move(chunk_shape)),
        clipping_(std::move(clipping)),
        fixed_size_(chain_->FixedSize(chunk_shape_)) {}

  [[nodiscard]] std::optional<std::uint64_t> FixedSize(
      std::span<const std::uint64_t> cell) const override {
    if (!clipping_) return fixed_size_;
    const auto shape = ShapeOf(cell);
    return shape ? chain_->FixedSize(*shape) : std::nullopt;
  }
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return chain_->NeededBytes(size, chunk_shape_);
  }
  [[nodiscard]] Status Check(std::span<const std::uint64_t> cell, std::uint64_t size,
                             ByteSpan start) const override {
    if (size == 0) return RefuseEmptyChunk();
    const auto shape = ShapeOf(cell);
    if (!shape) return RefuseChunk("chunk", "it lies outside the grid");
    return chain_->Check(start, size, *shape);
  }

 private:
  // Nothing outside the grid.
  [[nodiscard]] std::optional<Shape> ShapeOf(std::span<const std::uint64_t> cell) const {
    if (!clipping_) return chunk_shape_;
    if (!clipping_->Contains(cell)) return std::nullopt;
    Shape shape = chunk_shape_;
    const Shape clipped = clipping_->ClippedShape(cell);
    std::copy(clipped.begin(), clipped.end(), shape.rbegin());
    return shape;
  }

  const ChunkCodecPtr chain_;
  const Shape chunk_shape_;
  const std::optional<ChunkGrid> clipping_;
  const std::optional<std::uint64_t> fixed_size_;  // where chunks are not clipped
};

}  // namespace

std::shared_ptr<const ChunkCheck> MakeChainCheck(ChunkCodecPtr chain, Shape chunk_shape,
                                                 std::optional<ChunkGrid> clipping) {
  return std::make_shared<ChainCheck>(std::move(chain), std::move(chunk_shape),
                                      std::move(clipping));
}

}  // namespace unshard
