#include "store/s3/environment.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "codec/core/lower_case.h"

namespace unshard {

Environment ProcessEnvironment() {
  return [](const std::string& name) -> std::string {
    const char* const value = std::getenv(name.c_str());
    return value != nullptr ? value : "";
  };
}

std::string InHome(const Environment& environment, const std::string& name) {
  std::string home = environment("HOME");
  if (home.empty()) {
    std::array<char, 4096> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr && found->pw_dir != nullptr) home = found->pw_dir;
  }
  return home.empty() ? "" : home + '/' + name;
}

bool IsOn(const std::string& value) {
  const std::string lower = LowerCase(value);
  return lower == "1" || lower == "true" || lower == "yes" || lower == "on";
}

}  // namespace unshard
