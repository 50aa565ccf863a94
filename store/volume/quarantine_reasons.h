// Why a committed chunk is not published, as logs and errors of publishing and of replay say it.
#pragma once

#include <string_view>

namespace unshard {

inline constexpr std::string_view kChangedByOthers = "another process has changed this chunk since";
inline constexpr std::string_view kStoredOtherwise =
    "the metadata of the array were removed, or now say that its chunks are stored differently";

}  // namespace unshard
