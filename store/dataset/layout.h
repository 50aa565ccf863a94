// Comparing the parts of metadata documents that decide how chunks are stored.
#pragma once

#include <string>

namespace unshard {

// Whether two texts of JSON mean the same; never where one of them is empty or no JSON.
bool SameJson(const std::string& a, const std::string& b);

}  // namespace unshard
