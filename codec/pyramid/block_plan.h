// How the chunks of a view come from those of the source: as they are, with a header more or less,
// or decoded and encoded again. codec/FORMATS.md, "Views".
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "codec/array/array_metadata.h"
#include "codec/pyramid/axis_map.h"

namespace unshard {

enum class BlockForm {
  kCopy,
  kAddHeader,    // the header of an N5 block, then the stored bytes
  kStripHeader,  // the stored N5 block without its header, where that says the shape of the chunk;
                 // transcoded else
  kTranscode,
};

struct BlockPlan {
  BlockForm form = BlockForm::kTranscode;
  ChunkEncoding encoding;  // of the presented chunks
};

// The plan for a whole level, which has one compressor. `axes`: of each presented axis, that of
// `stored`. Chunks that are copied, or change their header, keep their compression; transcoded ones
// have `steps`, by default none.
BlockPlan PlanBlocks(const ArrayMetadata& stored, ArrayDialect to, const AxisMap& axes,
                     const std::vector<ChunkEncoding::Step>& steps = {});
// The same for the source's own format without compression.
BlockPlan PlanRawBlocks(const ArrayMetadata& stored);

// Whether no chunk reaches beyond the array.
bool IsEven(const ArrayMetadata& array);

// `ArrayMetadata::codec_json` of chunks with this encoding. Fails with kNotSupported, naming the
// codec, where the format lacks it.
Result<JsonValue> CodecJsonOf(ArrayDialect dialect, const DataType& type,
                              const ChunkEncoding& encoding, std::size_t rank);

}  // namespace unshard
