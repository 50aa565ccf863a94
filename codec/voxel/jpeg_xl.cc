#include "codec/voxel/jpeg_xl.h"

#ifdef UNSHARD_JXL
#include <jxl/decode.h>
#include <jxl/decode_cxx.h>
#endif

#include <string>
#include <utility>

#include "codec/core/byte_range.h"
#include "codec/core/library.h"
#include "codec/voxel/volume_functions.h"

namespace unshard {
namespace {

constexpr std::string_view kJpegXl = "jxl chunk";

#ifdef UNSHARD_JXL

tl::unexpected<Error> DamagedImage(const std::string& why) {
  return Fail(ErrorCode::kDataLoss, kJpegXl, ": ", why);
}

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
          return DamagedImage("expected frames with " + std::to_string(form_.components) +
                              " components a pixel in all, found fewer");
        case JXL_DEC_NEED_MORE_INPUT:
          return DamagedImage("the image is cut short");
        default:
          return DamagedImage("libjxl cannot decode it");
      }
    }
  }

 private:
  Status ReadInfo() {
    JxlBasicInfo info;
    if (JxlDecoderGetBasicInfo(decoder_, &info) != JXL_DEC_SUCCESS) {
      return DamagedImage("expected an image header");
    }
    if (info.exponent_bits_per_sample != 0) return DamagedImage("expected integers, found floats");
    const std::uint32_t alpha = info.alpha_bits != 0 ? 1 : 0;
    // libjxl would decode these, of any size and number, although no reader needs them.
    if (info.num_extra_channels != alpha || info.have_preview == JXL_TRUE) {
      return DamagedImage("expected no extra channels and no preview");
    }
    components_ = info.num_color_channels + alpha;
    const bool is_part = info.have_animation == JXL_TRUE && components_ < form_.components;
    Status status = CheckImageForm(kJpegXl, {info.xsize, info.ysize}, is_part ? 0 : components_,
                                   info.bits_per_sample, form_);
    if (!status) return Fail(ErrorCode::kDataLoss, std::move(status).error().message);
    expected_size_ = form_.pixels * form_.components;
    return {};
  }

  Status BeginFrame() {
    pixels_.resize(form_.pixels * components_);
    const JxlPixelFormat format = {components_, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
    std::size_t size = 0;
    if (JxlDecoderImageOutBufferSize(decoder_, &format, &size) != JXL_DEC_SUCCESS ||
        size != pixels_.size()) {
      return DamagedImage("expected a frame of " + std::to_string(pixels_.size()) + " bytes");
    }
    if (planes_.size() + size > expected_size_) {
      return DamagedImage("expected frames with " + std::to_string(form_.components) +
                          " components a pixel in all, found more");
    }
    if (JxlDecoderSetImageOutBuffer(decoder_, &format, pixels_.data(), size) != JXL_DEC_SUCCESS) {
      return DamagedImage("libjxl cannot decode it");
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
    return Fail(ErrorCode::kResourceExhausted, "jxl chunk: out of memory");
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

}  // namespace

const Library& Libjxl() { return kLibjxl; }

Result<ByteVector> DecodeJpegXl(ByteSpan encoded, const ImageForm& form) {
  if (form.component_size != 1 || form.pixels == 0 || form.components == 0 ||
      !CheckedMultiply(form.pixels, form.components)) {
    return Fail(ErrorCode::kInvalidArgument, "jxl chunk: expected channels of one byte a voxel");
  }
  return ReadJpegXl(encoded, form);
}

Result<ChunkCodecPtr> MakeJpegXlCodec(const VolumeEncoding& volume) {
  if (!(volume.type == kUint8)) return RefuseVolume(volume, "uint8");
  VolumeFunctions functions;
  functions.items = volume.encoding;
  functions.library = &kLibjxl;
  functions.is_lossy = true;
  functions.decode = [volume](ByteSpan encoded, const std::array<std::uint64_t, 3>& shape) {
    return DecodeJpegXl(encoded, ImageFormOf(volume, shape));
  };
  return MakeFunctionCodec(volume, std::move(functions));
}

}  // namespace unshard
