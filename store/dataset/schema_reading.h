// The TensorStore Schema of an array that a store holds.
#pragma once

#include <optional>
#include <string>

#include "codec/core/error.h"
#include "codec/json/json.h"
#include "store/object/deadline.h"
#include "store/object/object_store.h"

namespace unshard {

// The schema of the array at `array`, a path below the store, or of the scale that a precomputed
// volume above it calls by the rest of that path; "" is the array at the root, or the first scale
// of the volume there. Nothing where there is no such array. Fails naming the document and the
// member. Blocks; thread-safe.
Result<std::optional<JsonValue>> ReadSchema(ObjectStore& store, const std::string& array,
                                            const Deadline& deadline);

}  // namespace unshard
