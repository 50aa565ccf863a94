// The directories in a directory of a store.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"
#include "store/object/deadline.h"
#include "store/object/object_store.h"

namespace unshard {

// Their names, sorted. Of more than `most` no more than one too many is given. Requires: a store
// that lists. Fails as its listing does.
Result<std::vector<std::string>> DirectoriesIn(ObjectStore& store, std::string_view directory,
                                               std::size_t most, const Deadline& deadline);

}  // namespace unshard
