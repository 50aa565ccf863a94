#include "store/gcs/environment.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "codec/core/lower_case.h"

namespace unshard {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{1} << 20;

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Nothing: there is no such file.
Result<std::optional<std::string>> ReadFileOf(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return FailErrno(errno == 0 ? EIO : errno, path);
  }
  std::string text(kMostFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() <= kMostFileBytes) return text;
  return Fail(ErrorCode::kInvalidArgument, path + ": expected a credential of Google Cloud, of " +
                                               std::to_string(kMostFileBytes) + " bytes at most");
}

}  // namespace

GcsEnvironment ReadGcsEnvironment() {
  GcsEnvironment environment;
  environment.emulator_host = Variable("STORAGE_EMULATOR_HOST");
  environment.endpoint = Variable("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE");
  environment.application_credentials = Variable("GOOGLE_APPLICATION_CREDENTIALS");
  environment.cloudsdk_config = Variable("CLOUDSDK_CONFIG");
  environment.home = Variable("HOME");
  environment.cloud_files_dir = Variable("CLOUD_FILES_DIR");
  environment.cloud_volume_dir = Variable("CLOUD_VOLUME_DIR");
  environment.metadata_host = Variable("GCE_METADATA_HOST");
  environment.no_gce_check = Variable("NO_GCE_CHECK");
  environment.quota_project = Variable("GOOGLE_CLOUD_QUOTA_PROJECT");
  return environment;
}

std::vector<std::string> GcsCredentialFiles(const GcsEnvironment& environment,
                                            std::string_view bucket) {
  if (!environment.application_credentials.empty()) return {environment.application_credentials};
  std::vector<std::string> folders;
  const auto add_folder = [&](const std::string& set, const char* in_home) {
    if (!set.empty()) {
      folders.push_back(set + "/secrets/");
    } else if (!environment.home.empty()) {
      folders.push_back(environment.home + in_home + "/secrets/");
    }
  };
  add_folder(environment.cloud_files_dir, "/.cloudfiles");
  add_folder(environment.cloud_volume_dir, "/.cloudvolume");
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    files.push_back(folder + std::string(bucket) + "-google-secret.json");
  }
  constexpr const char* kDefault = "/application_default_credentials.json";
  if (!environment.cloudsdk_config.empty()) {
    files.push_back(environment.cloudsdk_config + kDefault);
  } else if (!environment.home.empty()) {
    files.push_back(environment.home + "/.config/gcloud" + kDefault);
  }
  for (const std::string& folder : folders) files.push_back(folder + "google-secret.json");
  return files;
}

Result<std::optional<GcsCredential>> ReadGcsCredential(const GcsEnvironment& environment,
                                                       std::string_view bucket) {
  for (const std::string& path : GcsCredentialFiles(environment, bucket)) {
    UNSHARD_ASSIGN_OR_RETURN(const auto text, ReadFileOf(path));
    if (!text) continue;
    auto credential = ParseGcsCredential(*text);
    if (!credential) return Forward(std::move(credential).error(), path);
    return *std::move(credential);
  }
  if (environment.application_credentials.empty()) return std::nullopt;
  return Fail(ErrorCode::kInvalidArgument, environment.application_credentials +
                                               ": named by GOOGLE_APPLICATION_CREDENTIALS, but "
                                               "there is no such file");
}

std::optional<GcsMachine> GcsMachineOf(const GcsEnvironment& environment) {
  if (LowerCase(environment.no_gce_check) == "true") return std::nullopt;
  const std::string& host = environment.metadata_host;
  return GcsMachine{"http://" + (host.empty() ? "metadata.google.internal" : host)};
}

}  // namespace unshard
