// The `rectilinear` chunk grid of Zarr v3 (zarr-extensions, chunk-grids/rectilinear). Pure;
// thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "codec/core/error.h"
#include "codec/grid/chunk_grid.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

inline constexpr std::string_view kRectilinear = "rectilinear";

// The grid of an array of `shape` whose `chunk_grid` has this `configuration`. Fails with kDataLoss
// on damage, naming the member: an extent or count of 0, an empty list, extents whose sum is less
// than that of the array. With kNotSupported on a `kind` other than "inline".
Result<ChunkGrid> ParseRectilinearGrid(const JsonCursor& configuration,
                                       const std::vector<std::uint64_t>& shape);

// The `configuration` of a grid: what is regular is an extent, and a list has runs where it is
// shorter with them, as zarr-python writes it.
JsonValue RectilinearConfiguration(const ChunkGrid& grid);

// Lets the lists of a configuration that ParseRectilinearGrid accepts reach `shape`: where one is
// too short, one more chunk is appended, as zarr-python does, of an extent that is a multiple of
// `unit`. Requires: unit > 0 along each axis.
void ExtendRectilinearGrid(JsonValue& configuration, const std::vector<std::uint64_t>& shape,
                           const std::vector<std::uint64_t>& unit);

}  // namespace unshard
