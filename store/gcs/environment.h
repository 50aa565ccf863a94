// The environment variables that Google's tools, and CloudVolume, are set up with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"
#include "store/gcs/credentials.h"

namespace unshard {

// Each is "" where the variable is not set.
struct GcsEnvironment {
  std::string emulator_host;            // STORAGE_EMULATOR_HOST
  std::string endpoint;                 // CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE
  std::string application_credentials;  // GOOGLE_APPLICATION_CREDENTIALS
  std::string cloudsdk_config;          // CLOUDSDK_CONFIG
  std::string home;                     // HOME, else that of the user's entry in passwd
  std::string cloud_files_dir;          // CLOUD_FILES_DIR
  std::string cloud_volume_dir;         // CLOUD_VOLUME_DIR
  std::string metadata_host;            // GCE_METADATA_HOST
  std::string no_gce_check;             // NO_GCE_CHECK
  std::string quota_project;            // GOOGLE_CLOUD_QUOTA_PROJECT
};
GcsEnvironment ReadGcsEnvironment();

// The files that may hold a credential for `bucket`, the most specific one first. Pure. Where
// GOOGLE_APPLICATION_CREDENTIALS is set, the file it names is the only one.
std::vector<std::string> GcsCredentialFiles(const GcsEnvironment& environment,
                                            std::string_view bucket);

// The credential in the first of those files that is there; nothing where none is. Fails, naming
// the file, where one is named by the environment and missing, cannot be read, or holds none.
Result<std::optional<GcsCredential>> ReadGcsCredential(const GcsEnvironment& environment,
                                                       std::string_view bucket);

// The account of this machine, as far as the environment says; nothing where NO_GCE_CHECK=true
// says that the machine has none. Whether it has one its metadata server tells.
std::optional<GcsMachine> GcsMachineOf(const GcsEnvironment& environment);

}  // namespace unshard
