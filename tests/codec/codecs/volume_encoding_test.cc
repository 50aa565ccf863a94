#include "codec/codecs/volume_encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "codec/codecs/image_form.h"
#include "codec/core/library.h"
#include "tests/support/codecs.h"
#include "tests/support/folders.h"

namespace unshard {
namespace {

// Chunks of 8 × 8 × 4 voxels that other programs encoded: TensorStore the JPEG, PNG and
// compressed_segmentation, CloudVolume, imagecodecs and Pillow the other images, the package
// compresso the compresso.
ByteVector EncodedVolume(const std::string& name) {
  const auto file = std::filesystem::path(SourceFolder()) / "tests/fuzz/corpus" / name;
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream.good()) << file;
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// What an `info` says of the chunks of a scale.
struct EncodedScale {
  std::string encoding;
  DataType type;
  std::uint64_t channels = 1;
  std::string block_size = {};  // JSON
  std::optional<int> jpeg_quality = std::nullopt;
  std::optional<int> png_level = std::nullopt;
};

EncodedScale Volume(const std::string& encoding, const DataType& type, std::uint64_t channels) {
  return {encoding, type, channels};
}

Result<ChunkCodecPtr> Bind(const EncodedScale& volume) {
  std::string members = R"("encoding": ")" + volume.encoding + "\"";
  if (!volume.block_size.empty()) {
    members += R"(, "compressed_segmentation_block_size": )" + volume.block_size;
  }
  if (volume.jpeg_quality)
    members += R"(, "jpeg_quality": )" + std::to_string(*volume.jpeg_quality);
  if (volume.png_level) members += R"(, "png_level": )" + std::to_string(*volume.png_level);
  return BindVolumeChain(members, volume.type, volume.channels);
}

ChunkCodecPtr Codec(const EncodedScale& volume) {
  auto codec = Bind(volume);
  EXPECT_TRUE(codec) << codec.error().message;
  return codec ? *codec : nullptr;
}

// Little-endian items of 8 × 8 × 4 voxels, x fastest.
template <class ValueAt>
ByteVector Items(std::uint64_t channels, std::uint32_t size, const ValueAt& value_at) {
  ByteVector bytes;
  for (std::uint64_t c = 0; c < channels; ++c) {
    for (std::uint64_t i = 0; i < 8u * 8 * 4; ++i) {
      const std::uint64_t value = value_at(i % 8, i / 8 % 8, i / 64, c);
      for (std::uint32_t b = 0; b < size; ++b) {
        bytes.push_back(static_cast<std::uint8_t>(value >> (8 * b)));
      }
    }
  }
  return bytes;
}

ByteVector ImageOf(std::uint64_t channels, std::uint32_t size) {
  return Items(channels, size, [&](auto x, auto y, auto z, auto c) {
    return (10 * x + 7 * y + 3 * z + 20 * c) * (size == 1 ? 1 : 211);
  });
}

ByteVector LabelsOf(std::uint64_t channels, std::uint32_t size) {
  return Items(channels, size, [&](auto x, auto y, auto z, auto c) {
    const std::uint64_t base = size == 8 ? std::uint64_t{1} << 40 : 0;
    return base + 1 + (x + z) / 4 + 2 * ((2 * y + x) / 8) + 5 * c;
  });
}

ByteVector Decode(const EncodedScale& volume, const ByteVector& encoded) {
  const auto voxels = Codec(volume)->Decode(encoded, Shape{volume.channels, 4, 8, 8});
  EXPECT_TRUE(voxels) << voxels.error().message;
  return voxels ? Voxels(*voxels).TakeBytes() : ByteVector();
}

std::string Refusal(const EncodedScale& volume, const ByteVector& encoded,
                    const Shape& shape = {1, 4, 8, 8}) {
  const auto voxels = Codec(volume)->Decode(encoded, shape);
  EXPECT_FALSE(voxels);
  if (voxels) return "";
  EXPECT_EQ(voxels.error().code, ErrorCode::kDataLoss);
  return voxels.error().message;
}

Voxels ChunkOf(const EncodedScale& volume, ByteVector bytes) {
  return Voxels::Make(volume.type, {volume.channels, 4, 8, 8}, std::move(bytes)).value();
}

ByteVector Encode(const EncodedScale& volume, ByteVector bytes) {
  const auto encoded = Codec(volume)->Encode(ChunkOf(volume, std::move(bytes)));
  EXPECT_TRUE(encoded) << encoded.error().message;
  return encoded ? *encoded : ByteVector();
}

// Whether this build has the library of an encoding.
bool HasItsLibrary(const std::string& encoding) {
  return Codec(Volume(encoding, kUint8, 1))->CanDecode().has_value();
}

// How much voxels of one byte differ at most.
int Difference(const ByteVector& a, const ByteVector& b) {
  EXPECT_EQ(a.size(), b.size());
  int most = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    most = std::max(most, std::abs(int{a[i]} - int{b[i]}));
  }
  return most;
}

