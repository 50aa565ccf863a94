// The records of attempts to replace objects of the store: attempts/<number>, one JSON file each.
//
// A record is written to its name at once, and durable before the attempt begins: a torn one is of
// an attempt that never began.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "store/local/file_system.h"
#include "store/spool/spool.h"

namespace unshard {

// "attempts/17".
std::string AttemptPath(std::uint64_t number);

// What a record says, and back; nothing for text that is not whole.
std::string AttemptText(const SpoolAttempt& attempt);
std::optional<SpoolAttempt> ParseAttempt(std::string_view text);

// Returns once the record survives a power loss.
Status WriteAttempt(FileSystem& files, std::uint64_t number, const SpoolAttempt& attempt);
// All records, by number. Torn ones are removed.
Result<std::map<std::uint64_t, SpoolAttempt>> ReadAttempts(FileSystem& files);
// Removes all of them: nothing that they say counts once no chunk is left.
Status RemoveAttempts(FileSystem& files);

}  // namespace unshard
