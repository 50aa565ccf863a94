// The ids with which versions of remote objects are marked, in their user metadata. A mount that
// got no answer finds its own write by them, also after other mounts have replaced the object.
// Pure, except for the random numbers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace unshard {

// So many of the attempts that made a version and those before it are named.
inline constexpr std::size_t kMostAttemptIds = 16;

// Sixteen hexadecimal digits that no other process draws.
std::string NewAttemptId();

// "0123456789abcdef,…", as the metadata has it. What is no id is left out, and so are ids beyond
// the most.
std::vector<std::string> ParseAttemptIds(std::string_view text);
std::string FormatAttemptIds(const std::vector<std::string>& ids);

// `id`, then those before it, without the oldest where there are too many.
std::vector<std::string> WithAttemptBefore(const std::string& id,
                                           const std::vector<std::string>& before);

}  // namespace unshard
