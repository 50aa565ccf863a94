#include "fs/common/paths.h"

namespace unshard {

std::optional<std::string> ResolvePath(std::string_view base, std::string_view directory) {
  std::string resolved(base);
  while (!directory.empty()) {
    const std::size_t slash = directory.find('/');
    const std::string_view component = directory.substr(0, slash);
    directory.remove_prefix(slash == std::string_view::npos ? directory.size() : slash + 1);
    if (component.empty() || component == ".") continue;
    if (component != "..") {
      resolved = JoinPath(resolved, component);
      continue;
    }
    if (resolved.empty()) return std::nullopt;
    resolved = ParentPath(resolved);
  }
  return resolved;
}

}  // namespace unshard
