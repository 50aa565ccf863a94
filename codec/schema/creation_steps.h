// Steps of creation.h that several formats take. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/schema/chunk_shape.h"
#include "codec/schema/schema.h"

namespace unshard {

tl::unexpected<Error> CannotCreate(std::string message);

// The data type; fails where the schema has none.
Result<const ElementType*> RequiredType(const Schema& schema);

// The domain of the schema and of the format, whose bounds and labels it must agree with. Fails
// where it is not bounded.
Result<IndexDomain> RequiredDomain(const Schema& schema, const IndexDomain& of_format);
// From 0 on, without upper bounds: what Zarr and N5 can hold.
IndexDomain DomainFromZero(std::size_t rank);

Extents ExtentsOf(const IndexDomain& domain);

// The schema's codec; without constraints where it has none. Fails where it is another format's.
Result<CodecSpec> RequiredCodec(const Schema& schema, CodecSpec::Driver driver);

// For formats without shards: write chunks are read chunks. Fails where constraints on the two
// contradict each other.
Result<std::vector<std::int64_t>> ChooseSingleShape(const ChunkLayout& layout,
                                                    const Extents& extents);

// Fails where the layout has a hard constraint on the shape of codec chunks.
Status CheckNoCodecChunks(const ChunkLayout& layout);

// The same, and where the layout has a hard constraint on chunks that the chosen shape contradicts.
Status CheckChosenShape(ChunkLayout layout, const std::vector<std::int64_t>& shape);

// A list of strings.
JsonValue StringArray(const std::vector<std::string>& texts);

}  // namespace unshard
