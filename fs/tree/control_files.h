// The texts of the files in .unshard, which report the state of the mount.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unshard {

struct Superblock;

inline constexpr std::string_view kControlDirectory = ".unshard";
inline constexpr std::string_view kVersion = "0.1.0";

// The names of the control files, for listings.
const std::vector<std::string>& ControlFileNames();
// The present text of a control file; nothing for other names. Thread-safe.
std::optional<std::string> ControlFileText(Superblock& superblock, std::string_view name);

}  // namespace unshard
