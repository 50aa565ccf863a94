// Chunks as they are encoded, and images that are no chunks, as libjxl's own encoder writes them.
#include <gtest/gtest.h>
#include <jxl/encode.h>
#include <jxl/encode_cxx.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/support/codecs.h"

namespace unshard {
namespace {

constexpr std::uint32_t kSide = 16;

// A gray image of 16 × 16 pixels with so many channels beside its colour.
ByteVector Image(std::uint32_t extra_channels) {
  const JxlEncoderPtr encoder = JxlEncoderMake(nullptr);
  JxlBasicInfo info;
  JxlEncoderInitBasicInfo(&info);
  info.xsize = info.ysize = kSide;
  info.num_color_channels = 1;
  info.num_extra_channels = extra_channels;
  info.uses_original_profile = JXL_TRUE;
  EXPECT_EQ(JxlEncoderSetBasicInfo(encoder.get(), &info), JXL_ENC_SUCCESS);
  for (std::uint32_t i = 0; i < extra_channels; ++i) {
    JxlExtraChannelInfo channel;
    JxlEncoderInitExtraChannelInfo(JXL_CHANNEL_DEPTH, &channel);
    EXPECT_EQ(JxlEncoderSetExtraChannelInfo(encoder.get(), i, &channel), JXL_ENC_SUCCESS);
  }
  JxlColorEncoding gray;
  JxlColorEncodingSetToSRGB(&gray, JXL_TRUE);
  EXPECT_EQ(JxlEncoderSetColorEncoding(encoder.get(), &gray), JXL_ENC_SUCCESS);
  JxlEncoderFrameSettings* const frame = JxlEncoderFrameSettingsCreate(encoder.get(), nullptr);
  EXPECT_EQ(JxlEncoderSetFrameLossless(frame, JXL_TRUE), JXL_ENC_SUCCESS);
  const JxlPixelFormat format = {1, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  ByteVector pixels(kSide * kSide);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(JxlEncoderAddImageFrame(frame, &format, pixels.data(), pixels.size()), JXL_ENC_SUCCESS);
  for (std::uint32_t i = 0; i < extra_channels; ++i) {
    EXPECT_EQ(JxlEncoderSetExtraChannelBuffer(frame, &format, pixels.data(), pixels.size(), i),
              JXL_ENC_SUCCESS);
  }
  JxlEncoderCloseInput(encoder.get());
  ByteVector image(65536);
  std::uint8_t* next = image.data();
  std::size_t left = image.size();
  EXPECT_EQ(JxlEncoderProcessOutput(encoder.get(), &next, &left), JXL_ENC_SUCCESS);
  image.resize(image.size() - left);
  return image;
}

TEST(JpegXl, ChannelsBesideTheVoxelsAreDamage) {
  const ChunkCodecPtr codec = BindVolumeChain(R"("encoding": "jxl")", kUint8, 1).value();
  const Shape shape{1, 1, kSide, kSide};
  const auto planes = codec->Decode(Image(0), shape);
  ASSERT_TRUE(planes) << planes.error().message;
  EXPECT_EQ(planes->bytes()[77], 77);
  const auto refused = codec->Decode(Image(2), shape);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(refused.error().message.find("no extra channels"), std::string::npos);
}

ChunkCodecPtr JpegXlOf(const std::string& options, std::uint64_t channels) {
  return BindVolumeChain(R"("encoding": "jxl")" + options, kUint8, channels).value();
}

TEST(JpegXl, LosesByQuality) {
  for (const std::uint64_t channels : {1u, 3u}) {
    const Shape shape{channels, 8, 16, 16};
    ByteVector smooth;  // with some noise
    for (std::uint32_t i = 0; i < channels * 8 * 16 * 16; ++i) {
      smooth.push_back(static_cast<std::uint8_t>(3 * (i % 16) + 5 * (i / 16 % 16) + 4 * (i / 256) +
                                                 (i * 2654435761u >> 29)));
    }
    const Voxels voxels = *Voxels::Make(kUint8, shape, smooth);
    std::size_t before = smooth.size();
    for (const int quality : {100, 85, 40, 5}) {
      const auto codec = JpegXlOf(", \"jxl_quality\": " + std::to_string(quality), channels);
      EXPECT_EQ(codec->is_lossy(), quality != 100);
      const auto chunk = codec->Encode(voxels);
      ASSERT_TRUE(chunk) << chunk.error().message;
      const auto decoded = codec->Decode(*chunk, shape);
      ASSERT_TRUE(decoded) << decoded.error().message;
      int most = 0;
      for (std::size_t i = 0; i < smooth.size(); ++i) {
        most = std::max(most, std::abs(decoded->bytes()[i] - smooth[i]));
      }
      EXPECT_EQ(most == 0, quality == 100) << channels << ' ' << quality;
      EXPECT_LE(most, 80) << channels << ' ' << quality;
      EXPECT_LT(chunk->size(), before) << channels << ' ' << quality;
      before = chunk->size();
      if (quality == 85) {
        EXPECT_EQ(*JpegXlOf("", channels)->Encode(voxels), *chunk) << "the default";
      }
    }
  }
}

TEST(JpegXl, IsEncodedWithOneOrThreeChannels) {
  EXPECT_TRUE(JpegXlOf("", 1)->CanEncode());
  EXPECT_EQ(JpegXlOf("", 2)->CanEncode().error().message,
            "chunks of encoding \"jxl\" with 2 channels can only be read");
  for (const char* const wrong : {"\"jxl_quality\": 101", "\"jxl_quality\": -1",
                                  "\"jxl_effort\": 0", "\"jxl_decodingspeed\": 5"}) {
    const auto codec = BindVolumeChain(std::string(R"("encoding": "jxl", )") + wrong, kUint8, 1);
    ASSERT_FALSE(codec) << wrong;
    EXPECT_EQ(codec.error().code, ErrorCode::kDataLoss);
  }
}

}  // namespace
}  // namespace unshard
