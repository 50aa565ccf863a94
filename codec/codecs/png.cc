// The png encoding of precomputed volumes, by libpng: of uint8 and uint16 with 1 to 4 channels, as
// a PNG without interlacing: gray, gray and alpha, RGB, or RGB and alpha. Rows and filters are
// those of TensorStore; the compressed bytes differ, because TensorStore has another zlib. Any PNG
// is decoded: palettes and fewer bits than 8 are expanded; a transparent colour is the alpha of 2
// or 4 components; gamma and profiles are ignored.
//
// libpng reports errors by longjmp. It jumps over nothing but its own frames and those of the
// functions given to Succeeds, which therefore own nothing.
#ifdef UNSHARD_PNG
#include <png.h>
#endif

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"
#include "codec/codecs/deflate.h"
#include "codec/codecs/image_form.h"
#include "codec/core/byte_range.h"
#include "codec/core/library.h"
#include "codec/grid/chunk_check.h"

namespace unshard {
namespace {

constexpr const char* kPngChunk = "png chunk";
constexpr int kDefaultLevel = -1;  // that of zlib

#ifdef UNSHARD_PNG

constexpr int kBitsOfByte = 8;
// At lower levels rows are not filtered, as in TensorStore: choosing filters would take longer than
// compressing.
constexpr int kFirstFilteredLevel = 3;

void RememberError(png_structp png, png_const_charp text) {
  *static_cast<std::string*>(png_get_error_ptr(png)) = text;
  png_longjmp(png, 1);
}

void IgnoreWarning(png_structp /*png*/, png_const_charp /*text*/) {}

// Calls `function`, which calls libpng. False where libpng reports an error.
template <class Function>
bool Succeeds(png_structp png, const Function& function) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  function();
  return true;
}

// Integers of a PNG are in network byte order.
void SwapBytes(png_structp png, const ImageForm& form) {
  if (form.component_size == 2) png_set_swap(png);
}

// The rows of an image at `pixels`. libpng does not take const pointers, even for writing.
std::vector<png_bytep> Rows(const std::uint8_t* pixels, std::size_t size, std::size_t height) {
  std::vector<png_bytep> rows(height);
  auto* row = const_cast<png_bytep>(pixels);
  for (png_bytep& each : rows) each = std::exchange(row, row + size / height);
  return rows;
}

class PngReader {
 public:
  PngReader(ByteSpan encoded, const ImageForm& form) : rest_(encoded), form_(form) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &message_, RememberError, IgnoreWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  Result<ByteVector> Read() {
    if (info_ == nullptr) return NoMemory(kPngChunk);
    if (!Succeeds(png_, [this] { ReadHeader(); })) return Damaged(kPngChunk, message_);
    const ImageSize size = {png_get_image_width(png_, info_), png_get_image_height(png_, info_)};
    UNSHARD_RETURN_IF_ERROR(CheckImageForm(kPngChunk, size, png_get_channels(png_, info_),
                                           png_get_bit_depth(png_, info_), form_));
    ByteVector pixels(form_.pixels * form_.components * form_.component_size);
    std::vector<png_bytep> rows = Rows(pixels.data(), pixels.size(), size.height);
    const bool done = Succeeds(png_, [this, &rows] {
      png_read_image(png_, rows.data());
      png_read_end(png_, nullptr);
    });
    if (!done) return Damaged(kPngChunk, message_);
    if (form_.components == 1) return pixels;
    return PixelsToPlanes(pixels, form_.components, form_.component_size);
  }

 private:
  static void Take(png_structp png, png_bytep to, std::size_t count) {
    auto& rest = *static_cast<ByteSpan*>(png_get_io_ptr(png));
    if (count > rest.size()) png_error(png, "the image is cut short");
    std::memcpy(to, rest.data(), count);
    rest = rest.subspan(count);
  }

  // Reads all that precedes the pixels, and asks for components of 1 or 2 bytes.
  void ReadHeader() {
    const bool has_alpha = form_.components % 2 == 0;
    const auto limit =
        static_cast<png_uint_32>(std::min<std::uint64_t>(form_.pixels, PNG_UINT_31_MAX));
    png_set_read_fn(png_, &rest_, Take);
    png_set_user_limits(png_, limit, limit);
    png_set_benign_errors(png_, 0);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    if (!has_alpha) png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, kTransparency, 1);
    png_read_info(png_, info_);
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (png_get_bit_depth(png_, info_) < kBitsOfByte) png_set_expand_gray_1_2_4_to_8(png_);
    if (has_alpha) png_set_tRNS_to_alpha(png_);
    SwapBytes(png_, form_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  }

  static constexpr png_byte kTransparency[] = {'t', 'R', 'N', 'S', '\0'};

