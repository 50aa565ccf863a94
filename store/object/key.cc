#include "store/object/key.h"

namespace unshard {

std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string joined(directory);
  if (!joined.empty() && !name.empty()) joined += '/';
  joined += name;
  return joined;
}

std::string ParentPath(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash));
}

std::string BaseName(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

bool IsAtOrBelow(std::string_view path, std::string_view directory) {
  if (directory.empty()) return true;
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

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
