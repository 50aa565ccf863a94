#include "store/local/extended_attributes.h"

#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

namespace unshard {
namespace {

constexpr const char* kAccessControlList = "system.posix_acl_access";
// Signatures and capabilities of a program: of other bytes they would be wrong.
constexpr std::array<std::string_view, 3> kOfOneFile = {"security.ima", "security.evm",
                                                        "security.capability"};

// What `read` puts into a buffer of the size that it announces; empty where it fails. Another
// process may make it longer in between.
template <class Read>
std::string ReadWhole(const Read& read) {
  for (;;) {
    const ssize_t size = read(nullptr, 0);
    if (size <= 0) return {};
    std::string buffer(static_cast<std::size_t>(size), '\0');
    const ssize_t found = read(buffer.data(), buffer.size());
    if (found >= 0) return buffer.substr(0, static_cast<std::size_t>(found));
    if (errno != ERANGE) return {};
  }
}

std::vector<std::string> Names(int file) {
  const std::string list =
      ReadWhole([&](char* to, std::size_t size) { return ::flistxattr(file, to, size); });
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < list.size();) {
    names.emplace_back(list.c_str() + begin);
    begin += names.back().size() + 1;
  }
  return names;
}

bool Holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void CopyExtendedAttributes(int from, int to) {
  const std::vector<std::string> names = Names(from);
  for (const std::string& name : names) {
    if (std::find(kOfOneFile.begin(), kOfOneFile.end(), name) != kOfOneFile.end()) continue;
    const std::string value = ReadWhole([&](char* buffer, std::size_t size) {
      return ::fgetxattr(from, name.c_str(), buffer, size);
    });
    static_cast<void>(::fsetxattr(to, name.c_str(), value.data(), value.size(), 0));
  }
  if (!Holds(names, kAccessControlList)) {
    static_cast<void>(::fremovexattr(to, kAccessControlList));
  }
}

}  // namespace unshard
