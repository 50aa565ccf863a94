// How two metadata documents differ, for a person. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace unshard {

// "chunks 32,32,32 there, 64,64,64 asked; …": what differs of the arrays that two documents of this
// name describe, as far as they can be read; "" where nothing of that differs.
std::string DifferenceOf(std::string_view name, std::string_view there, std::string_view asked);

}  // namespace unshard