TEST(VolumeEncoding, PngsOfAllForms) {
  if (!HasItsLibrary("png")) GTEST_SKIP() << "not in this build: png";
  for (const std::uint32_t size : {1u, 2u}) {
    for (const std::uint64_t channels : {1u, 2u, 3u, 4u}) {
      const std::string name = std::string("png_decoding/") + (size == 1 ? "uint8_" : "uint16_");
      const EncodedScale volume = Volume("png", size == 1 ? kUint8 : kUint16, channels);
      const ByteVector encoded = EncodedVolume(name + std::to_string(channels));
      EXPECT_EQ(Decode(volume, encoded), ImageOf(channels, size)) << name << channels;
      EXPECT_EQ(Decode(volume, Encode(volume, ImageOf(channels, size))), ImageOf(channels, size));
      EXPECT_FALSE(Codec(volume)->is_lossy());
    }
  }
}

TEST(VolumeEncoding, PngsThatNoVolumeLibraryWrites) {
  if (!HasItsLibrary("png")) GTEST_SKIP() << "not in this build: png";
  const EncodedScale gray = Volume("png", kUint8, 1);
  EXPECT_EQ(Decode(gray, EncodedVolume("png_decoding/interlaced")), ImageOf(1, 1));
  EXPECT_EQ(Decode(gray, EncodedVolume("png_decoding/transparent")), ImageOf(1, 1));
  EXPECT_EQ(Decode(gray, EncodedVolume("png_decoding/one_bit")),
            Items(1, 1, [](auto x, auto y, auto z, auto) {
              return 10 * x + 7 * y + 3 * z > 100 ? 255u : 0u;
            }));
  EXPECT_LE(Difference(Decode(Volume("png", kUint8, 3), EncodedVolume("png_decoding/palette")),
                       ImageOf(3, 1)),
            20)
      << "a palette is expanded";
  // The colour that is transparent becomes alpha where the volume has a channel for it.
  const ByteVector with_alpha =
      Decode(Volume("png", kUint8, 2), EncodedVolume("png_decoding/transparent"));
  ByteVector expected = ImageOf(1, 1);
  for (std::size_t i = 0; i < 256; ++i) expected.push_back(expected[i] == 20 ? 0 : 255);
  EXPECT_EQ(with_alpha, expected);
}

TEST(VolumeEncoding, PngLevelsChangeTheBytesAlone) {
  if (!HasItsLibrary("png")) GTEST_SKIP() << "not in this build: png";
  EncodedScale volume = Volume("png", kUint16, 3);
  std::vector<std::size_t> sizes;
  for (int level = 0; level <= 9; ++level) {
    volume.png_level = level;
    const ByteVector encoded = Encode(volume, ImageOf(3, 2));
    EXPECT_EQ(Decode(volume, encoded), ImageOf(3, 2)) << level;
    sizes.push_back(encoded.size());
  }
  EXPECT_GT(sizes[0], ImageOf(3, 2).size());
  EXPECT_GT(sizes[0], sizes[9]);
}

TEST(VolumeEncoding, Jpegs) {
  for (const std::uint64_t channels : {1u, 3u}) {
    EncodedScale volume = Volume("jpeg", kUint8, channels);
    volume.jpeg_quality = 95;
    const ByteVector encoded =
        EncodedVolume(channels == 1 ? "jpeg_decoding/gray" : "jpeg_decoding/rgb");
    EXPECT_EQ(Encode(volume, ImageOf(channels, 1)), encoded);
    EXPECT_LE(Difference(Decode(volume, encoded), ImageOf(channels, 1)), 12) << channels;
    EXPECT_TRUE(Codec(volume)->is_lossy());
    volume.jpeg_quality.reset();
    EXPECT_LT(Encode(volume, ImageOf(channels, 1)).size(), encoded.size()) << "75 is the default";
  }
  EXPECT_LE(
      Difference(Decode(Volume("jpeg", kUint8, 3), EncodedVolume("jpeg_decoding/progressive")),
                 ImageOf(3, 1)),
      12);
}

