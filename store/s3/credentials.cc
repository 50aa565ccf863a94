#include "store/s3/credentials.h"

#include <chrono>
#include <optional>
#include <utility>

#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "store/remote/text_file.h"
#include "store/s3/credential_process.h"
#include "store/s3/credential_service.h"

namespace unshard {
namespace {

using Found = Result<std::optional<ExpiringCredentials>>;

std::string FirstOf(std::string first, std::string second) {
  return first.empty() ? std::move(second) : std::move(first);
}

Found Static(const std::string& id, const std::string& secret, const std::string& token,
             const std::string& place) {
  if (id.empty() && secret.empty()) return std::nullopt;
  if (id.empty() || secret.empty()) {
    return CredentialsDenied(place + " has " +
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

Found OfWebIdentity(const CredentialsPlace& place, const Deadline& deadline) {
  const Environment& environment = place.environment;
  const std::string file = environment("AWS_WEB_IDENTITY_TOKEN_FILE");
  const AwsRole role{environment("AWS_ROLE_ARN"), environment("AWS_ROLE_SESSION_NAME"), ""};
  if (file.empty()) return std::nullopt;
  if (role.arn.empty())
    return CredentialsDenied("AWS_WEB_IDENTITY_TOKEN_FILE is set, AWS_ROLE_ARN is not");
  return AssumeRoleWithToken(role, file, place.region, environment, deadline);
}

Found InContainer(const CredentialsPlace& place, const Deadline& deadline) {
  return OfContainer(place.environment, deadline);
}

Found OnMachine(const CredentialsPlace& place, const Deadline& deadline) {
  return OfMachine(place.environment, deadline);
}

// The credentials of one profile, which may be those of a role that another one assumes.
class ProfileSearch {
 public:
  ProfileSearch(const CredentialsPlace& place, AwsProfiles profiles, const Deadline& deadline)
      : place_(place), profiles_(std::move(profiles)), deadline_(deadline) {}

  // `levels`: of profiles that name another.
  Found Find(const std::string& name, int levels = 5) const {
    const auto found = profiles_.find(name);
    if (found == profiles_.end()) return std::nullopt;
    const AwsProfile& profile = found->second;
    const std::string shown = "the profile '" + name + "'";
    if (levels == 0)
      return CredentialsDenied("too many profiles refer to each other before " + shown);
    if (!SettingOf(profile, "role_arn").empty()) return FindRole(profile, name, levels);
    auto keys =
        Static(SettingOf(profile, "aws_access_key_id"), SettingOf(profile, "aws_secret_access_key"),
               SettingOf(profile, "aws_session_token"), shown);
    if (!keys || *keys) return keys;
    if (const auto process = SettingOf(profile, "credential_process"); !process.empty()) {
      return AskProcess(process, deadline_);
    }
    if (!SettingOf(profile, "sso_session").empty() ||
        !SettingOf(profile, "sso_start_url").empty()) {
      return CredentialsDenied(shown +
                               " uses SSO, which is not supported; set the environment variables "
                               "that 'aws configure export-credentials --format env' prints");
    }
    return std::nullopt;
  }

 private:
  Found FindRole(const AwsProfile& profile, const std::string& name, int levels) const {
    const std::string shown = "the profile '" + name + "'";
    const AwsRole role{SettingOf(profile, "role_arn"), SettingOf(profile, "role_session_name"),
                       SettingOf(profile, "external_id")};
    if (const auto file = SettingOf(profile, "web_identity_token_file"); !file.empty()) {
      return AssumeRoleWithToken(role, file, place_.region, place_.environment, deadline_);
    }
    if (!SettingOf(profile, "mfa_serial").empty()) {
      return CredentialsDenied(shown + " asks for a code (mfa_serial), which is not supported");
    }
    UNSHARD_ASSIGN_OR_RETURN(const auto by, FindSource(profile, name, levels));
    if (!by)
      return CredentialsDenied(shown + " names a role, but no credentials to assume it with");
    return AssumeRole(role, by->credentials, place_.region, place_.environment, deadline_);
  }

  Found FindSource(const AwsProfile& profile, const std::string& name, int levels) const {
    const std::string source = SettingOf(profile, "credential_source");
    if (source == "Environment") return OfEnvironment(place_, deadline_);
    if (source == "EcsContainer") return InContainer(place_, deadline_);
    if (source == "Ec2InstanceMetadata") return OnMachine(place_, deadline_);
    const std::string other = SettingOf(profile, "source_profile");
    if (other != name) return Find(other, levels - 1);
    return Static(SettingOf(profile, "aws_access_key_id"),
                  SettingOf(profile, "aws_secret_access_key"),
                  SettingOf(profile, "aws_session_token"), "the profile '" + name + "'");
  }

  const CredentialsPlace& place_;
  const AwsProfiles profiles_;
  const Deadline& deadline_;
};

Found OfProfile(const CredentialsPlace& place, const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(AwsProfiles profiles, ReadProfiles(place.environment));
  return ProfileSearch(place, std::move(profiles), deadline).Find(ProfileName(place.environment));
}

// CloudVolume and cloud-files: JSON with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
Found OfSecretsFile(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const auto text, ReadTextFile(path));
  if (!text) return std::nullopt;
  const auto document = ParseJson(*text, {std::size_t{1} << 20, 8, 1000});
  if (!document || !document->is_object()) return CredentialsDenied(path + " is not a JSON object");
  return Static(TextOf(*document, "AWS_ACCESS_KEY_ID"), TextOf(*document, "AWS_SECRET_ACCESS_KEY"),
                TextOf(*document, "AWS_SESSION_TOKEN"), path);
}

Found OfCloudVolume(const CredentialsPlace& place, const Deadline&) {
  const Environment& environment = place.environment;
  for (const std::string& name :
       {place.bucket + "-aws-secret.json", std::string("aws-secret.json")}) {
    for (const std::string& path : SecretFiles(HomeOf(environment), environment("CLOUD_FILES_DIR"),
                                               environment("CLOUD_VOLUME_DIR"), name)) {
      auto found = OfSecretsFile(path);
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
    {"AWS_WEB_IDENTITY_TOKEN_FILE", OfWebIdentity},
    {"the profile in ~/.aws/credentials and ~/.aws/config", OfProfile},
    {"aws-secret.json in ~/.cloudfiles/secrets and ~/.cloudvolume/secrets", OfCloudVolume},
    {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and _FULL_URI", InContainer},
    {"the metadata service of this machine", OnMachine},
};

}  // namespace

std::string ProfileName(const Environment& environment) {
  return FirstOf(FirstOf(environment("AWS_PROFILE"), environment("AWS_DEFAULT_PROFILE")),
                 "default");
}

AwsFiles AwsFilesOf(const Environment& environment) {
  return {
      FirstOf(environment("AWS_CONFIG_FILE"), InHome(environment, ".aws/config")),
      FirstOf(environment("AWS_SHARED_CREDENTIALS_FILE"), InHome(environment, ".aws/credentials"))};
}

Result<AwsProfiles> ReadProfiles(const Environment& environment) {
  const AwsFiles files = AwsFilesOf(environment);
  UNSHARD_ASSIGN_OR_RETURN(const auto config_text, ReadTextFile(files.config));
  UNSHARD_ASSIGN_OR_RETURN(const auto credentials_text, ReadTextFile(files.credentials));
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
  return CredentialsDenied(
      "none were found in " + places +
      "; a public bucket needs none: use the mount option anonymous or AWS_NO_SIGN_REQUEST=1");
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
