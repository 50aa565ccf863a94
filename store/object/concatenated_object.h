// Two objects that are read as one: the obsolete two-file form of precomputed shards.
#pragma once

#include <memory>
#include <string_view>

#include "store/object/object_store.h"

namespace unshard {

// Pins `first_key` and `second_key` and reads the bytes of the second behind those of the first.
// Its generation is made of both. A null pointer where both are missing; kDataLoss where one is.
Result<std::shared_ptr<ObjectVersion>> OpenConcatenated(ObjectStore& store,
                                                        std::string_view first_key,
                                                        std::string_view second_key);

}  // namespace unshard