TEST(VolumeEncoding, JpegXls) {
  if (!HasItsLibrary("jxl")) GTEST_SKIP() << "not in this build: jxl";
  EXPECT_EQ(Decode(Volume("jxl", kUint8, 1), EncodedVolume("jpeg_xl_decoding/gray")),
            ImageOf(1, 1));
  EXPECT_LE(Difference(Decode(Volume("jxl", kUint8, 1), EncodedVolume("jpeg_xl_decoding/lossy")),
                       ImageOf(1, 1)),
            12);
  EXPECT_EQ(Decode(Volume("jxl", kUint8, 3), EncodedVolume("jpeg_xl_decoding/rgb")), ImageOf(3, 1));
  EXPECT_EQ(Decode(Volume("jxl", kUint8, 4), EncodedVolume("jpeg_xl_decoding/rgba")),
            ImageOf(4, 1));
  EXPECT_EQ(Decode(Volume("jxl", kUint8, 3), EncodedVolume("jpeg_xl_decoding/frames")),
            ImageOf(3, 1))
      << "CloudVolume writes a frame for each channel";
  EXPECT_EQ(
      Refusal(Volume("jxl", kUint8, 2), EncodedVolume("jpeg_xl_decoding/frames"), {2, 4, 8, 8}),
      "jxl chunk: expected frames with 2 components a pixel in all, found more");
  EXPECT_EQ(
      Refusal(Volume("jxl", kUint8, 4), EncodedVolume("jpeg_xl_decoding/frames"), {4, 4, 8, 8}),
      "jxl chunk: expected frames with 4 components a pixel in all, found fewer");
}

TEST(VolumeEncoding, CompressedSegmentations) {
  for (const DataType& type : {kUint32, kUint64}) {
    const std::string name = "segmentation_decoding/" + DataTypeName(type);
    EncodedScale volume = Volume("compressed_segmentation", type, 1);
    volume.block_size = "[4, 4, 4]";
    EXPECT_EQ(Decode(volume, EncodedVolume(name)), LabelsOf(1, type.size));
    EXPECT_EQ(Encode(volume, LabelsOf(1, type.size)), EncodedVolume(name));
    volume.channels = 2;
    volume.block_size = "[3, 8, 8]";
    EXPECT_EQ(Decode(volume, EncodedVolume(name + "_channels")), LabelsOf(2, type.size));
    EXPECT_EQ(Encode(volume, LabelsOf(2, type.size)), EncodedVolume(name + "_channels"));
    EXPECT_EQ(Codec(volume)->text(), "compressed_segmentation 3 x 8 x 8");
  }
}

TEST(VolumeEncoding, Compressos) {
  for (const std::uint32_t size : {1u, 2u, 4u, 8u}) {
    const DataType type = {DataType::Kind::kUnsigned, size};
    const EncodedScale volume = Volume("compresso", type, 1);
    for (const char* connectivity : {"_4", "_6"}) {
      const std::string name = "compresso_decoding/" + DataTypeName(type) + connectivity;
      EXPECT_EQ(Decode(volume, EncodedVolume(name)), LabelsOf(1, size)) << name;
    }
    EXPECT_EQ(Codec(volume)->CanEncode().error().code, ErrorCode::kNotSupported);
    EXPECT_EQ(Codec(volume)->Encode(ChunkOf(volume, LabelsOf(1, size))).error().message,
              "chunks of encoding \"compresso\" can only be read");
  }
  const EncodedScale noise = Volume("compresso", kUint16, 1);
  EXPECT_EQ(Decode(noise, EncodedVolume("compresso_decoding/noise")).size(), 512u);
}

struct Case {
  EncodedScale volume;
  std::string name;
};

