#include "codec/voxel/volume_check.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "codec/core/byte_range.h"
#include "codec/voxel/compressed_segmentation_check.h"
#include "codec/voxel/image_check.h"

namespace unshard {
namespace {

constexpr std::uint64_t kTooMany = std::numeric_limits<std::uint64_t>::max();

// The common part of all encodings. Calls CheckContent with a cell of the grid and at least one
// byte.
class VolumeCheck : public ChunkCheck {
 public:
  explicit VolumeCheck(VolumeChunks chunks) : chunks_(std::move(chunks)) {}

  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return std::min(size, kMostCheckedBytes);
  }
  [[nodiscard]] Status Check(std::span<const std::uint64_t> cell, std::uint64_t size,
                             ByteSpan start) const final {
    if (size == 0) return RefuseEmptyChunk();
    if (!chunks_.grid.Contains(cell)) return RefuseChunk("chunk", "it lies outside the grid");
    return CheckContent(cell, size, start);
  }

 protected:
  [[nodiscard]] virtual Status CheckContent(std::span<const std::uint64_t> cell, std::uint64_t size,
                                            ByteSpan start) const = 0;
  [[nodiscard]] const VolumeChunks& chunks() const { return chunks_; }

 private:
  const VolumeChunks chunks_;
};

class RawCheck final : public VolumeCheck {
 public:
  using VolumeCheck::VolumeCheck;

  [[nodiscard]] std::optional<std::uint64_t> FixedSize(
      std::span<const std::uint64_t> cell) const override {
    if (!chunks().grid.Contains(cell)) return std::nullopt;
    const auto voxel = CheckedMultiply(chunks().item_size, chunks().channels);
    return CheckedMultiply(voxel.value_or(kTooMany), chunks().grid.ClippedElementCount(cell));
  }
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t /*size*/) const override { return 0; }

 private:
  [[nodiscard]] Status CheckContent(std::span<const std::uint64_t> cell, std::uint64_t size,
                                    ByteSpan /*start*/) const override {
    const std::uint64_t expected = FixedSize(cell).value_or(kTooMany);
    if (size != expected) return RefuseChunkSize("raw chunk", expected, size);
    return {};
  }
};

class ImageCheck final : public VolumeCheck {
 public:
  using Function = Status (*)(ByteSpan, std::uint64_t, const ImageForm&);
  ImageCheck(VolumeChunks chunks, Function function)
      : VolumeCheck(std::move(chunks)), function_(function) {}

 private:
  [[nodiscard]] Status CheckContent(std::span<const std::uint64_t> cell, std::uint64_t size,
                                    ByteSpan start) const override {
    const ImageForm form = {chunks().grid.ClippedElementCount(cell), chunks().channels,
                            chunks().item_size};
    return function_(start, size, form);
  }

  const Function function_;
};

class SegmentationCheck final : public VolumeCheck {
 public:
  using VolumeCheck::VolumeCheck;

 private:
  [[nodiscard]] Status CheckContent(std::span<const std::uint64_t> cell, std::uint64_t size,
                                    ByteSpan start) const override {
    SegmentationForm form;
    for (std::size_t d = 0; d < form.shape.size(); ++d) {
      const CellExtent extent = chunks().grid.Extent(cell, d);
      form.shape[d] =
          static_cast<std::uint64_t>(extent.end) - static_cast<std::uint64_t>(extent.begin);
    }
    form.block_shape = chunks().block_size;
    form.channels = chunks().channels;
    form.label_words = chunks().item_size / 4;
    return CheckCompressedSegmentation(start, size, form);
  }
};

class CompressoCheck final : public VolumeCheck {
 public:
  using VolumeCheck::VolumeCheck;
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return std::min(size, kHeaderSize);
  }

 private:
  // "cpso", u8 version, u8 bytes of a label, u16 extents x y z, …
  static constexpr std::uint64_t kHeaderSize = 36;

  [[nodiscard]] Status CheckContent(std::span<const std::uint64_t> cell, std::uint64_t /*size*/,
                                    ByteSpan start) const override {
    if (start.size() < kHeaderSize || !AsText(start).starts_with("cpso")) {
      return RefuseChunk("compresso chunk", "expected a header that begins with \"cpso\"");
    }
    std::uint64_t voxels = 1;
    for (const std::size_t at : {6u, 8u, 10u}) {
      voxels *= static_cast<std::uint64_t>(start[at]) | static_cast<std::uint64_t>(start[at + 1])
                                                            << 8;
    }
    const std::uint64_t expected = chunks().grid.ClippedElementCount(cell);
    if (voxels == expected) return {};
    return RefuseChunk("compresso chunk", "expected " + std::to_string(expected) +
                                              " voxels, found " + std::to_string(voxels));
  }
};

class JpegXlCheck final : public VolumeCheck {
 public:
  using VolumeCheck::VolumeCheck;
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return std::min<std::uint64_t>(size, kContainer.size());
  }

 private:
  static constexpr std::string_view kCodestream = "\xff\x0a";
  static constexpr std::string_view kContainer = {"\0\0\0\x0cJXL \r\n\x87\n", 12};

  [[nodiscard]] Status CheckContent(std::span<const std::uint64_t> /*cell*/, std::uint64_t /*size*/,
                                    ByteSpan start) const override {
    const std::string_view text = AsText(start);
    if (text.starts_with(kCodestream) || text.starts_with(kContainer)) return {};
    return RefuseChunk("jxl chunk", "expected the signature of a JPEG XL image");
  }
};

Status CheckJpegChunk(ByteSpan start, std::uint64_t size, const ImageForm& form) {
  UNSHARD_RETURN_IF_ERROR(CheckJpeg(start, size, form));
  return {};
}

bool IsWellKnownSegmentation(const VolumeChunks& chunks) {
  const auto& block = chunks.block_size;
  return (chunks.item_size == 4 || chunks.item_size == 8) && chunks.channels != 0 &&
         std::find(block.begin(), block.end(), 0u) == block.end();
}

}  // namespace

std::shared_ptr<const ChunkCheck> MakeVolumeCheck(VolumeChunks chunks) {
  const std::string encoding = chunks.encoding;
  if (encoding == "raw" && chunks.item_size != 0 && chunks.channels != 0) {
    return std::make_shared<RawCheck>(std::move(chunks));
  }
  if (encoding == "jpeg") return std::make_shared<ImageCheck>(std::move(chunks), CheckJpegChunk);
  if (encoding == "png") return std::make_shared<ImageCheck>(std::move(chunks), CheckPng);
  if (encoding == "compressed_segmentation" && IsWellKnownSegmentation(chunks)) {
    return std::make_shared<SegmentationCheck>(std::move(chunks));
  }
  if (encoding == "compresso") return std::make_shared<CompressoCheck>(std::move(chunks));
  if (encoding == "jxl") return std::make_shared<JpegXlCheck>(std::move(chunks));
  return MakeNotEmptyCheck();
}

}  // namespace unshard
