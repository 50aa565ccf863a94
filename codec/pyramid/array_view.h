// One array as another format describes it. codec/FORMATS.md, "Views". Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "codec/pyramid/chunk_mapping.h"
#include "codec/pyramid/ome_version.h"
#include "codec/pyramid/pyramid.h"

namespace unshard {

struct ViewOptions {
  // Bytes-to-bytes codecs, of any dialect, of chunks that are encoded again; none: they are not
  // compressed.
  ChainSpec compression;
  // Of a copy: in place of `compression` that is CompressionOfCopy; in the format of the source,
  // chunks stay as they are.
  bool of_copy = false;
  // Of a view in the format of the source: chunks stay as they are as well.
  bool keeps_chunks = false;
  // Of OME-Zarr, where the format has it. Null: that of the source, where the format has it, else
  // DefaultOmeVersion.
  const OmeVersion* ome = nullptr;
};

// The array of level number `level`, in the format `to`, without the members in which the format
// describes pyramids. Fails with kNotSupported, naming what the format cannot express: the data
// type, an axis, a codec, the position of the first voxel.
Result<PresentedArray> PresentArray(const SourceDataset& dataset, const PyramidGeometry& geometry,
                                    std::size_t level, Dialect to, const ViewOptions& options);
// The array in its own format, without shards, and without compression unless chunks stay as they
// are.
Result<PresentedArray> PresentUnsharded(const Array& stored, const ViewOptions& options);

}  // namespace unshard