std::vector<Case> OneOfEach() {
  EncodedScale segmentation = Volume("compressed_segmentation", kUint64, 1);
  segmentation.block_size = "[4, 4, 4]";
  std::vector<Case> cases = {{Volume("jpeg", kUint8, 1), "jpeg_decoding/gray"},
                             {Volume("jpeg", kUint8, 3), "jpeg_decoding/progressive"},
                             {Volume("png", kUint16, 3), "png_decoding/uint16_3"},
                             {Volume("png", kUint8, 1), "png_decoding/interlaced"},
                             {Volume("jxl", kUint8, 1), "jpeg_xl_decoding/gray"},
                             {Volume("jxl", kUint8, 3), "jpeg_xl_decoding/frames"},
                             {segmentation, "segmentation_decoding/uint64"},
                             {Volume("compresso", kUint32, 1), "compresso_decoding/uint32_4"},
                             {Volume("compresso", kUint64, 1), "compresso_decoding/uint64_6"}};
  std::erase_if(cases, [](const Case& each) { return !Codec(each.volume)->CanDecode(); });
  return cases;
}

// A chunk of an encoding whose library this build lacks is not looked at.
void ExpectRefusal(const std::string& message, const EncodedScale& volume, const std::string& name,
                   const Shape& shape = {1, 4, 8, 8}) {
  if (!HasItsLibrary(volume.encoding)) return;
  EXPECT_EQ(Refusal(volume, EncodedVolume(name), shape), message);
}

TEST(VolumeEncoding, ChunksThatAreCutShortAreRefused) {
  for (const Case& each : OneOfEach()) {
    const ByteVector whole = EncodedVolume(each.name);
    const auto codec = Codec(each.volume);
    for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
      const ByteVector part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      const auto voxels = codec->Decode(part, Shape{each.volume.channels, 4, 8, 8});
      ASSERT_FALSE(voxels) << each.name << " at " << size;
      EXPECT_EQ(voxels.error().code, ErrorCode::kDataLoss) << each.name << " at " << size;
    }
  }
}

TEST(VolumeEncoding, ChunksOfAnotherShapeAreRefused) {
  for (const Case& each : OneOfEach()) {
    const Shape shape = {each.volume.channels, 4, 8, 7};
    const auto voxels = Codec(each.volume)->Decode(EncodedVolume(each.name), shape);
    // Nothing about the shape is stored in compressed_segmentation: there, fewer voxels are there.
    if (each.volume.encoding == "compressed_segmentation") continue;
    ASSERT_FALSE(voxels) << each.name;
    EXPECT_EQ(voxels.error().code, ErrorCode::kDataLoss);
  }
  ExpectRefusal("png chunk: expected an image of 224 pixels, found 8 x 32",
                Volume("png", kUint8, 1), "png_decoding/uint8_1", {1, 4, 8, 7});
  ExpectRefusal("jxl chunk: expected an image of 224 pixels, found 8 x 32",
                Volume("jxl", kUint8, 1), "jpeg_xl_decoding/gray", {1, 4, 8, 7});
  ExpectRefusal("compresso chunk: expected a chunk of 4 x 8 x 8 voxels, found 8 x 8 x 4",
                Volume("compresso", kUint8, 1), "compresso_decoding/uint8_4", {1, 8, 8, 4});
}

TEST(VolumeEncoding, ChunksOfAnotherTypeAreRefused) {
  ExpectRefusal("png chunk: expected components of 8 bits, found 16", Volume("png", kUint8, 1),
                "png_decoding/uint16_1");
  ExpectRefusal("png chunk: expected components of 16 bits, found 8", Volume("png", kUint16, 1),
                "png_decoding/uint8_1");
  ExpectRefusal("png chunk: expected 1 components a pixel, found 3", Volume("png", kUint8, 1),
                "png_decoding/palette");
  ExpectRefusal("jpeg chunk: expected 1 components a pixel, found 3", Volume("jpeg", kUint8, 1),
                "jpeg_decoding/rgb");
  ExpectRefusal("jpeg chunk: expected 3 components a pixel, found 4", Volume("jpeg", kUint8, 3),
                "jpeg_decoding/cmyk", {3, 4, 8, 8});
  ExpectRefusal("jxl chunk: expected 3 components a pixel, found 1", Volume("jxl", kUint8, 3),
                "jpeg_xl_decoding/gray", {3, 4, 8, 8});
  ExpectRefusal("compresso chunk: expected labels of 8 bytes, found 4",
                Volume("compresso", kUint64, 1), "compresso_decoding/uint32_4");
}

