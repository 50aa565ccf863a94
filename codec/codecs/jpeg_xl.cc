// The jxl encoding of precomputed volumes, by libjxl: of uint8. Any JPEG XL image of 8 bits a
// component is decoded, codestream or container. Alpha is a component. The frames of an animation
// have the components one after the other, as CloudVolume writes several channels. Chunks of 1 and
// 3 channels are encoded, as a codestream of one frame, gray or RGB.
#ifdef UNSHARD_JXL
#include <jxl/decode.h>
#include <jxl/decode_cxx.h>
#include <jxl/encode.h>
#include <jxl/encode_cxx.h>
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
constexpr int kLossless = 100;

// How images are encoded. Reading does not need it.
struct JpegXlOptions {
  int quality = 0;  // as those of JPEG; kLossless: every voxel is kept
  int effort = 0;
  int decoding_speed = 0;  // greater: decoded faster, of more bytes
};

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

// That of libjxl's own tools: about what a JPEG of the quality loses.
float DistanceOf(int quality) {
  const auto value = static_cast<float>(quality);
  if (quality >= 30) return 0.1f + (100 - value) * 0.09f;
  return 53.0f / 3000 * value * value - 23.0f / 20 * value + 25;
}

// Gives the encoder an image. False: it refuses that, or has no memory.
bool AddImage(JxlEncoder* encoder, ByteSpan pixels, const ImageSize& size, std::uint32_t components,
              const JpegXlOptions& options) {
  constexpr int kMostEffort = 9;  // CloudVolume's libjxl has a greater one
  JxlEncoderFrameSettings* const frame = JxlEncoderFrameSettingsCreate(encoder, nullptr);
  if (frame == nullptr) return false;
  const bool is_lossless = options.quality == kLossless;
  JxlBasicInfo info;
  JxlEncoderInitBasicInfo(&info);
  info.xsize = static_cast<std::uint32_t>(size.width);
  info.ysize = static_cast<std::uint32_t>(size.height);
  info.bits_per_sample = 8;
  info.num_color_channels = components;
  info.uses_original_profile = is_lossless ? JXL_TRUE : JXL_FALSE;
  JxlColorEncoding color;
  JxlColorEncodingSetToSRGB(&color, components == 1 ? JXL_TRUE : JXL_FALSE);
  const JxlPixelFormat format = {components, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  const auto set = [&](JxlEncoderFrameSettingId option, int value) {
    return JxlEncoderFrameSettingsSetOption(frame, option, value);
  };
  for (const JxlEncoderStatus status :
       {JxlEncoderSetBasicInfo(encoder, &info), JxlEncoderSetColorEncoding(encoder, &color),
        set(JXL_ENC_FRAME_SETTING_EFFORT, std::min(options.effort, kMostEffort)),
        set(JXL_ENC_FRAME_SETTING_DECODING_SPEED, options.decoding_speed),
        is_lossless ? JxlEncoderSetFrameLossless(frame, JXL_TRUE)
                    : JxlEncoderSetFrameDistance(frame, DistanceOf(options.quality)),
        JxlEncoderAddImageFrame(frame, &format, pixels.data(), pixels.size())}) {
    if (status != JXL_ENC_SUCCESS) return false;
  }
  JxlEncoderCloseInput(encoder);
  return true;
}

Result<ByteVector> WriteJpegXl(ByteSpan planes, const ImageSize& size, std::uint64_t components,
                               const JpegXlOptions& options) {
  const JxlEncoderPtr encoder = JxlEncoderMake(nullptr);
  if (!encoder) return NoMemory(kJpegXl);
  const ByteVector pixels = components == 1 ? ByteVector() : PlanesToPixels(planes, components, 1);
  if (!AddImage(encoder.get(), components == 1 ? planes : pixels, size,
                static_cast<std::uint32_t>(components), options)) {
    return Fail(ErrorCode::kInternal, kJpegXl, ": libjxl cannot encode it");
  }
  return EncodeInSteps(kJpegXl, planes.size() / 2 + 64,
                       [&](std::uint8_t* at, std::size_t room) -> Result<StreamProgress> {
                         const std::size_t before = room;
                         const JxlEncoderStatus status =
                             JxlEncoderProcessOutput(encoder.get(), &at, &room);
                         if (status == JXL_ENC_ERROR) {
                           return Fail(ErrorCode::kInternal, kJpegXl, ": libjxl cannot encode it");
                         }
                         return StreamProgress{before - room, status == JXL_ENC_SUCCESS};
                       });
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
Result<ByteVector> WriteJpegXl(ByteSpan, const ImageSize&, std::uint64_t, const JpegXlOptions&) {
  return NotInBuild(kLibjxl, kJpegXl);
}
#endif

// In pixels: what decoders of level 5 take, which are all that browsers have.
constexpr std::uint64_t kMaxJpegXlSide = std::uint64_t{1} << 18;

constexpr std::string_view kCodestream = "\xff\x0a";
constexpr std::string_view kContainer = {"\0\0\0\x0cJXL \r\n\x87\n", 12};

class JpegXl final : public VolumeEncoding {
 public:
  JpegXl(EncodedVolume volume, const JpegXlOptions& options)
      : VolumeEncoding(std::move(volume), &kLibjxl), options_(options) {}

  [[nodiscard]] bool is_lossless() const override { return options_.quality == kLossless; }
  [[nodiscard]] Status CanEncode() const override {
    UNSHARD_RETURN_IF_ERROR(CanDecode());
    if (volume().channels == 1 || volume().channels == 3) return {};
    return Fail(ErrorCode::kNotSupported, "chunks of encoding \"jxl\" with ", volume().channels,
                " channels can only be read");
  }
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return std::min<std::uint64_t>(size, kContainer.size());
  }

 protected:
  [[nodiscard]] Result<ByteVector> DecodeChunk(ByteSpan encoded,
                                               const VolumeExtent& extent) const override {
    return ReadJpegXl(encoded, ImageFormOf(volume(), extent));
  }
  [[nodiscard]] Result<ByteVector> EncodeChunk(ByteSpan voxels,
                                               const VolumeExtent& extent) const override {
    UNSHARD_ASSIGN_OR_RETURN(const ImageSize size, ArrangeImage(kJpegXl, extent, kMaxJpegXlSide));
    return WriteJpegXl(voxels, size, volume().channels, options_);
  }
  // The signature alone.
  [[nodiscard]] Status CheckChunk(ByteSpan start, std::uint64_t /*size*/,
                                  const VolumeExtent& /*extent*/) const override {
    const std::string_view text = AsText(start);
    if (text.starts_with(kCodestream) || text.starts_with(kContainer)) return {};
    return RefuseChunk(kJpegXl, "expected the signature of a JPEG XL image");
  }

 private:
  const JpegXlOptions options_;
};

constexpr const char* kQuality = "jxl_quality";
constexpr const char* kEffort = "jxl_effort";
constexpr const char* kDecodingSpeed = "jxl_decodingspeed";

Result<ArrayToBytesCodecPtr> BindJpegXl(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(EncodedVolume volume, EncodedVolumeOf(spec, decoded));
  if (!(volume.type == kUint8)) return RefuseVolume(volume, "uint8");
  JpegXlOptions options;
  UNSHARD_ASSIGN_OR_RETURN(options.quality, spec.options().Integer(kQuality));
  UNSHARD_ASSIGN_OR_RETURN(options.effort, spec.options().Integer(kEffort));
  UNSHARD_ASSIGN_OR_RETURN(options.decoding_speed, spec.options().Integer(kDecodingSpeed));
  return std::make_shared<JpegXl>(std::move(volume), options);
}

}  // namespace

const Library& Libjxl() { return kLibjxl; }

const CodecDefinition& JpegXlCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kPrecomputed, "jxl", kInSchemas}};
  // As in CloudVolume.
  static constexpr CodecOption kOptions[] = {
      {kQuality, 0, kLossless, 85}, {kEffort, 1, 10, 5}, {kDecodingSpeed, 0, 4, 0}};
  static constexpr CodecDefinition kDefinition{kNames, &BindJpegXl, kOptions, true};
  return kDefinition;
}

}  // namespace unshard
