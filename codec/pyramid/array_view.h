// One array as another format describes it. codec/FORMATS.md, "Views". Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "codec/pyramid/chunk_conversion.h"
#include "codec/pyramid/pyramid.h"

namespace unshard {

// How the chunks of a view are compressed where they are encoded again; without steps they are not.
struct ViewOptions {
  std::vector<ChunkEncoding::Step> steps;
  // Of a copy: in place of `steps` the compression is CompressionOfCopy.
  bool of_copy = false;
};

// The array of level number `level`, in the format `to`, without the members in which the format
// describes pyramids. Fails with kNotSupported, naming what the format cannot express: the data
// type, an axis, a codec, the position of the first voxel.
Result<PresentedArray> PresentArray(const SourceDataset& dataset, const PyramidGeometry& geometry,
                                    std::size_t level, ArrayDialect to, const ViewOptions& options);
// The array in its own format, without shards and compression.
Result<PresentedArray> PresentRaw(const ArrayMetadata& stored);

}  // namespace unshard
