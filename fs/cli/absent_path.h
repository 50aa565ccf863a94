// Why a mount shows no file at a path.
#pragma once

#include <string>

namespace unshard {

// One sentence about a path that does not exist, for people: a chunk that is not stored, a name
// outside of the grid, or neither. Opens the source again, read-only, as the mount shows it.
// `config`: the text of the mount's config.json. `inside`: the path below the mount point,
// beginning with "/". `writable`: the mount is. Returns "" where the reason cannot be found.
std::string ExplainAbsentPath(const std::string& config, const std::string& inside, bool writable);

}  // namespace unshard
