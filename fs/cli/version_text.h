// What `unshard --version` prints.
#pragma once

#include <string>

namespace unshard {

// "unshard 0.1.0", then "with: " and the libraries of this build, with their versions where they
// say them, and unless it has all: "without: " and what it lacks, with the library that would have
// it.
std::string VersionText();

}  // namespace unshard
