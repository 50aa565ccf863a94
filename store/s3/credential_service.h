// Asking services for credentials: the one for roles (STS), that of a container, that of a machine.
// All block, until the deadline at the latest; no message holds a secret.
#pragma once

#include <optional>
#include <string>

#include "codec/core/error.h"
#include "store/object/deadline.h"
#include "store/remote/environment.h"
#include "store/s3/answers.h"
#include "store/s3/sigv4.h"

namespace unshard {

// A role to be assumed, by other credentials or by a token of another service.
struct AwsRole {
  std::string arn;
  std::string session_name;  // "": one of ours
  std::string external_id;   // "": none
};

// AssumeRole, at the service of `region` or at AWS_ENDPOINT_URL_STS. kPermissionDenied where the
// service refuses.
Result<ExpiringCredentials> AssumeRole(const AwsRole& role, const AwsCredentials& by,
                                       const std::string& region, const Environment& environment,
                                       const Deadline& deadline);
// AssumeRoleWithWebIdentity, with the token that `token_file` holds now.
Result<ExpiringCredentials> AssumeRoleWithToken(const AwsRole& role, const std::string& token_file,
                                                const std::string& region,
                                                const Environment& environment,
                                                const Deadline& deadline);

// What AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI answers, for containers of ECS and EKS;
// nothing where neither is set. The URI is refused (kPermissionDenied) where it is plain http to
// another host than this one and the two of AWS.
Result<std::optional<ExpiringCredentials>> OfContainer(const Environment& environment,
                                                       const Deadline& deadline);

// The role of this machine by its metadata service, version 2 only (EC2); nothing where it does
// not answer, has no role, or AWS_EC2_METADATA_DISABLED is "true".
Result<std::optional<ExpiringCredentials>> OfMachine(const Environment& environment,
                                                     const Deadline& deadline);

}  // namespace unshard
