// Missing values of xarray, netCDF and GDAL in the two versions of Zarr. codec/FORMATS.md, "Views".
// Pure; thread-safe.
#pragma once

#include "codec/array/array.h"

namespace unshard {

// Gives `presented`, which already has names, attributes and the fill value of `stored`, the
// missing value of `stored` as its own version of Zarr has it: in v2 `fill_value`, in v3 the
// attribute `_FillValue`. Nothing changes in arrays without names of axes, which xarray does not
// open, in those of times, of which xarray knows no `_FillValue`, and in formats other than Zarr. A
// level of an image (`is_level`) without a missing value keeps its fill value, which other readers
// than xarray need.
void CarryMissingValue(const Array& stored, bool is_level, Array& presented);

// Whether the voxels of absent chunks are defined. In Zarr v2 without a fill value they are not:
// most readers give zeros, zarr-python 2 whatever was in memory.
bool DefinesAbsent(const Array& array);
// Whether readers of `to` take an absent chunk for what readers of `from` take it for.
bool AbsentReadsAlike(const Array& from, const Array& to);

}  // namespace unshard
