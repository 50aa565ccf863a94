// Times as services write them in JSON and XML (RFC 3339). Pure.
#pragma once

#include <ctime>
#include <optional>
#include <string_view>

namespace unshard {

// "2026-11-24T03:00:00Z", also with a fraction of a second, which is cut, and a numeric offset;
// nothing for all other texts.
std::optional<std::time_t> ParseIsoTime(std::string_view text);

}  // namespace unshard
