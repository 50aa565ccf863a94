// Chunks that are passed on byte by byte, since nothing here can decode them: texts, structs,
// codecs that are not known. codec/FORMATS.md, "Views"; fs/SEMANTICS.md, "Copies". Pure;
// thread-safe.
#pragma once

#include "codec/array/array.h"
#include "codec/pyramid/axis_map.h"

namespace unshard {

// Whether chunks of the array can only be passed on. Requires: ForPassing accepts it.
inline bool OnlyPasses(const Array& array) { return array.codec == nullptr; }

// Whether the chunks of `from` are those of `to` as well, one of which OnlyPasses: format, items,
// grid, encoding and fill value are the same. Else kNotSupported where that is a matter of format,
// and kInvalidArgument, naming what differs. `axes`: for each axis of `to`, that of `from`.
Status CanPassChunks(const Array& from, const Array& to, const AxisMap& axes);

}  // namespace unshard
