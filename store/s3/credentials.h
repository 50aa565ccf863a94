// Finding credentials for S3 where AWS's own programs find them.
#pragma once

#include <memory>
#include <string>

#include "codec/core/error.h"
#include "store/http/renewed_secret.h"
#include "store/object/deadline.h"
#include "store/remote/environment.h"
#include "store/s3/answers.h"
#include "store/s3/profiles.h"
#include "store/s3/sigv4.h"

namespace unshard {

// AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, or those of ~/.aws; "" where the home is
// unknown.
struct AwsFiles {
  std::string config;
  std::string credentials;
};
AwsFiles AwsFilesOf(const Environment& environment);

// The profiles of AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, or of ~/.aws; files that are
// missing have none. Fails where one cannot be read or exceeds 1 MiB.
Result<AwsProfiles> ReadProfiles(const Environment& environment);
// The name of the profile to use: AWS_PROFILE, AWS_DEFAULT_PROFILE, or "default".
std::string ProfileName(const Environment& environment);

struct CredentialsPlace {
  Environment environment;
  std::string bucket;  // CloudVolume keeps secrets of single buckets
  std::string region;  // of the service that gives out the credentials of roles
};

// The credentials of the first of these that has any: the environment, a web identity, the profile,
// CloudVolume's secrets, the container, the machine. A place that has half of them, or that fails,
// ends the search. kPermissionDenied where none has any, with a list of all; no message holds a
// secret. Blocks, until the deadline at the latest.
Result<ExpiringCredentials> FindCredentials(const CredentialsPlace& place,
                                            const Deadline& deadline);

// FindCredentials, whenever they are needed.
std::unique_ptr<RenewedSecret<AwsCredentials>> MakeRenewedCredentials(CredentialsPlace place);

}  // namespace unshard
