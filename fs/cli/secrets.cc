#include "fs/cli/secrets.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "store/object/log.h"
#include "store/source/source.h"

namespace unshard {

std::vector<std::string> TakeArguments(int count, char** arguments) {
  std::vector<std::string> taken(arguments, arguments + count);
  for (int i = 0; i < count; ++i) {
    if (!IsUrl(taken[static_cast<std::size_t>(i)])) continue;
    const std::string shown = ShownUrl(arguments[i]);
    const std::size_t size = std::strlen(arguments[i]);
    std::fill(arguments[i], arguments[i] + size, '\0');
    std::copy_n(shown.begin(), std::min(shown.size(), size), arguments[i]);
  }
  return taken;
}

// core(5), "Controlling which mappings are written to the core dump". Unlike RLIMIT_CORE this holds
// for dumps that are piped to a program, and unlike PR_SET_DUMPABLE it lets the user who mounted
// find the process of the mount by its open files.
void KeepMemoryOutOfCoreDumps() {
  const int filter = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);
  const bool written = filter >= 0 && write(filter, "0", 1) == 1;
  if (filter >= 0) close(filter);
  if (!written) LogWarning("/proc/self/coredump_filter: core dumps may hold credentials");
}

}  // namespace unshard
