// The jxl encoding of precomputed volumes, by libjxl (reading only): of uint8. Any JPEG XL image of
// 8 bits a component is decoded, codestream or container. Alpha is a component. The frames of an
// animation have the components one after the other, as CloudVolume writes several channels.
#ifdef UNSHARD_JXL
#include <jxl/decode.h>
#include <jxl/decode_cxx.h>
#endif

#include <algorithm>
#include <string>
#include <utility>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"
#include "codec/codecs/image_form.h"
#include "codec/core/library.h"
#include "codec/grid/chunk_check.h"

namespace unshard {
namespace {

constexpr const char* kJpegXl = "jxl chunk";

#ifdef UNSHARD_JXL

class JpegXlReader {
 public:
  JpegXlReader(JxlDecoder* decoder, const ImageForm& form) : decoder_(decoder), form_(form) {}

  Result<ByteVector> Read() {
    for (;;) {
      switch (JxlDecoderProcessInput(decoder_)) {
        case JXL_DEC_BASIC_INFO:
          UNSHARD_RETURN_IF_ERROR(ReadInfo());
          break;
        case JXL_DEC_NEED_IMAGE_OUT_BUFFER:
          UNSHARD_RETURN_IF_ERROR(BeginFrame());
          break;
        case JXL_DEC_FULL_IMAGE:
          AppendPlanes();
          break;
        case JXL_DEC_SUCCESS:
          if (planes_.size() == expected_size_ && expected_size_ != 0) return std::move(planes_);
          return Damaged(kJpegXl, "expected frames with ", form_.components,
                         " components a pixel in all, found fewer");
        case JXL_DEC_NEED_MORE_INPUT:
          return Damaged(kJpegXl, "the image is cut short");
        default:
          return Damaged(kJpegXl, "libjxl cannot decode it");
      }
    }
  }

 private:
  Status ReadInfo() {
    JxlBasicInfo info;
    if (JxlDecoderGetBasicInfo(decoder_, &info) != JXL_DEC_SUCCESS) {
      return Damaged(kJpegXl, "expected an image header");
    }
    if (info.exponent_bits_per_sample != 0)
      return Damaged(kJpegXl, "expected integers, found floats");
    const std::uint32_t alpha = info.alpha_bits != 0 ? 1 : 0;
    // libjxl would decode these, of any size and number, although no reader needs them.
    if (info.num_extra_channels != alpha || info.have_preview == JXL_TRUE) {
      return Damaged(kJpegXl, "expected no extra channels and no preview");
    }
    components_ = info.num_color_channels + alpha;
    const bool is_part = info.have_animation == JXL_TRUE && components_ < form_.components;
    UNSHARD_RETURN_IF_ERROR(CheckImageForm(kJpegXl, {info.xsize, info.ysize},
                                           is_part ? 0 : components_, info.bits_per_sample, form_));
    expected_size_ = form_.pixels * form_.components;
    return {};
  }

  Status BeginFrame() {
    pixels_.resize(form_.pixels * components_);
    const JxlPixelFormat format = {components_, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
    std::size_t size = 0;
    if (JxlDecoderImageOutBufferSize(decoder_, &format, &size) != JXL_DEC_SUCCESS ||
        size != pixels_.size()) {
      return Damaged(kJpegXl, "expected a frame of ", pixels_.size(), " bytes");
    }
    if (planes_.size() + size > expected_size_) {
      return Damaged(kJpegXl, "expected frames with ", form_.components,
                     " components a pixel in all, found more");
    }
    if (JxlDecoderSetImageOutBuffer(decoder_, &format, pixels_.data(), size) != JXL_DEC_SUCCESS) {
      return Damaged(kJpegXl, "libjxl cannot decode it");
    }
    return {};
  }

  void AppendPlanes() {
    ByteVector planes =
        components_ == 1 ? std::exchange(pixels_, {}) : PixelsToPlanes(pixels_, components_, 1);
    if (planes_.empty()) {
      planes_ = std::move(planes);
    } else {
      planes_.insert(planes_.end(), planes.begin(), planes.end());
    }
  }

  JxlDecoder* const decoder_;
  const ImageForm form_;
  std::uint32_t components_ = 0;     // of a frame
  std::uint64_t expected_size_ = 0;  // of all planes; 0 until the header is read
  ByteVector pixels_;                // of one frame
  ByteVector planes_;
};

Result<ByteVector> ReadJpegXl(ByteSpan encoded, const ImageForm& form) {
  const JxlDecoderPtr decoder = JxlDecoderMake(nullptr);
  if (!decoder ||
      JxlDecoderSubscribeEvents(decoder.get(), JXL_DEC_BASIC_INFO | JXL_DEC_FULL_IMAGE) !=
          JXL_DEC_SUCCESS ||
      JxlDecoderSetInput(decoder.get(), encoded.data(), encoded.size()) != JXL_DEC_SUCCESS) {
    return NoMemory(kJpegXl);
  }
  JxlDecoderCloseInput(decoder.get());
  return JpegXlReader(decoder.get(), form).Read();
}

std::string JpegXlVersion() {
  const std::uint32_t version = JxlDecoderVersion();  // in decimal, three digits each
  return std::to_string(version / 1000000) + "." + std::to_string(version / 1000 % 1000) + "." +
         std::to_string(version % 1000);
}

constexpr Library kLibjxl = {"jxl", "libjxl", JpegXlVersion};

#else
constexpr Library kLibjxl = {"jxl", "libjxl"};

Result<ByteVector> ReadJpegXl(ByteSpan, const ImageForm&) { return NotInBuild(kLibjxl, kJpegXl); }
#endif

constexpr std::string_view kCodestream = "\xff\x0a";
constexpr std::string_view kContainer = {"\0\0\0\x0cJXL \r\n\x87\n", 12};

class JpegXl final : public VolumeEncoding {
 public:
  explicit JpegXl(EncodedVolume volume) : VolumeEncoding(std::move(volume), &kLibjxl) {}

  [[nodiscard]] bool is_lossless() const override { return false; }
  [[nodiscard]] Status CanEncode() const override { return OnlyRead(); }
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return std::min<std::uint64_t>(size, kContainer.size());
  }

 protected:
  [[nodiscard]] Result<ByteVector> DecodeChunk(ByteSpan encoded,
                                               const VolumeExtent& extent) const override {
    return ReadJpegXl(encoded, ImageFormOf(volume(), extent));
  }
  // The signature alone.
  [[nodiscard]] Status CheckChunk(ByteSpan start, std::uint64_t /*size*/,
                                  const VolumeExtent& /*extent*/) const override {
    const std::string_view text = AsText(start);
    if (text.starts_with(kCodestream) || text.starts_with(kContainer)) return {};
    return RefuseChunk(kJpegXl, "expected the signature of a JPEG XL image");
  }
};

Result<ArrayToBytesCodecPtr> BindJpegXl(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(EncodedVolume volume, EncodedVolumeOf(spec, decoded));
  if (!(volume.type == kUint8)) return RefuseVolume(volume, "uint8");
  return std::make_shared<JpegXl>(std::move(volume));
}

}  // namespace

const Library& Libjxl() { return kLibjxl; }

const CodecDefinition& JpegXlCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kPrecomputed, "jxl"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindJpegXl, {}, true};
  return kDefinition;
}

}  // namespace unshard
