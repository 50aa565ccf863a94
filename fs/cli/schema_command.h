// `unshard schema`: the TensorStore Schema of an array.
#pragma once

#include <string>

namespace unshard {

// Prints one JSON object for the array at `array` below `source` (a directory or URL), for the
// scale that a precomputed volume calls so, or, where it is "", for the array or the first scale at
// `source` itself. Returns the exit status of the program.
int RunSchema(const std::string& source, const std::string& array);

}  // namespace unshard
