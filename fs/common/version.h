// The version of the program, which CMakeLists.txt names.
#pragma once

#include <string_view>

namespace unshard {

// "MAJOR.MINOR.PATCH".
extern const std::string_view kVersion;

}  // namespace unshard