  ByteSpan rest_;
  const ImageForm form_;
  std::string message_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

class PngWriter {
 public:
  PngWriter() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &message_, RememberError, IgnoreWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~PngWriter() { png_destroy_write_struct(&png_, &info_); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  Result<ByteVector> Write(ByteSpan pixels, const ImageSize& size, const ImageForm& form,
                           int level) {
    if (info_ == nullptr) return NoMemory(kPngChunk);
    std::vector<png_bytep> rows = Rows(pixels.data(), pixels.size(), size.height);
    const bool done = Succeeds(png_, [&] {
      png_set_write_fn(png_, &written_, Append, Flush);
      png_set_compression_level(png_, level);
      if (level != kDefaultLevel && level < kFirstFilteredLevel) {
        png_set_filter(png_, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
      }
      png_set_IHDR(
          png_, info_, static_cast<png_uint_32>(size.width), static_cast<png_uint_32>(size.height),
          static_cast<int>(form.component_size) * kBitsOfByte, kColorTypes[form.components - 1],
          PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
      png_write_info(png_, info_);
      SwapBytes(png_, form);
      png_write_image(png_, rows.data());
      png_write_end(png_, nullptr);
    });
    if (!done) return Fail(ErrorCode::kInternal, kPngChunk, ": ", message_);
    return std::move(written_);
  }

 private:
  static void Append(png_structp png, png_bytep from, std::size_t count) {
    auto& written = *static_cast<ByteVector*>(png_get_io_ptr(png));
    written.insert(written.end(), from, from + count);
  }
  static void Flush(png_structp /*png*/) {}

  static constexpr std::array<int, 4> kColorTypes = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                                     PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  ByteVector written_;
  std::string message_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

Result<ByteVector> ReadPng(ByteSpan encoded, const ImageForm& form) {
  return PngReader(encoded, form).Read();
}

Result<ByteVector> WritePng(ByteSpan pixels, const ImageSize& size, const ImageForm& form,
                            int level) {
  return PngWriter().Write(pixels, size, form, level);
}

std::string PngVersion() { return png_get_libpng_ver(nullptr); }

constexpr Library kLibpng = {"png", "libpng", PngVersion};

#else
constexpr Library kLibpng = {"png", "libpng"};

Result<ByteVector> ReadPng(ByteSpan, const ImageForm&) { return NotInBuild(kLibpng, kPngChunk); }

Result<ByteVector> WritePng(ByteSpan, const ImageSize&, const ImageForm&, int) {
  return NotInBuild(kLibpng, kPngChunk);
}
#endif

// --- The check: a walk of the list of PNG chunks

constexpr std::array<std::uint8_t, 8> kPngSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::uint64_t kPngFrame = 12;  // length, type and crc of a PNG chunk
constexpr std::uint64_t kPngHeaderSize = kPngSignature.size() + kPngFrame + 13;

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
    return RefuseChunk(kPngChunk, "expected the signature and header of a PNG image");
  }
  const std::uint8_t* const frame = start.data() + kPngSignature.size();
  const std::uint8_t* const header = frame + 8;
  const std::uint32_t crc = DeflateInUse().crc32(0, {frame + 4, 4 + 13});
  if (LoadU32Be(frame) != 13 || AsText({frame + 4, 4}) != "IHDR" || LoadU32Be(header + 13) != crc) {
    return RefuseChunk(kPngChunk, "expected an IHDR of 13 bytes with its crc after the signature");
  }
  const unsigned bits = header[8];
  const unsigned color_type = header[9];
  return CheckImageForm(kPngChunk, {LoadU32Be(header), LoadU32Be(header + 4)},
                        PngComponents(color_type), bits, form);
}

// `start` is the beginning of a file of `size` bytes; where it is the whole file, it must contain
// the end of the image as well. Fails with kInvalidArgument.
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
  return RefuseChunk(kPngChunk, "the image is cut short: expected IDAT and IEND");
}

// --- The codec

Result<ByteVector> EncodePng(ByteSpan planes, const ImageSize& size, const ImageForm& form,
                             int level) {
  if (form.components == 1) return WritePng(planes, size, form, level);
  return WritePng(PlanesToPixels(planes, form.components, form.component_size), size, form, level);
}

class Png final : public VolumeEncoding {
 public:
  Png(EncodedVolume volume, int level)
      : VolumeEncoding(std::move(volume), &kLibpng), level_(level) {}

 protected:
  [[nodiscard]] Result<ByteVector> DecodeChunk(ByteSpan encoded,
                                               const VolumeExtent& extent) const override {
    return ReadPng(encoded, ImageFormOf(volume(), extent));
  }
  [[nodiscard]] Result<ByteVector> EncodeChunk(ByteSpan voxels,
                                               const VolumeExtent& extent) const override {
    UNSHARD_ASSIGN_OR_RETURN(const ImageSize size, ArrangeImage(kPngChunk, extent, kMaxPngSide));
    return EncodePng(voxels, size, ImageFormOf(volume(), extent), level_);
  }
  [[nodiscard]] Status CheckChunk(ByteSpan start, std::uint64_t size,
                                  const VolumeExtent& extent) const override {
    return CheckPng(start, size, ImageFormOf(volume(), extent));
  }

 private:
  const int level_;
};

Result<ArrayToBytesCodecPtr> BindPng(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(EncodedVolume volume, EncodedVolumeOf(spec, decoded));
  UNSHARD_ASSIGN_OR_RETURN(const int level, spec.options().Integer("png_level"));
  if (!(volume.type == kUint8 || volume.type == kUint16) || volume.channels - 1 >= 4) {
    return RefuseVolume(volume, "uint8 or uint16 and 1 to 4 channels");
  }
  return std::make_shared<Png>(std::move(volume), level);
}

}  // namespace

const Library& Libpng() { return kLibpng; }

const CodecDefinition& PngCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kPrecomputed, "png", kInSchemas}};
  // New volumes have no level.
  static constexpr CodecOption::Spelling kLevel[] = {
      {.dialect = Dialect::kPrecomputed, .absent = kDefaultLevel, .has_default = false}};
  static constexpr CodecOption kOptions[] = {{"png_level", 0, 9, kDefaultLevel, kLevel}};
  static constexpr CodecDefinition kDefinition{kNames, &BindPng, kOptions, true};
  return kDefinition;
}

}  // namespace unshard
