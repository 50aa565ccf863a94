// Signatures of AWS requests, version 4. Pure.
//
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "store/http/transport.h"

namespace unshard {

// Secret: for no message.
struct AwsCredentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  // "": none
};

struct SigningScope {
  std::string region;
  std::string service = "s3";
};

// The request with the fields X-Amz-Date, X-Amz-Content-Sha256, X-Amz-Security-Token (with a
// session token) and Authorization. They replace fields of these names that it has, except the
// X-Amz-Content-Sha256 of a body that is streamed, which the caller has computed. The host, the
// query, the body and all fields that it has are signed, but User-Agent and Accept-Encoding, which
// proxies may change. Its URL has each byte escaped that EscapeKey escapes, and is sent as it is.
// kInvalidArgument where it is no URL.
Result<HttpRequest> SignRequest(HttpRequest request, const AwsCredentials& credentials,
                                const SigningScope& scope, std::time_t now);

// "20130524T000000Z".
std::string AmzDate(std::time_t time);

}  // namespace unshard
