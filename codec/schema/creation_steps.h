// The steps from a schema to a new array that several formats have in common: zarr3_creation.h,
// zarr2_creation.h, n5_creation.h, precomputed_creation.h. All failures are kInvalidArgument and
// name the constraint. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/schema/chunk_shape.h"
#include "codec/schema/schema.h"

namespace unshard {

// The failure `message`, which begins with the member of the schema.
tl::unexpected<Error> CannotCreate(std::string message);

// The data type; fails where the schema has none.
Result<const DataTypeNames*> RequiredType(const Schema& schema);

// The domain of the schema with the bounds and labels that the format prescribes. Fails where the
// two contradict each other, or a dimension has no bounds.
Result<IndexDomain> RequiredDomain(const Schema& schema, const IndexDomain& of_format);
// The domain that Zarr and N5 prescribe: lower bounds of 0, upper bounds free.
IndexDomain DomainFromZero(std::size_t rank);

// The extents of the dimensions; nothing for those without bounds.
Extents ExtentsOf(const IndexDomain& domain);

// The schema's codec; without constraints where it has none. Fails where it is another format's.
Result<CodecConstraints> RequiredCodec(const Schema& schema, ArrayDialect dialect);

// The chunk shape in a format without shards, where write chunks are read chunks. Fails where
// constraints on the two contradict each other.
Result<std::vector<std::int64_t>> ChooseSingleShape(const ChunkLayout& layout,
                                                    const Extents& extents);

// Fails where the layout has a hard constraint on the shape of codec chunks.
Status CheckNoCodecChunks(const ChunkLayout& layout);

// The same, and where the layout has a hard constraint on chunks that the chosen shape contradicts.
Status CheckChosenShape(ChunkLayout layout, const std::vector<std::int64_t>& shape);

// A list of strings.
JsonValue StringArray(const std::vector<std::string>& texts);

}  // namespace unshard
