// Where the objects of a bucket are: from an s3:// URL and what the environment says. Pure.
#pragma once

#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "store/http/url.h"
#include "store/remote/environment.h"
#include "store/s3/profiles.h"

namespace unshard {

struct S3Url {
  std::string bucket;
  std::string prefix;  // of all keys; without '/' at its ends
};
// "s3://bucket/key". kInvalidArgument where it names no bucket, or has user information, a query or
// a fragment.
Result<S3Url> ParseS3Url(std::string_view url);

struct S3Settings {
  std::string endpoint_url;   // "": the one of AWS
  std::string region;         // "": unknown
  bool virtual_host = false;  // asked for, where it is not the rule
  bool allow_http = false;    // also to other hosts than this one
  bool anonymous = false;
  bool requester_pays = false;
};
// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION, AWS_NO_SIGN_REQUEST
// and AWS_REQUEST_PAYER, else the profile's settings.
S3Settings ReadS3Settings(const Environment& environment, const AwsProfile& profile);

// The URL of a bucket: "https://bucket.s3.REGION.amazonaws.com" (virtual host), or with the bucket
// as the first component of the path where the endpoint is another one, or the bucket's name is not
// one of a host that certificates cover.
struct S3Endpoint {
  HttpUrl bucket;
  std::string region;
  bool of_aws = false;  // follows the region
};
// Where the region is unknown: us-east-1, as the service then tells the right one. kInvalidArgument
// for an endpoint that is no http or https URL, or is plain http and another host.
Result<S3Endpoint> MakeS3Endpoint(const std::string& bucket, const S3Settings& settings);

}  // namespace unshard
