#include "codec/voxel/jpeg.h"

#include <turbojpeg.h>

#include <memory>
#include <string>
#include <utility>

#include "codec/core/byte_range.h"
#include "codec/voxel/image_check.h"
#include "codec/voxel/volume_functions.h"

namespace unshard {
namespace {

constexpr int kMaxQuality = 100;

struct DestroyHandle {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using Handle = std::unique_ptr<void, DestroyHandle>;

struct FreeBuffer {
  void operator()(unsigned char* buffer) const { tjFree(buffer); }
};

tl::unexpected<Error> NoMemory() {
  return Fail(ErrorCode::kResourceExhausted, "jpeg chunk: out of memory");
}

int PixelFormat(std::uint64_t components) { return components == 1 ? TJPF_GRAY : TJPF_RGB; }

// Fails with kInvalidArgument unless there is a byte for each component, with components 1 or 3,
// sides within 1 … kMaxJpegSide and a quality within 0 … 100.
Result<ByteVector> EncodeJpeg(ByteSpan planes, const ImageSize& size, std::uint64_t components,
                              int quality) {
  const bool fits = size.width - 1 < kMaxJpegSide && size.height - 1 < kMaxJpegSide;
  if (!fits || (components != 1 && components != 3) ||
      planes.size() != size.width * size.height * components || quality < 0 ||
      quality > kMaxQuality) {
    return Fail(ErrorCode::kInvalidArgument,
                "jpeg chunk: expected 1 or 3 components of one byte, sides of at most 65500 pixels "
                "and a quality from 0 to 100");
  }
  const Handle encoder(tjInitCompress());
  if (!encoder) return NoMemory();
  const ByteVector pixels = components == 1 ? ByteVector() : PlanesToPixels(planes, components, 1);
  unsigned char* buffer = nullptr;
  unsigned long encoded_size = 0;
  const int failure = tjCompress2(
      encoder.get(), components == 1 ? planes.data() : pixels.data(), static_cast<int>(size.width),
      0, static_cast<int>(size.height), PixelFormat(components), &buffer, &encoded_size,
      components == 1 ? TJSAMP_GRAY : TJSAMP_420, quality, TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, FreeBuffer> encoded(buffer);
  if (failure != 0) {
    return Fail(ErrorCode::kInternal, "jpeg chunk: ", tjGetErrorStr2(encoder.get()));
  }
  return ByteVector(buffer, buffer + encoded_size);
}

}  // namespace

Result<ByteVector> DecodeJpeg(ByteSpan encoded, const ImageForm& form) {
  const auto expected_size = CheckedMultiply(form.pixels, form.components);
  if ((form.components != 1 && form.components != 3) || form.component_size != 1 ||
      !expected_size) {
    return Fail(ErrorCode::kInvalidArgument,
                "jpeg chunk: expected 1 or 3 channels of one byte a voxel");
  }
  auto size = CheckJpeg(encoded, encoded.size(), form);
  if (!size) return Fail(ErrorCode::kDataLoss, std::move(size).error().message);
  const Handle decoder(tjInitDecompress());
  if (!decoder) return NoMemory();
  // The library scales images down to the size that it is given, and never up: whatever the headers
  // say, it writes no more than the size of `pixels`.
  ByteVector pixels(*expected_size);
  const int failure = tjDecompress2(
      decoder.get(), encoded.data(), encoded.size(), pixels.data(), static_cast<int>(size->width),
      static_cast<int>(size->width * form.components), static_cast<int>(size->height),
      PixelFormat(form.components), TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS);
  if (failure != 0) {
    return Fail(ErrorCode::kDataLoss, "jpeg chunk: ", tjGetErrorStr2(decoder.get()));
  }
  if (form.components == 1) return pixels;
  return PixelsToPlanes(pixels, form.components, 1);
}

Result<ChunkCodecPtr> MakeJpegCodec(const VolumeEncoding& volume) {
  if (!(volume.type == kUint8) || (volume.channels != 1 && volume.channels != 3)) {
    return RefuseVolume(volume, "uint8 and 1 or 3 channels");
  }
  VolumeFunctions functions;
  functions.items = volume.encoding;
  functions.is_lossy = true;
  functions.decode = [volume](ByteSpan encoded, const std::array<std::uint64_t, 3>& shape) {
    return DecodeJpeg(encoded, ImageFormOf(volume, shape));
  };
  functions.encode = [volume](ByteSpan planes,
                              const std::array<std::uint64_t, 3>& shape) -> Result<ByteVector> {
    UNSHARD_ASSIGN_OR_RETURN(const ImageSize size, ArrangeImage("jpeg chunk", shape, kMaxJpegSide));
    return EncodeJpeg(planes, size, volume.channels,
                      volume.jpeg_quality.value_or(kDefaultJpegQuality));
  };
  return MakeFunctionCodec(volume, std::move(functions));
}

}  // namespace unshard
