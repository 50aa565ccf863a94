// Members that the metadata documents of several formats have in the same form. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/array/array.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/json/number.h"

namespace unshard {

// The extents of the chunks of an array of `shape`, from 1 to `most`. An empty axis may have chunks
// of 0, which count as 1: there are none. Fails with kDataLoss; the number of extents is not
// checked.
Result<std::vector<std::uint64_t>> ParseChunkShape(const JsonCursor& extents,
                                                   const std::vector<std::uint64_t>& shape,
                                                   std::uint64_t most);

// A list with a name or null for each of `rank` axes. Fails with kDataLoss.
Result<std::vector<std::optional<std::string>>> ParseAxisNames(const JsonCursor& names,
                                                               std::size_t rank);
JsonValue AxisNamesJson(const std::vector<std::optional<std::string>>& names);

// Fails with kInvalidArgument where `array` does not begin at 0: Zarr and N5 have no origin.
Status RefuseOrigin(const Array& array);

}  // namespace unshard
