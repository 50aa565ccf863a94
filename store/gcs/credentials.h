// What Google's credential files and token servers say. Pure functions on untrusted text; what they
// return is secret, what they say in errors is not.
//
// https://google.aip.dev/auth/4110 (application default credentials), RFC 6749 and RFC 7523.
#pragma once

#include <chrono>
#include <ctime>
#include <string>
#include <string_view>
#include <variant>

#include "codec/core/error.h"
#include "store/http/transport.h"

namespace unshard {

// A key of a service account: what it signs is exchanged for tokens.
struct GcsServiceAccount {
  std::string email;
  std::string key_id;
  std::string private_key;  // PEM
  std::string token_url;
};

// A user who has logged in (gcloud auth application-default login).
struct GcsUser {
  std::string client_id;
  std::string client_secret;
  std::string refresh_token;
  std::string token_url;
};

// The service account of the machine, whose server of metadata gives tokens.
struct GcsMachine {
  std::string metadata_origin;  // "http://host"
};

using GcsCredential = std::variant<GcsServiceAccount, GcsUser, GcsMachine>;

// A credential file. Fails with kInvalidArgument where it is none, names a kind of credential that
// is not supported, or sends its secrets to what is neither https nor this machine.
Result<GcsCredential> ParseGcsCredential(std::string_view text);

// For messages: "the service account name@project", "the user's login", "the machine's account".
std::string DescribeGcsCredential(const GcsCredential& credential);

// What a token is for, where the credential leaves that open. Writers keep the access control lists
// of objects, which only full control lets them see.
enum class GcsScope { kRead, kFullControl };
// The request for a token. kInvalidArgument where a private key is none.
Result<HttpRequest> MakeTokenRequest(const GcsCredential& credential, std::time_t now,
                                     GcsScope scope = GcsScope::kRead);

struct GcsToken {
  std::string value;  // for an Authorization field, after "Bearer "
  std::chrono::seconds lifetime{};
};

// The answer to a MakeTokenRequest. kPermissionDenied where the server refuses the credential,
// kUnavailable where it has no answer now, or its answer has no token.
Result<GcsToken> ParseTokenResponse(const HttpResponse& response);

}  // namespace unshard
