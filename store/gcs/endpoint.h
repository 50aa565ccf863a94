// gs:// URLs, and where Google Cloud Storage is asked for what they name. Pure.
//
// Objects are read and listed by the JSON API, which the service and its emulators both have:
// https://cloud.google.com/storage/docs/json_api/v1
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "store/http/url.h"

namespace unshard {

// gs://bucket/prefix
struct GcsLocation {
  std::string bucket;
  std::string prefix;  // a key; "": the whole bucket

  // For messages: "gs://bucket/prefix/key".
  [[nodiscard]] std::string Describe(std::string_view key) const;
};

// kInvalidArgument where it is no gs:// URL, has a query, a fragment or user information, which may
// be secrets and are not repeated, or names what no bucket or key is. A '/' at its end is dropped.
// Nothing is percent-decoded: a gs:// URL holds the name of an object as it is.
Result<GcsLocation> ParseGcsUrl(std::string_view url);

struct GcsEndpoint {
  HttpUrl base;              // with a path without '/' at its end
  bool is_emulator = false;  // it gets no credential

  static constexpr std::string_view kService = "https://storage.googleapis.com";
};

// The endpoint that the environment names. `emulator_host` is STORAGE_EMULATOR_HOST: "host:port",
// plain http, or a URL. `override_url` is CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: another URL of
// the service, such as a private one; since it gets credentials, it is https, or http on loopback.
// Both may be empty. kInvalidArgument, naming the variable, where one is no such URL.
Result<GcsEndpoint> MakeGcsEndpoint(const std::string& emulator_host,
                                    const std::string& override_url);

// Below which the objects of a location are (MakeObjectRequest makes requests of URLs below it).
HttpUrl GcsObjectsBase(const GcsEndpoint& endpoint, const GcsLocation& location);

// One object, for its metadata; and where new versions are uploaded, without a query.
HttpUrl GcsObjectUrl(const GcsEndpoint& endpoint, const GcsLocation& location,
                     std::string_view key);
HttpUrl GcsUploadUrl(const GcsEndpoint& endpoint, const GcsLocation& location);

// The URL of one page of the names directly below `directory`, a key or "". `page_token`: from the
// answer with the page before it; "" for the first page.
std::string GcsListUrl(const GcsEndpoint& endpoint, const GcsLocation& location,
                       std::string_view directory, std::string_view page_token,
                       std::size_t max_results);

}  // namespace unshard
