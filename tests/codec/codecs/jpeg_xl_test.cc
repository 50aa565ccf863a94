// Images that are no chunks, as libjxl's own encoder writes them.
#include <gtest/gtest.h>
#include <jxl/encode.h>
#include <jxl/encode_cxx.h>

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

}  // namespace
}  // namespace unshard
