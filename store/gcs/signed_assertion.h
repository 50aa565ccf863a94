// JSON web tokens with which a service account asks for access tokens (RFC 7519, RFC 7523). Pure.
#pragma once

#include <ctime>
#include <string>

#include "codec/core/error.h"

namespace unshard {

struct AssertionClaims {
  std::string issuer;
  std::string scope;
  std::string audience;
  std::string key_id;  // "": not named
  std::time_t issued = 0;
};

// The token, signed with RS256, which expires an hour after it was issued. kInvalidArgument where
// `private_key` is no RSA key in PEM without a password; the message does not repeat it.
Result<std::string> SignAssertion(const AssertionClaims& claims, const std::string& private_key);

}  // namespace unshard
