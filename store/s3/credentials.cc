#include "store/s3/credentials.h"

#include <chrono>
#include <optional>
#include <utility>

#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "store/s3/text_file.h"

namespace unshard {
namespace {

using Found = Result<std::optional<ExpiringCredentials>>;

std::string FirstOf(std::string first, std::string second) {
  return first.empty() ? std::move(second) : std::move(first);
}

tl::unexpected<Error> Denied(const std::string& why) {
  return Fail(ErrorCode::kPermissionDenied, "credentials for S3: " + why);
}

Found Static(const std::string& id, const std::string& secret, const std::string& token,
             const std::string& place) {
  if (id.empty() && secret.empty()) return std::nullopt;
  if (id.empty() || secret.empty()) {
    return Denied(place + " has " +
                  (id.empty() ? "a secret access key but no access key id"
                              : "an access key id but no secret access key"));
  }
  return ExpiringCredentials{{id, secret, token}, std::nullopt};
}

Found OfEnvironment(const CredentialsPlace& place, const Deadline&) {
  const Environment& environment = place.environment;
  return Static(environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
                environment("AWS_SESSION_TOKEN"), "the environment");
}

Found OfProfile(const CredentialsPlace& place, const Deadline&) {
  UNSHARD_ASSIGN_OR_RETURN(const AwsProfiles profiles, ReadProfiles(place.environment));
  const std::string name = ProfileName(place.environment);
  const auto found = profiles.find(name);
  if (found == profiles.end()) return std::nullopt;
  const AwsProfile& profile = found->second;
  const std::string shown = "the profile '" + name + "'";
  if (!SettingOf(profile, "sso_session").empty() || !SettingOf(profile, "sso_start_url").empty()) {
    return Denied(shown +
                  " signs in with SSO, which is not supported: let 'aws configure "
                  "export-credentials --format env' print credentials for the environment");
  }
  return Static(SettingOf(profile, "aws_access_key_id"),
                SettingOf(profile, "aws_secret_access_key"),
                SettingOf(profile, "aws_session_token"), shown);
}

// CloudVolume and cloud-files: JSON with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
Found OfSecretsFile(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const auto text, ReadTextFile(path));
  if (!text) return std::nullopt;
  const auto document = ParseJson(*text, {std::size_t{1} << 20, 8, 1000});
  if (!document || !document->is_object()) return Denied(path + " is no JSON object");
  return Static(TextOf(*document, "AWS_ACCESS_KEY_ID"), TextOf(*document, "AWS_SECRET_ACCESS_KEY"),
                TextOf(*document, "AWS_SESSION_TOKEN"), path);
}

Found OfCloudVolume(const CredentialsPlace& place, const Deadline&) {
  const std::string volumes =
      FirstOf(place.environment("CLOUD_VOLUME_DIR"), InHome(place.environment, ".cloudvolume"));
  const std::string files =
      FirstOf(place.environment("CLOUD_FILES_DIR"), InHome(place.environment, ".cloudfiles"));
  for (const std::string& folder : {volumes, files}) {
    if (folder.empty()) continue;
    for (const std::string& name :
         {place.bucket + "-aws-secret.json", std::string("aws-secret.json")}) {
      auto found = OfSecretsFile(folder + "/secrets/" + name);
      if (!found || *found) return found;
    }
  }
  return std::nullopt;
}

struct Source {
  const char* described;
  Found (*find)(const CredentialsPlace&, const Deadline&);
};

constexpr Source kSources[] = {
    {"AWS_ACCESS_KEY_ID in the environment", OfEnvironment},
    {"the profile in ~/.aws/credentials and ~/.aws/config", OfProfile},
    {"aws-secret.json in ~/.cloudvolume/secrets and ~/.cloudfiles/secrets", OfCloudVolume},
};

}  // namespace

std::string ProfileName(const Environment& environment) {
  return FirstOf(FirstOf(environment("AWS_PROFILE"), environment("AWS_DEFAULT_PROFILE")),
                 "default");
}

Result<AwsProfiles> ReadProfiles(const Environment& environment) {
  const std::string config =
      FirstOf(environment("AWS_CONFIG_FILE"), InHome(environment, ".aws/config"));
  const std::string credentials =
      FirstOf(environment("AWS_SHARED_CREDENTIALS_FILE"), InHome(environment, ".aws/credentials"));
  UNSHARD_ASSIGN_OR_RETURN(const auto config_text, ReadTextFile(config));
  UNSHARD_ASSIGN_OR_RETURN(const auto credentials_text, ReadTextFile(credentials));
  return MergeProfiles(ParseConfigFile(config_text.value_or("")),
                       ParseCredentialsFile(credentials_text.value_or("")));
}

Result<ExpiringCredentials> FindCredentials(const CredentialsPlace& place,
                                            const Deadline& deadline) {
  std::string places;
  for (const Source& source : kSources) {
    UNSHARD_ASSIGN_OR_RETURN(auto found, source.find(place, deadline));
    if (found) return *std::move(found);
    places += (places.empty() ? "" : ", ") + std::string(source.described);
  }
  return Denied("none were found in " + places +
                "; for a public bucket ask for none, with the mount option anonymous or "
                "AWS_NO_SIGN_REQUEST=1");
}

std::unique_ptr<RenewedSecret<AwsCredentials>> MakeRenewedCredentials(CredentialsPlace place) {
  using Secret = RenewedSecret<AwsCredentials>;
  return std::make_unique<Secret>(
      [place = std::move(place)](const Deadline& deadline) -> Result<Secret::Fetched> {
        UNSHARD_ASSIGN_OR_RETURN(ExpiringCredentials found, FindCredentials(place, deadline));
        Secret::Fetched fetched{std::move(found.credentials), std::nullopt};
        if (found.expires) {
          fetched.expires = std::chrono::system_clock::from_time_t(*found.expires);
        }
        return fetched;
      });
}

}  // namespace unshard
