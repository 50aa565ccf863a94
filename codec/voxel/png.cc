// libpng reports errors by longjmp. It jumps over nothing but its own frames and those of the
// functions given to Succeeds, which therefore own nothing.
#include "codec/voxel/png.h"

#ifdef UNSHARD_PNG
#include <png.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <csetjmp>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "codec/core/byte_range.h"
#include "codec/core/library.h"
#include "codec/voxel/volume_functions.h"

namespace unshard {
namespace {

constexpr std::string_view kPngChunk = "png chunk";

// The size in bytes of the decoded image; nothing where PNG has no such form.
std::optional<std::uint64_t> DecodedSize(const ImageForm& form) {
  const bool has_form = form.components >= 1 && form.components <= 4 &&
                        (form.component_size == 1 || form.component_size == 2);
  if (!has_form || form.pixels == 0) return std::nullopt;
  return CheckedMultiply(form.pixels, form.components * form.component_size);
}

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
  if (form.component_size == 2 && std::endian::native == std::endian::little) png_set_swap(png);
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

  Result<ByteVector> Read(std::uint64_t decoded_size) {
    if (info_ == nullptr) return Fail(ErrorCode::kResourceExhausted, "png chunk: out of memory");
    if (!Succeeds(png_, [this] { ReadHeader(); })) return Damaged();
    const ImageSize size = {png_get_image_width(png_, info_), png_get_image_height(png_, info_)};
    Status status = CheckImageForm(kPngChunk, size, png_get_channels(png_, info_),
                                   png_get_bit_depth(png_, info_), form_);
    if (!status) return Fail(ErrorCode::kDataLoss, std::move(status).error().message);
    ByteVector pixels(decoded_size);
    std::vector<png_bytep> rows = Rows(pixels.data(), pixels.size(), size.height);
    const bool done = Succeeds(png_, [this, &rows] {
      png_read_image(png_, rows.data());
      png_read_end(png_, nullptr);
    });
    if (!done) return Damaged();
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

  [[nodiscard]] tl::unexpected<Error> Damaged() const {
    return Fail(ErrorCode::kDataLoss, "png chunk: ", message_);
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
                           std::optional<int> level) {
    if (info_ == nullptr) return Fail(ErrorCode::kResourceExhausted, "png chunk: out of memory");
    std::vector<png_bytep> rows = Rows(pixels.data(), pixels.size(), size.height);
    const bool done = Succeeds(png_, [&] {
      png_set_write_fn(png_, &written_, Append, Flush);
      if (level) png_set_compression_level(png_, *level);
      if (level && *level < kFirstFilteredLevel) {
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
    if (!done) return Fail(ErrorCode::kInternal, "png chunk: ", message_);
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

Result<ByteVector> ReadPng(ByteSpan encoded, const ImageForm& form, std::uint64_t decoded_size) {
  return PngReader(encoded, form).Read(decoded_size);
}

Result<ByteVector> WritePng(ByteSpan pixels, const ImageSize& size, const ImageForm& form,
                            std::optional<int> level) {
  return PngWriter().Write(pixels, size, form, level);
}

std::string PngVersion() { return png_get_libpng_ver(nullptr); }

constexpr Library kLibpng = {"png", "libpng", PngVersion};

#else
constexpr Library kLibpng = {"png", "libpng"};

Result<ByteVector> ReadPng(ByteSpan, const ImageForm&, std::uint64_t) {
  return NotInBuild(kLibpng, kPngChunk);
}

Result<ByteVector> WritePng(ByteSpan, const ImageSize&, const ImageForm&, std::optional<int>) {
  return NotInBuild(kLibpng, kPngChunk);
}
#endif

}  // namespace

const Library& Libpng() { return kLibpng; }

Result<ByteVector> EncodePng(ByteSpan planes, const ImageSize& size, const ImageForm& form,
                             std::optional<int> level) {
  const bool fits = size.width - 1 < kMaxPngSide && size.height - 1 < kMaxPngSide &&
                    size.width * size.height == form.pixels;
  if (!fits || DecodedSize(form) != planes.size() || (level && (*level < 0 || *level > 9))) {
    return Fail(ErrorCode::kInvalidArgument,
                "png chunk: expected 1 to 4 components of 1 or 2 bytes, sides of at most 1000000 "
                "pixels and a level from 0 to 9");
  }
  if (form.components == 1) return WritePng(planes, size, form, level);
  return WritePng(PlanesToPixels(planes, form.components, form.component_size), size, form, level);
}

Result<ByteVector> DecodePng(ByteSpan encoded, const ImageForm& form) {
  const auto decoded_size = DecodedSize(form);
  if (!decoded_size) {
    return Fail(ErrorCode::kInvalidArgument,
                "png chunk: expected 1 to 4 channels of 1 or 2 bytes a voxel");
  }
  return ReadPng(encoded, form, *decoded_size);
}

Result<ChunkCodecPtr> MakePngCodec(const VolumeEncoding& volume) {
  if (!(volume.type == kUint8 || volume.type == kUint16) ||
      !DecodedSize({1, volume.channels, volume.type.size})) {
    return RefuseVolume(volume, "uint8 or uint16 and 1 to 4 channels");
  }
  VolumeFunctions functions;
  functions.items = volume.encoding;
  functions.library = &kLibpng;
  functions.decode = [volume](ByteSpan encoded, const std::array<std::uint64_t, 3>& shape) {
    return DecodePng(encoded, ImageFormOf(volume, shape));
  };
  functions.encode = [volume](ByteSpan planes,
                              const std::array<std::uint64_t, 3>& shape) -> Result<ByteVector> {
    UNSHARD_ASSIGN_OR_RETURN(const ImageSize size, ArrangeImage(kPngChunk, shape, kMaxPngSide));
    return EncodePng(planes, size, ImageFormOf(volume, shape), volume.png_level);
  };
  return MakeFunctionCodec(volume, std::move(functions));
}

}  // namespace unshard
