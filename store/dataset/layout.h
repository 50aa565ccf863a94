// The parts of metadata documents that decide how chunks are stored.
#pragma once

#include <string>
#include <string_view>

namespace unshard {

// The part of an array's metadata that decides about its trees.
std::string LayoutOf(std::string_view text);
// Whether two texts of JSON mean the same; never where one of them is empty or no JSON.
bool SameJson(const std::string& a, const std::string& b);

}  // namespace unshard
