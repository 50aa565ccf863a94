// Listing an open directory.
#pragma once

#include <dirent.h>

#include <cstdint>
#include <functional>
#include <string>

#include "codec/core/error.h"
#include "store/local/file_descriptor.h"

namespace unshard {

// Calls `visitor` for each entry but "." and ".." until it returns false. `resume`: the d_off of an
// entry, behind which the listing begins; 0: the begin. `described` is the directory in messages.
Status ForEachEntry(FileDescriptor directory, std::uint64_t resume, const std::string& described,
                    const std::function<Result<bool>(const dirent& entry)>& visitor);

}  // namespace unshard
