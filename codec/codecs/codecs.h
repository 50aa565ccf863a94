// The list of all codecs that documents name.
#pragma once

#include "codec/chain/definition.h"

namespace unshard {

// To add a codec: a source of this folder that defines its function, `const CodecDefinition&
// DeltaCodec()`, and a line here with the name of the function.
// clang-format off
#define UNSHARD_EACH_CODEC(each) \
  each(TransposeCodec) \
  each(DeltaCodec) \
  each(FixedScaleOffsetCodec) \
  each(AsTypeCodec) \
  each(NumcodecsPackBitsCodec) \
  each(QuantizeCodec) \
  each(BitRoundCodec) \
  each(ScaleOffsetCodec) \
  each(CastValueCodec) \
  each(ReshapeCodec) \
  each(BytesCodec) \
  each(PackBitsCodec) \
  each(VlenUtf8Codec) \
  each(VlenBytesCodec) \
  each(N5BlockCodec) \
  each(ShardingIndexedCodec) \
  each(CompressedSegmentationCodec) \
  each(JpegCodec) \
  each(PngCodec) \
  each(CompressoCodec) \
  each(CrackleCodec) \
  each(FpzipCodec) \
  each(KempressedCodec) \
  each(NpzCodec) \
  each(JpegXlCodec) \
  each(ZfpcCodec) \
  each(ZfpCodec) \
  each(ZfpyCodec) \
  each(ZstdCodec) \
  each(GzipCodec) \
  each(ZlibCodec) \
  each(BloscCodec) \
  each(Bzip2Codec) \
  each(Lz4Codec) \
  each(Lz4BlocksCodec) \
  each(LzmaCodec) \
  each(ShuffleCodec) \
  each(ConditionalCodec) \
  each(Crc32cCodec) \
  each(Crc32Codec) \
  each(Adler32Codec) \
  each(Fletcher32Codec) \
  each(JenkinsLookup3Codec)
// clang-format on

#define UNSHARD_DECLARE_CODEC(codec) const CodecDefinition& codec();
UNSHARD_EACH_CODEC(UNSHARD_DECLARE_CODEC)
#undef UNSHARD_DECLARE_CODEC

}  // namespace unshard
