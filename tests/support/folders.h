// The folders of this checkout and of this build.
//
// Only folders.cc is compiled with their paths: what ccache holds of a test serves every checkout.
#pragma once

#include <string>

namespace unshard {

// The folder that holds codec/, store/, fs/ and tests/.
std::string SourceFolder();

// The folder that CMake builds in.
std::string BuildFolder();

}  // namespace unshard
