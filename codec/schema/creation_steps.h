// The steps from a schema to a new array that several formats have in common (new_array.h,
// new_scale.h). All failures are kInvalidArgument and name the constraint. Pure; thread-safe.
#pragma once

#include "codec/core/error.h"
#include "codec/schema/chunk_shape.h"
#include "codec/schema/schema.h"

namespace unshard {

// The failure with a message of these parts, which begins with the member of the schema.
template <class... Parts>
tl::unexpected<Error> CannotCreate(const Parts&... parts) {
  return Fail(ErrorCode::kInvalidArgument, parts...);
}

// The data type; fails where the schema has none.
Result<const DataTypeNames*> RequiredType(const Schema& schema);

// The domain of the schema with the bounds and labels that the format prescribes. Fails where the
// two contradict each other, or a dimension has no bounds.
Result<IndexDomain> RequiredDomain(const Schema& schema, const IndexDomain& of_format);

// The extents of the dimensions; nothing for those without bounds.
Extents ExtentsOf(const IndexDomain& domain);

// The schema's codec; without constraints where it has none. Fails where it is another format's.
Result<CodecConstraints> RequiredCodec(const Schema& schema, ArrayDialect dialect);

// Fails where the layout has a hard constraint on the shape of codec chunks.
Status CheckNoCodecChunks(const ChunkLayout& layout);

}  // namespace unshard
