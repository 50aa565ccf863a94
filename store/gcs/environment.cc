#include "store/gcs/environment.h"

#include <utility>

#include "codec/core/lower_case.h"
#include "store/remote/environment.h"
#include "store/remote/text_file.h"

namespace unshard {

GcsEnvironment ReadGcsEnvironment() {
  const Environment variable = ProcessEnvironment();
  GcsEnvironment environment;
  environment.emulator_host = variable("STORAGE_EMULATOR_HOST");
  environment.endpoint = variable("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE");
  environment.application_credentials = variable("GOOGLE_APPLICATION_CREDENTIALS");
  environment.cloudsdk_config = variable("CLOUDSDK_CONFIG");
  environment.home = HomeOf(variable);
  environment.cloud_files_dir = variable("CLOUD_FILES_DIR");
  environment.cloud_volume_dir = variable("CLOUD_VOLUME_DIR");
  environment.metadata_host = variable("GCE_METADATA_HOST");
  environment.no_gce_check = variable("NO_GCE_CHECK");
  environment.quota_project = variable("GOOGLE_CLOUD_QUOTA_PROJECT");
  return environment;
}

std::vector<std::string> GcsCredentialFiles(const GcsEnvironment& environment,
                                            std::string_view bucket) {
  if (!environment.application_credentials.empty()) return {environment.application_credentials};
  const auto secrets = [&](const std::string& name) {
    return SecretFiles(environment.home, environment.cloud_files_dir, environment.cloud_volume_dir,
                       name);
  };
  std::vector<std::string> files = secrets(std::string(bucket) + "-google-secret.json");
  constexpr const char* kDefault = "/application_default_credentials.json";
  if (!environment.cloudsdk_config.empty()) {
    files.push_back(environment.cloudsdk_config + kDefault);
  } else if (!environment.home.empty()) {
    files.push_back(environment.home + "/.config/gcloud" + kDefault);
  }
  for (std::string& path : secrets("google-secret.json")) files.push_back(std::move(path));
  return files;
}

Result<std::optional<GcsCredential>> ReadGcsCredential(const GcsEnvironment& environment,
                                                       std::string_view bucket) {
  for (const std::string& path : GcsCredentialFiles(environment, bucket)) {
    UNSHARD_ASSIGN_OR_RETURN(const auto text, ReadTextFile(path));
    if (!text) continue;
    auto credential = ParseGcsCredential(*text);
    if (!credential) return Forward(std::move(credential).error(), path);
    return *std::move(credential);
  }
  if (environment.application_credentials.empty()) return std::nullopt;
  return Fail(ErrorCode::kInvalidArgument, environment.application_credentials,
              ": named by GOOGLE_APPLICATION_CREDENTIALS, but there is no such file");
}

std::optional<GcsMachine> GcsMachineOf(const GcsEnvironment& environment) {
  if (LowerCase(environment.no_gce_check) == "true") return std::nullopt;
  const std::string& host = environment.metadata_host;
  return GcsMachine{"http://" + (host.empty() ? "metadata.google.internal" : host)};
}

}  // namespace unshard
