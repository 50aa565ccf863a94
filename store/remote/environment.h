// The environment variables of a process, which hold settings of S3 and of GCS, and the files in
// the home of its user that hold secrets.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace unshard {

// The value of a variable; "" where it is unset or empty.
using Environment = std::function<std::string(const std::string& name)>;

// Of this process.
Environment ProcessEnvironment();

// $HOME, else the home that the user has in the passwd file; "" where it is unknown.
std::string HomeOf(const Environment& environment);
// "~/name" of the user whose process it is; "" where the home is unknown.
std::string InHome(const Environment& environment, const std::string& name);
// Whether a switch is on: "1", "true", "yes", "on", in any case.
bool IsOn(const std::string& value);

// Where CloudVolume and CloudFiles look for a file of secrets, in their order: "secrets/NAME" in
// `cloud_files_dir` (CLOUD_FILES_DIR) or ~/.cloudfiles, then in `cloud_volume_dir`
// (CLOUD_VOLUME_DIR) or ~/.cloudvolume. Pure. Each directory, and the home, may be "".
std::vector<std::string> SecretFiles(const std::string& home, const std::string& cloud_files_dir,
                                     const std::string& cloud_volume_dir, const std::string& name);

}  // namespace unshard
