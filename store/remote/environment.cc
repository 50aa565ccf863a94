#include "store/remote/environment.h"

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

std::string HomeOf(const Environment& environment) {
  std::string home = environment("HOME");
  if (home.empty()) {
    std::array<char, 4096> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr && found->pw_dir != nullptr) home = found->pw_dir;
  }
  return home;
}

std::string InHome(const Environment& environment, const std::string& name) {
  const std::string home = HomeOf(environment);
  return home.empty() ? "" : home + '/' + name;
}

bool IsOn(const std::string& value) {
  const std::string lower = LowerCase(value);
  return lower == "1" || lower == "true" || lower == "yes" || lower == "on";
}

std::vector<std::string> SecretFiles(const std::string& home, const std::string& cloud_files_dir,
                                     const std::string& cloud_volume_dir, const std::string& name) {
  std::vector<std::string> files;
  const auto add = [&](const std::string& folder, const char* in_home) {
    if (folder.empty() && home.empty()) return;
    files.push_back((folder.empty() ? home + in_home : folder) + "/secrets/" + name);
  };
  add(cloud_files_dir, "/.cloudfiles");
  add(cloud_volume_dir, "/.cloudvolume");
  return files;
}

}  // namespace unshard
