// From a schema to the metadata documents of a new dataset: one array, or the same volume at
// several resolutions. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codec/core/error.h"
#include "codec/pyramid/array_documents.h"
#include "codec/pyramid/ome_version.h"
#include "codec/schema/schema.h"

namespace unshard {

// How much coarser each level is than the one before.
struct NewScales {
  std::size_t count = 1;
  // For the step to each coarser level, one factor for each dimension of the schema; the last list
  // also applies to all further steps. Empty: 2 along x, y and z where any dimension has such a
  // label, else along all dimensions.
  std::vector<std::vector<std::int64_t>> factors;
};

// The documents of a dataset in a format. Several scales of Zarr are an OME-Zarr pyramid, of the
// version `ome` (null: DefaultOmeVersion), of N5 one with the conventions of n5-viewer, n5-universe
// and Paintera. Level k + 1 has the size ⌈size / factor⌉, begins at ⌊offset / factor⌋, has the
// resolution × factor, and the schema's constraints on chunks. Fails with kInvalidArgument, naming
// the constraint, where one of the levels cannot satisfy it.
Result<std::vector<MetadataDocument>> NewDataset(Dialect dialect, const Schema& schema,
                                                 const NewScales& scales,
                                                 const OmeVersion* ome = nullptr);

}  // namespace unshard
