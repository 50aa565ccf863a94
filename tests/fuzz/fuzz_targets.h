// Every fuzz target, as a function that either returns or ends the process.
//
// A target named `x` stands in x_target.cc and has its seeds in corpus/x/. To add one: a line below
// and those two. libFuzzer runs each as x_fuzzer (fuzz_main.cc); the ordinary tests replay the
// seeds, damaged seeds included (fuzz_replay_test.cc).
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "codec/core/bytes.h"

// In order of name.
#define UNSHARD_FUZZ_TARGETS(TARGET)                           \
  TARGET(array_chunk, FuzzArrayChunk)                          \
  TARGET(array_document, FuzzArrayDocument)                    \
  TARGET(array_schema, FuzzArraySchema)                        \
  TARGET(cache_entry, FuzzCacheEntry)                          \
  TARGET(chunk_check, FuzzChunkCheck)                          \
  TARGET(chunk_name, FuzzChunkName)                            \
  TARGET(codec_chain, FuzzCodecChain)                          \
  TARGET(compresso_decoding, FuzzCompressoDecoding)            \
  TARGET(crackle_decoding, FuzzCrackleDecoding)                \
  TARGET(fpzip_decoding, FuzzFpzipDecoding)                    \
  TARGET(gcs_answer, FuzzGcsAnswer)                            \
  TARGET(gzip, FuzzGzip)                                       \
  TARGET(http_response, FuzzHttpResponse)                      \
  TARGET(jpeg_decoding, FuzzJpegDecoding)                      \
  TARGET(jpeg_xl_decoding, FuzzJpegXlDecoding)                 \
  TARGET(json, FuzzJson)                                       \
  TARGET(mesh_manifest, FuzzMeshManifest)                      \
  TARGET(metadata_merge, FuzzMetadataMerge)                    \
  TARGET(minishard_index, FuzzMinishardIndex)                  \
  TARGET(mount_table, FuzzMountTable)                          \
  TARGET(neuroglancer_info, FuzzNeuroglancerInfo)              \
  TARGET(neuroglancer_shard_index, FuzzNeuroglancerShardIndex) \
  TARGET(npz_decoding, FuzzNpzDecoding)                        \
  TARGET(png_decoding, FuzzPngDecoding)                        \
  TARGET(pyramid, FuzzPyramid)                                 \
  TARGET(s3_answers, FuzzS3Answers)                            \
  TARGET(schema, FuzzSchema)                                   \
  TARGET(sealed_name, FuzzSealedName)                          \
  TARGET(segmentation_decoding, FuzzSegmentationDecoding)      \
  TARGET(zarr_metadata, FuzzZarrMetadata)                      \
  TARGET(zarr_shard_index, FuzzZarrShardIndex)                 \
  TARGET(zfp_decoding, FuzzZfpDecoding)                        \
  TARGET(zip_directory, FuzzZipDirectory)

namespace unshard {

#define UNSHARD_DECLARE_TARGET(name, function) void function(ByteSpan input);
UNSHARD_FUZZ_TARGETS(UNSHARD_DECLARE_TARGET)
#undef UNSHARD_DECLARE_TARGET

struct FuzzTarget {
  std::string_view name;
  void (*run)(ByteSpan input);
};

#define UNSHARD_LIST_TARGET(name, function) FuzzTarget{#name, function},
inline constexpr FuzzTarget kFuzzTargets[] = {UNSHARD_FUZZ_TARGETS(UNSHARD_LIST_TARGET)};
#undef UNSHARD_LIST_TARGET

// Ends the process where a promise does not hold, so that fuzzers and tests both notice.
inline void Require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace unshard
