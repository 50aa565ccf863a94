// The XML documents that S3 and STS answer with. Pure functions on untrusted text.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "store/http/response.h"
#include "store/object/paged_listings.h"
#include "store/s3/sigv4.h"

namespace unshard {

// Beyond, an answer is refused.
inline constexpr std::size_t kMaxS3Answer = std::size_t{8} << 20;

// The body of an answer that is no success.
struct S3Failure {
  std::string code;     // letters, digits, '.', '-' and '_' only
  std::string message;  // one line of at most 300 bytes; may be ""
  std::string region;   // the one to ask instead; may be ""
};
// Nothing where the body is no such document.
std::optional<S3Failure> ParseS3Failure(std::string_view body);

// One page of ListObjectsV2 with the delimiter '/': the names directly below `prefix`, which ends
// with '/' or is "". Left out are names that no path can have ("", ".", "..", with '/' or NUL, of
// more than 255 bytes), and the directory of a name that is a file as well. kUnavailable with the
// errno EPROTO where the body is no such document.
Result<ListedPage> ParseS3Page(std::string_view body, std::string_view prefix);

// The id of an upload in parts, of InitiateMultipartUploadResult. kUnavailable with the errno
// EPROTO where the body is no such document.
Result<std::string> ParseS3UploadId(std::string_view body);
// The ETag, with its quotes, of CopyPartResult and CompleteMultipartUploadResult. The same.
Result<std::string> ParseS3ETag(std::string_view body);
// The tags of an object as the header field x-amz-tagging takes them ("name=value&…"); "" where the
// body has none or is no such document.
std::string ParseS3Tags(std::string_view body);

// The grants of an object's access control list as header fields of a put ("x-amz-grant-read").
// Nothing where the body is no such document, or has a grant that no field can say. Empty where
// only the owner is granted anything, which a put without such fields does as well.
std::optional<HttpHeaders> ParseS3Grants(std::string_view body);

struct ExpiringCredentials {
  AwsCredentials credentials;
  std::optional<std::time_t> expires;
};
// The answer to AssumeRole and AssumeRoleWithWebIdentity. kUnavailable with the errno EPROTO where
// the body is no such document.
Result<ExpiringCredentials> ParseStsAnswer(std::string_view body);
// The document of a container's or a machine's role, and what a credential_process prints.
Result<ExpiringCredentials> ParseCredentialsDocument(std::string_view body);

// kPermissionDenied: `why` there are no credentials.
inline tl::unexpected<Error> CredentialsDenied(const std::string& why) {
  return Fail(ErrorCode::kPermissionDenied, "credentials for S3: ", why);
}

}  // namespace unshard