TEST(VolumeEncoding, NamesTheLibraryThatTheBuildLacks) {
  for (const auto& [encoding, library] :
       {std::pair("png", &Libpng()), std::pair("jxl", &Libjxl())}) {
    const ChunkCodecPtr codec = Codec(Volume(encoding, kUint8, 1));
    EXPECT_EQ(codec->CanDecode().has_value(), library->in_build()) << encoding;
    EXPECT_EQ(codec->text(), encoding);
    if (library->in_build()) continue;
    const auto decoded = codec->Decode(ByteVector(10), Shape{1, 4, 8, 8});
    const Status failures[] = {codec->CanDecode(), codec->CanEncode(), decoded.map([](auto&) {})};
    for (const Status& failure : failures) {
      EXPECT_EQ(failure.error().code, ErrorCode::kNotSupported);
    }
    EXPECT_EQ(codec->CanDecode().error().message, std::string("the encoding \"") + encoding +
                                                      "\" is not in this build (lib" + encoding +
                                                      ")");
    EXPECT_EQ(decoded.error().message, codec->CanDecode().error().message);
  }
}

TEST(VolumeEncoding, VolumesThatAnEncodingDoesNotHaveAreRefused) {
  const auto why = [](const EncodedScale& volume) {
    const auto codec = Bind(volume);
    EXPECT_FALSE(codec);
    if (codec) return std::string();
    EXPECT_EQ(codec.error().code, ErrorCode::kDataLoss);
    return codec.error().message;
  };
  EXPECT_EQ(why(Volume("jpeg", kUint16, 1)),
            "encoding: encoding \"jpeg\": expected uint8 and 1 or 3 channels, found uint16 and 1 "
            "channels");
  EXPECT_NE(why(Volume("jpeg", kUint8, 2)), "");
  EXPECT_NE(why(Volume("png", kUint32, 1)), "");
  EXPECT_NE(why(Volume("png", {DataType::Kind::kSigned, 1}, 1)), "");
  EXPECT_NE(why(Volume("png", kUint8, 5)), "");
  EXPECT_NE(why(Volume("png", kUint8, 0)), "");
  EXPECT_NE(why(Volume("jxl", kUint16, 1)), "");
  EXPECT_NE(why(Volume("compresso", kUint32, 2)), "");
  EXPECT_NE(why(Volume("compresso", {DataType::Kind::kFloat, 4}, 1)), "");
  EXPECT_NE(why(Volume("compressed_segmentation", kUint64, 1)), "") << "it has no block size";
  EncodedScale segmentation = Volume("compressed_segmentation", kUint16, 1);
  segmentation.block_size = "[8, 8, 8]";
  EXPECT_NE(why(segmentation), "");
  segmentation.type = kUint64;
  segmentation.block_size = "[8, 0, 8]";
  EXPECT_NE(why(segmentation), "");
}

TEST(VolumeEncoding, VoxelsThatAreNoChunkOfTheVolumeAreRefused) {
  const auto codec = Codec(Volume("jpeg", kUint8, 3));
  const auto code = [&](const DataType& type, Shape shape) {
    const ByteVector item(type.size, 7);
    return codec->Encode(Voxels::Filled(type, std::move(shape), item).value()).error().code;
  };
  EXPECT_EQ(code(kUint16, {3, 4, 8, 8}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(kUint8, {1, 4, 8, 8}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(kUint8, {3, 0, 8, 8}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(kUint8, {4, 8, 8}), ErrorCode::kInvalidArgument);
  const std::uint64_t huge = std::uint64_t{1} << 40;
  EXPECT_EQ(codec->Decode({}, Shape{3, huge, huge, huge}).error().code,
            ErrorCode::kResourceExhausted);
}

TEST(ImageForm, ArrangesVoxelsWithinTheLimitOfASide) {
  const auto size = [](std::uint64_t x, std::uint64_t y, std::uint64_t z) {
    const auto image = ArrangeImage("jpeg chunk", {x, y, z}, kMaxJpegSide);
    return image ? std::pair(image->width, image->height)
                 : std::pair<std::uint64_t, std::uint64_t>();
  };
  using Size = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(size(64, 64, 64), Size(64, 4096));
  EXPECT_EQ(size(64, 512, 512), Size(32768, 512)) << "64 x 262144 is too high";
  EXPECT_EQ(size(1, 70000, 1), Size(2, 35000)) << "neither rows nor planes fit";
  EXPECT_EQ(size(512, 512, 512), Size(4096, 32768));
  EXPECT_EQ(size(1, 65521, 1), Size()) << "a prime number above the limit";
  EXPECT_EQ(size(0, 1, 1), Size());
}

}  // namespace
}  // namespace unshard
