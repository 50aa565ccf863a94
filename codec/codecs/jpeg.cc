// The jpeg encoding of precomputed volumes, by libjpeg-turbo: of uint8 with 1 or 3 channels. Chunks
// are encoded as baseline JPEGs, 1 channel as gray, 3 as RGB stored in YCbCr 4:2:0: the same bytes
// as TensorStore's. Any JPEG with components of 8 bits is decoded.
//
// The check walks the list of marker segments up to the coded data. This needs neither the memory
// nor the error handling of a decoder, and finds the end of an image without decoding its pixels.
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"
#include "codec/codecs/image_form.h"
#include "codec/core/byte_range.h"
#include "codec/grid/chunk_check.h"

namespace unshard {
namespace {

constexpr const char* kJpegChunk = "jpeg chunk";
constexpr int kMaxQuality = 100;

struct DestroyHandle {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using Handle = std::unique_ptr<void, DestroyHandle>;

struct FreeBuffer {
  void operator()(unsigned char* buffer) const { tjFree(buffer); }
};

int PixelFormat(std::uint64_t components) { return components == 1 ? TJPF_GRAY : TJPF_RGB; }

Result<ByteVector> EncodeJpeg(ByteSpan planes, const ImageSize& size, std::uint64_t components,
                              int quality) {
  const Handle encoder(tjInitCompress());
  if (!encoder) return NoMemory(kJpegChunk);
  const ByteVector pixels = components == 1 ? ByteVector() : PlanesToPixels(planes, components, 1);
  unsigned char* buffer = nullptr;
  unsigned long encoded_size = 0;
  const int failure = tjCompress2(
      encoder.get(), components == 1 ? planes.data() : pixels.data(), static_cast<int>(size.width),
      0, static_cast<int>(size.height), PixelFormat(components), &buffer, &encoded_size,
      components == 1 ? TJSAMP_GRAY : TJSAMP_420, quality, TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, FreeBuffer> encoded(buffer);
  if (failure != 0) {
    return Fail(ErrorCode::kInternal, kJpegChunk, ": ", tjGetErrorStr2(encoder.get()));
  }
  return ByteVector(buffer, buffer + encoded_size);
}

// --- The check

// Markers of JPEG, the byte after 0xff.
constexpr std::uint8_t kStartOfImage = 0xd8;
constexpr std::uint8_t kEndOfImage = 0xd9;
constexpr std::uint8_t kStartOfScan = 0xda;
constexpr std::size_t kFrameHeader = 8;  // length, precision, height, width, component count

// Restart markers and TEM have no segment.
bool StandsAlone(std::uint8_t marker) {
  return marker == 0x01 || (marker >= 0xd0 && marker <= kStartOfImage);
}

// SOF0 to SOF15, without the three other markers in that range (DHT, JPG, DAC).
bool StartsFrame(std::uint8_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

Result<ImageSize> CheckJpegFrame(ByteSpan segment, const ImageForm& form) {
  if (segment.size() < kFrameHeader) {
    return RefuseChunk(kJpegChunk, "expected a frame header of at least ", kFrameHeader,
                       " bytes, found ", segment.size());
  }
  const ImageSize size = {LoadU16Be(segment.data() + 5), LoadU16Be(segment.data() + 3)};
  UNSHARD_RETURN_IF_ERROR(CheckImageForm(kJpegChunk, size, segment[7], segment[2], form));
  return size;
}

// In coded data 0 or a restart marker follows 0xff, so that only the real end is found.
bool HasEndOfImage(ByteSpan coded) {
  constexpr std::array<std::uint8_t, 2> kEnd = {0xff, kEndOfImage};
  return std::search(coded.begin(), coded.end(), kEnd.begin(), kEnd.end()) != coded.end();
}

// `start` is the beginning of a file of `size` bytes; where it is the whole file, it must contain
// the end of the image as well. Fails with kInvalidArgument. The size of the image in the last
// frame header of `start`, 0 × 0 where there is none.
Result<ImageSize> CheckJpeg(ByteSpan start, std::uint64_t size, const ImageForm& form) {
  if (start.size() < 2 || start[0] != 0xff || start[1] != kStartOfImage) {
    return RefuseChunk(kJpegChunk, "expected the signature of a JPEG image");
  }
  bool has_frame = false;
  ImageSize image;
  std::size_t at = 2;
  while (at + 4 <= start.size()) {
    const std::uint8_t marker = start[at + 1];
    if (start[at] != 0xff) return RefuseChunk(kJpegChunk, "expected a marker in its header");
    if (marker == 0xff || StandsAlone(marker)) {  // 0xff may be repeated before a marker
      at += marker == 0xff ? 1 : 2;
      continue;
    }
    const auto segment = MakeByteRange(at + 2, LoadU16Be(start.data() + at + 2), size);
    if (marker == kEndOfImage || !segment || segment->size < 2) break;
    if (segment->end() > start.size()) return image;  // the rest is beyond `start` and not checked
    if (StartsFrame(marker)) {
      UNSHARD_ASSIGN_OR_RETURN(image,
                               CheckJpegFrame(start.subspan(segment->begin, segment->size), form));
      has_frame = true;
    }
    at = segment->end();
    if (marker == kStartOfScan) {
      const bool ends = start.size() < size || HasEndOfImage(start.subspan(at));
      if (has_frame && ends) return image;
      break;
    }
  }
  if (start.size() < size && at + 4 > start.size()) return image;
  return RefuseChunk(kJpegChunk,
                     "the image is cut short: expected a frame, a scan and an end of image");
}

// --- The codec

Result<ByteVector> DecodeJpeg(ByteSpan encoded, const ImageForm& form) {
  UNSHARD_ASSIGN_OR_RETURN(const ImageSize size, CheckJpeg(encoded, encoded.size(), form));
  const Handle decoder(tjInitDecompress());
  if (!decoder) return NoMemory(kJpegChunk);
  // The library scales images down to the size that it is given, and never up: whatever the headers
  // say, it writes no more than the size of `pixels`.
  ByteVector pixels(form.pixels * form.components);
  const int failure = tjDecompress2(
      decoder.get(), encoded.data(), encoded.size(), pixels.data(), static_cast<int>(size.width),
      static_cast<int>(size.width * form.components), static_cast<int>(size.height),
      PixelFormat(form.components), TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS);
  if (failure != 0) return Damaged(kJpegChunk, tjGetErrorStr2(decoder.get()));
  if (form.components == 1) return pixels;
  return PixelsToPlanes(pixels, form.components, 1);
}

class Jpeg final : public VolumeEncoding {
 public:
  Jpeg(EncodedVolume volume, int quality) : VolumeEncoding(std::move(volume)), quality_(quality) {}
  [[nodiscard]] bool is_lossless() const override { return false; }

 protected:
  [[nodiscard]] Result<ByteVector> DecodeChunk(ByteSpan encoded,
                                               const VolumeExtent& extent) const override {
    return DecodeJpeg(encoded, ImageFormOf(volume(), extent));
  }
  [[nodiscard]] Result<ByteVector> EncodeChunk(ByteSpan voxels,
                                               const VolumeExtent& extent) const override {
    UNSHARD_ASSIGN_OR_RETURN(const ImageSize size, ArrangeImage(kJpegChunk, extent, kMaxJpegSide));
    return EncodeJpeg(voxels, size, volume().channels, quality_);
  }
  [[nodiscard]] Status CheckChunk(ByteSpan start, std::uint64_t size,
                                  const VolumeExtent& extent) const override {
    UNSHARD_RETURN_IF_ERROR(CheckJpeg(start, size, ImageFormOf(volume(), extent)));
    return {};
  }

 private:
  const int quality_;
};

Result<ArrayToBytesCodecPtr> BindJpeg(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(EncodedVolume volume, EncodedVolumeOf(spec, decoded));
  UNSHARD_ASSIGN_OR_RETURN(const int quality, spec.options().Integer("jpeg_quality"));
  if (!(volume.type == kUint8) || (volume.channels != 1 && volume.channels != 3)) {
    return RefuseVolume(volume, "uint8 and 1 or 3 channels");
  }
  return std::make_shared<Jpeg>(std::move(volume), quality);
}

}  // namespace

const CodecDefinition& JpegCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kPrecomputed, "jpeg", kInSchemas}};
  // As in libjpeg and TensorStore.
  static constexpr CodecOption kOptions[] = {{"jpeg_quality", 0, kMaxQuality, 75}};
  static constexpr CodecDefinition kDefinition{kNames, &BindJpeg, kOptions, true};
  return kDefinition;
}

}  // namespace unshard
