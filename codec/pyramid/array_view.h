// One array as documents of another format describe it. codec/FORMATS.md, "Views".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "codec/pyramid/chunk_conversion.h"
#include "codec/pyramid/pyramid.h"

namespace unshard {

// How the chunks of a view are compressed where they are encoded again.
struct ViewOptions {
  std::vector<ChunkEncoding::Step> steps;  // none: not at all
};

// The array of level number `level`, in the format `to`. It has everything but what a pyramid says
// of its levels. Fails with kNotSupported, naming what the format cannot say: the data type, an
// axis, a codec, the place of the first voxel.
Result<PresentedArray> PresentArray(const SourceDataset& dataset, const PyramidGeometry& geometry,
                                    std::size_t level, ArrayDialect to, const ViewOptions& options);
// The same format, without compression.
Result<PresentedArray> PresentRaw(const ArrayMetadata& stored);

}  // namespace unshard
