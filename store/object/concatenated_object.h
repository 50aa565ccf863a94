// Two objects that are read as one: the obsolete two-file form of precomputed shards.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "store/object/object_store.h"

namespace unshard {

// As ObjectStore::Open, of an object that has the bytes of `second_key` behind those of
// `first_key`. Its generation is made of both. Missing where both are; kDataLoss where one is.
// Costs two requests, and one more read where `first` ends beyond the first object. With kBelieved
// the object is missing where the first one is, which costs one request.
enum class MissingHalf { kChecked, kBelieved };
Result<ObjectStore::Opened> OpenConcatenated(ObjectStore& store, std::string_view first_key,
                                             std::string_view second_key, const RangeRequest& first,
                                             const Deadline& deadline,
                                             MissingHalf missing_half = MissingHalf::kChecked);

// The same of two open versions. kDataLoss, naming `described`, where they are too large together.
Result<std::shared_ptr<ObjectVersion>> Concatenate(std::shared_ptr<ObjectVersion> first,
                                                   std::shared_ptr<ObjectVersion> second,
                                                   const std::string& described);

}  // namespace unshard
