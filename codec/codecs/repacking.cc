#include "codec/codecs/repacking.h"

#ifdef UNSHARD_JXL
#include <jxl/decode.h>
#include <jxl/decode_cxx.h>
#include <jxl/encode.h>
#include <jxl/encode_cxx.h>
#endif

#include <algorithm>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"

namespace unshard {

#ifdef UNSHARD_JXL

namespace {

constexpr const char* kJpegInJpegXl = "a JPEG in a jxl chunk";

// The JPEG that a JPEG XL image of so many pixels was made from, where it says so.
class JpegOfJpegXl {
 public:
  JpegOfJpegXl(ByteSpan image, std::uint64_t pixels) : image_(image), pixels_(pixels) {}

  std::optional<ByteVector> Read() {
    const JxlDecoderPtr decoder = JxlDecoderMake(nullptr);
    constexpr int kEvents = JXL_DEC_BASIC_INFO | JXL_DEC_JPEG_RECONSTRUCTION | JXL_DEC_FULL_IMAGE;
    if (!decoder || JxlDecoderSubscribeEvents(decoder.get(), kEvents) != JXL_DEC_SUCCESS ||
        JxlDecoderSetInput(decoder.get(), image_.data(), image_.size()) != JXL_DEC_SUCCESS) {
      return std::nullopt;
    }
    JxlDecoderCloseInput(decoder.get());
    for (;;) {
      switch (JxlDecoderProcessInput(decoder.get())) {
        case JXL_DEC_BASIC_INFO:
          if (!HasPixels(decoder.get())) return std::nullopt;
          break;
        case JXL_DEC_JPEG_RECONSTRUCTION:
        case JXL_DEC_JPEG_NEED_MORE_OUTPUT:
          if (!AddRoom(decoder.get())) return std::nullopt;
          break;
        case JXL_DEC_FULL_IMAGE:
          break;
        case JXL_DEC_SUCCESS:
          if (jpeg_.empty()) return std::nullopt;
          jpeg_.resize(jpeg_.size() - JxlDecoderReleaseJPEGBuffer(decoder.get()));
          return std::move(jpeg_);
        default:  // damage, or pixels that are from no JPEG
          return std::nullopt;
      }
    }
  }

 private:
  bool HasPixels(const JxlDecoder* decoder) const {
    JxlBasicInfo info;
    return JxlDecoderGetBasicInfo(decoder, &info) == JXL_DEC_SUCCESS &&
           std::uint64_t{info.xsize} * info.ysize == pixels_;
  }
  bool AddRoom(JxlDecoder* decoder) {
    const std::size_t used = jpeg_.size() - JxlDecoderReleaseJPEGBuffer(decoder);
    if (used > kMostTimes * (image_.size() + pixels_)) return false;
    jpeg_.resize(2 * (used + image_.size()));
    return JxlDecoderSetJPEGBuffer(decoder, jpeg_.data() + used, jpeg_.size() - used) ==
           JXL_DEC_SUCCESS;
  }

  static constexpr std::size_t kMostTimes = 16;

  const ByteSpan image_;
  const std::uint64_t pixels_;
  ByteVector jpeg_;
};

std::uint64_t PixelsOf(ShapeSpan shape) { return shape[1] * shape[2] * shape[3]; }

std::optional<ByteVector> JpegFromJpegXl(ByteSpan chunk, ShapeSpan shape) {
  return JpegOfJpegXl(chunk, PixelsOf(shape)).Read();
}

// The proof that the JPEG can be had again is part of it: libjxl does not take all JPEGs.
std::optional<ByteVector> JpegXlFromJpeg(ByteSpan chunk, ShapeSpan shape) {
  const JxlEncoderPtr encoder = JxlEncoderMake(nullptr);
  JxlEncoderFrameSettings* const frame =
      encoder ? JxlEncoderFrameSettingsCreate(encoder.get(), nullptr) : nullptr;
  if (frame == nullptr || JxlEncoderStoreJPEGMetadata(encoder.get(), JXL_TRUE) != JXL_ENC_SUCCESS ||
      JxlEncoderAddJPEGFrame(frame, chunk.data(), chunk.size()) != JXL_ENC_SUCCESS) {
    return std::nullopt;
  }
  JxlEncoderCloseInput(encoder.get());
  auto image = EncodeInSteps(kJpegInJpegXl, chunk.size(),
                             [&](std::uint8_t* at, std::size_t room) -> Result<StreamProgress> {
                               const std::size_t before = room;
                               const JxlEncoderStatus status =
                                   JxlEncoderProcessOutput(encoder.get(), &at, &room);
                               if (status == JXL_ENC_ERROR) return NoMemory(kJpegInJpegXl);
                               return StreamProgress{before - room, status == JXL_ENC_SUCCESS};
                             });
  if (!image) return std::nullopt;
  const auto again = JpegFromJpegXl(*image, shape);
  if (!again || !std::equal(again->begin(), again->end(), chunk.begin(), chunk.end())) {
    return std::nullopt;
  }
  return *std::move(image);
}

}  // namespace

RepackChunk FindRepacking(const CodecDefinition& from, const CodecDefinition& to) {
  if (&from == &JpegCodec() && &to == &JpegXlCodec()) return &JpegXlFromJpeg;
  if (&from == &JpegXlCodec() && &to == &JpegCodec()) return &JpegFromJpegXl;
  return nullptr;
}

#else
RepackChunk FindRepacking(const CodecDefinition&, const CodecDefinition&) { return nullptr; }
#endif

}  // namespace unshard
