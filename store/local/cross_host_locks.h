// Whether the locks that publishing relies on are seen by other hosts.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "store/local/mount_table.h"

namespace unshard {

// Why record locks on the file system with this device number hold on this host only, although
// other hosts may have it mounted as well; nothing where they hold everywhere, where no other host
// can, and where the table does not have it.
std::optional<std::string> WhyLocksAreLocal(const std::vector<MountEntry>& table, dev_t device);

// The same of the file system that holds `path`. Nothing where that is not known.
std::optional<std::string> WhyLocksAreLocal(const std::string& path);

}  // namespace unshard
