// Whether the locks that publishing relies on are seen by other hosts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace unshard {

// Why record locks on a mounted file system hold on this host only, although other hosts may have
// it mounted as well; nothing where they hold everywhere, or no other host can. `mountinfo` is the
// text of /proc/self/mountinfo (proc(5)), `device` the "major:minor" of the file system in it.
std::optional<std::string> WhyLocksAreLocal(std::string_view mountinfo, std::string_view device);

// The same of the file system that holds `path`. Nothing where that is not known.
std::optional<std::string> WhyLocksAreLocal(const std::string& path);

}  // namespace unshard
