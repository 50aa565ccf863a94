#include "codec/voxel/volume_codec.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "codec/voxel/compressed_segmentation.h"
#include "codec/voxel/compresso.h"
#include "codec/voxel/jpeg.h"
#include "codec/voxel/jpeg_xl.h"
#include "codec/voxel/png.h"

namespace unshard {
namespace {

Result<ChunkCodecPtr> MakeRaw(const VolumeEncoding& volume) {
  return CodecChain::Bind({CodecOfZarr3("bytes")}, "encoding", {volume.type});
}

// The registry. To add an encoding: a file with its codec, and a line here.
struct RegisteredEncoding {
  std::string_view name;
  Result<ChunkCodecPtr> (*make)(const VolumeEncoding& volume);
};
constexpr std::array<RegisteredEncoding, 6> kEncodings = {{
    {"raw", MakeRaw},
    {"jpeg", MakeJpegCodec},
    {"png", MakePngCodec},
    {"compressed_segmentation", MakeCompressedSegmentationCodec},
    {"compresso", MakeCompressoCodec},
    {"jxl", MakeJpegXlCodec},
}};

}  // namespace

Result<ChunkCodecPtr> MakeVolumeCodec(const VolumeEncoding& volume) {
  const auto known = std::find_if(
      kEncodings.begin(), kEncodings.end(),
      [&](const RegisteredEncoding& encoding) { return encoding.name == volume.encoding; });
  if (known != kEncodings.end()) return known->make(volume);
  return Fail(ErrorCode::kNotSupported, "decoding chunks of encoding \"", volume.encoding,
              "\" is not supported");
}

}  // namespace unshard
