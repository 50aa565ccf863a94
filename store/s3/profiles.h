// The profiles of ~/.aws/config and ~/.aws/credentials. Pure functions on their text.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace unshard {

// The settings of one profile by their names in lower case; nested ones as "s3.addressing_style".
using AwsProfile = std::map<std::string, std::string, std::less<>>;
using AwsProfiles = std::map<std::string, AwsProfile, std::less<>>;

// The text of a credentials file, with sections "[name]".
AwsProfiles ParseCredentialsFile(std::string_view text);
// The text of a config file, with sections "[default]" and "[profile name]"; others are left out.
AwsProfiles ParseConfigFile(std::string_view text);
// Both together; what both set is taken from the credentials file.
AwsProfiles MergeProfiles(AwsProfiles config, const AwsProfiles& credentials);

// The value of a setting; "" where there is none.
std::string SettingOf(const AwsProfile& profile, std::string_view name);

}  // namespace unshard
