// How the chunks of a view are made from those of the source: the stored bytes, with an N5 header
// more or less, or decoded and encoded again. codec/FORMATS.md, "Views". Pure; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "codec/array/array_metadata.h"
#include "codec/pyramid/axis_map.h"

namespace unshard {

enum class BlockForm {
  kCopy,         // the stored bytes
  kAddHeader,    // the header of an N5 block, then the stored bytes
  kStripHeader,  // the stored N5 block without its header, where that has the shape of the chunk;
                 // else as kTranscode
  kTranscode,    // decoded and encoded again
};

struct BlockPlan {
  BlockForm form = BlockForm::kTranscode;
  ChunkEncoding encoding;  // of the presented chunks
};

// The plan for all chunks of a level, which have one codec. `axes`: for each presented axis, that
// of `stored`. Chunks that are copied, or change their header, keep their compression; transcoded
// ones are compressed by `steps`.
BlockPlan PlanBlocks(const ArrayMetadata& stored, ArrayDialect to, const AxisMap& axes,
                     const std::vector<ChunkEncoding::Step>& steps = {});
// The compression of the chunks of a copy that are encoded again: that of the stored ones where the
// format has it, by the first compressor that it has; else zstd, in N5 gzip. Empty where stored
// chunks are not compressed, and for precomputed volumes, whose encoding `raw` has none.
std::vector<ChunkEncoding::Step> CompressionOfCopy(const ArrayMetadata& stored, ArrayDialect to);
// The plan for the same format without compression.
BlockPlan PlanRawBlocks(const ArrayMetadata& stored);

// Whether no chunk reaches beyond the array.
bool IsEven(const ArrayMetadata& array);

// `ArrayMetadata::codec_json` of chunks with this encoding. Fails with kNotSupported, naming the
// codec, where the format lacks it.
Result<JsonValue> CodecJsonOf(ArrayDialect dialect, const DataType& type,
                              const ChunkEncoding& encoding, std::size_t rank);

}  // namespace unshard
