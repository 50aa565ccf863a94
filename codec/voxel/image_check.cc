// Both formats are lists of parts that have a length each: JPEG of marker segments up to the coded
// data, PNG of chunks. Walking these lists needs neither the memory nor the error handling of a
// decoder, and finds the end of an image without decoding its pixels.
#include "codec/voxel/image_check.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "codec/codecs/deflate.h"
#include "codec/core/byte_range.h"
#include "codec/voxel/chunk_check.h"

namespace unshard {
namespace {

constexpr std::string_view kJpeg = "jpeg chunk";
constexpr std::string_view kPng = "png chunk";

// Markers of JPEG, the byte after 0xff.
constexpr std::uint8_t kStartOfImage = 0xd8;
constexpr std::uint8_t kEndOfImage = 0xd9;
constexpr std::uint8_t kStartOfScan = 0xda;
constexpr std::size_t kFrameHeader = 8;  // length, precision, height, width, component count

std::uint64_t LoadU16Be(const std::uint8_t* at) { return std::uint64_t{at[0]} << 8 | at[1]; }

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
    return RefuseChunk(kJpeg, "expected a frame header of at least " +
                                  std::to_string(kFrameHeader) + " bytes, found " +
                                  std::to_string(segment.size()));
  }
  const ImageSize size = {LoadU16Be(segment.data() + 5), LoadU16Be(segment.data() + 3)};
  UNSHARD_RETURN_IF_ERROR(CheckImageForm(kJpeg, size, segment[7], segment[2], form));
  return size;
}

// In coded data 0 or a restart marker follows 0xff, so that only the real end is found.
bool HasEndOfImage(ByteSpan coded) {
  constexpr std::array<std::uint8_t, 2> kEnd = {0xff, kEndOfImage};
  return std::search(coded.begin(), coded.end(), kEnd.begin(), kEnd.end()) != coded.end();
}

constexpr std::array<std::uint8_t, 8> kPngSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::uint64_t kPngFrame = 12;  // length, type and crc of a PNG chunk
constexpr std::uint64_t kPngHeaderSize = kPngSignature.size() + kPngFrame + 13;

std::uint32_t LoadU32Be(const std::uint8_t* at) { return __builtin_bswap32(LoadU32Le(at)); }

// 0 for images with a palette, whose colours may be of any number of components.
std::uint64_t PngComponents(unsigned color_type) {
  switch (color_type) {
    case 0:
      return 1;
    case 2:
      return 3;
    case 4:
      return 2;
    case 6:
      return 4;
    default:
      return 0;
  }
}

Status CheckPngHeader(ByteSpan start, const ImageForm& form) {
  if (start.size() < kPngHeaderSize ||
      !std::equal(kPngSignature.begin(), kPngSignature.end(), start.begin())) {
    return RefuseChunk(kPng, "expected the signature and header of a PNG image");
  }
  const std::uint8_t* const frame = start.data() + kPngSignature.size();
  const std::uint8_t* const header = frame + 8;
  const std::uint32_t crc = DeflateInUse().crc32(0, {frame + 4, 4 + 13});
  if (LoadU32Be(frame) != 13 || AsText({frame + 4, 4}) != "IHDR" || LoadU32Be(header + 13) != crc) {
    return RefuseChunk(kPng, "expected an IHDR of 13 bytes with its crc after the signature");
  }
  const unsigned bits = header[8];
  const unsigned color_type = header[9];
  return CheckImageForm(kPng, {LoadU32Be(header), LoadU32Be(header + 4)}, PngComponents(color_type),
                        bits, form);
}

}  // namespace

Result<ImageSize> CheckJpeg(ByteSpan start, std::uint64_t size, const ImageForm& form) {
  if (start.size() < 2 || start[0] != 0xff || start[1] != kStartOfImage) {
    return RefuseChunk(kJpeg, "expected the signature of a JPEG image");
  }
  bool has_frame = false;
  ImageSize image;
  std::size_t at = 2;
  while (at + 4 <= start.size()) {
    const std::uint8_t marker = start[at + 1];
    if (start[at] != 0xff) return RefuseChunk(kJpeg, "expected a marker in its header");
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
  return RefuseChunk(kJpeg, "the image is cut short: expected a frame, a scan and an end of image");
}

Status CheckPng(ByteSpan start, std::uint64_t size, const ImageForm& form) {
  UNSHARD_RETURN_IF_ERROR(CheckPngHeader(start, form));
  std::uint64_t at = kPngHeaderSize;
  bool has_data = false;
  while (at <= start.size() && start.size() - at >= 8) {
    const std::uint8_t* const frame = start.data() + at;
    const std::string_view type = AsText({frame + 4, 4});
    const auto chunk = MakeByteRange(at, kPngFrame + LoadU32Be(frame), size);
    if (!chunk) break;
    if (type == "IEND" && has_data) return {};
    has_data = has_data || type == "IDAT";
    at = chunk->end();
  }
  // What lies beyond `start` is not checked.
  if (start.size() < size && at + 8 > start.size()) return {};
  return RefuseChunk(kPng, "the image is cut short: expected IDAT and IEND");
}

}  // namespace unshard
