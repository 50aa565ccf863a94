#include "codec/volume_check.h"

#include <limits>
#include <string>
#include <utility>

#include "codec/byte_range.h"

namespace unshard {
namespace {

constexpr std::uint64_t kTooMany = std::numeric_limits<std::uint64_t>::max();

class RawCheck final : public ChunkCheck {
 public:
  explicit RawCheck(VolumeChunks chunks) : chunks_(std::move(chunks)) {}

  [[nodiscard]] std::optional<std::uint64_t> FixedSize(
      std::span<const std::uint64_t> cell) const override {
    if (!chunks_.grid.Contains(cell)) return std::nullopt;
    const auto voxel = CheckedMultiply(chunks_.item_size, chunks_.channels);
    return CheckedMultiply(voxel.value_or(kTooMany), chunks_.grid.ClippedElementCount(cell));
  }
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t /*size*/) const override { return 0; }
  [[nodiscard]] Status Check(std::span<const std::uint64_t> cell, std::uint64_t size,
                             ByteSpan /*start*/) const override {
    if (size == 0) return RefuseEmptyChunk();
    const std::uint64_t expected = FixedSize(cell).value_or(kTooMany);
    if (size != expected) return RefuseChunkSize("raw chunk", expected, size);
    return {};
  }

 private:
  const VolumeChunks chunks_;
};

}  // namespace

std::shared_ptr<const ChunkCheck> MakeVolumeCheck(VolumeChunks chunks) {
  if (chunks.encoding == "raw" && chunks.item_size != 0 && chunks.channels != 0) {
    return std::make_shared<RawCheck>(std::move(chunks));
  }
  return MakeNotEmptyCheck();
}

}  // namespace unshard
