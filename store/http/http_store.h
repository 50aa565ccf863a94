// Objects below an http or https URL, read-only: every read is a GET with a Range.
//
// Nothing is listed, and nothing but a request for it tells whether an object exists. An object is
// a file; the keys of directories are missing, except where the server redirects to "key/".
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "codec/core/error.h"
#include "store/object/object_store.h"
#include "store/object/store_contact.h"

namespace unshard {

struct HttpResponse;

struct HttpStoreOptions {
  // What messages show in place of the URL below which the objects are; "": the URL.
  std::string described_as{};
  // URLs may be http, not only https.
  bool allow_http = true;
  // Connections to one host, and so requests in flight there; the others wait.
  std::size_t connections_per_host = 256;
  std::chrono::milliseconds connect_timeout{5000};
  // A transfer that brings no byte for so long has failed.
  std::chrono::seconds stall_timeout{15};
  // The deadline of requests whose caller has none.
  std::chrono::milliseconds request_timeout{30000};
  // A small read without an answer for so long is sent once more, until the server's own times are
  // known (store/http/hedging.h).
  std::chrono::milliseconds hedging_delay{3000};
  // A server without ranges is asked for whole objects: of at most this size, and together.
  std::uint64_t whole_object_bytes = std::uint64_t{64} << 20;
  std::uint64_t whole_objects_cached_bytes = std::uint64_t{128} << 20;
  // Notified of answers and of the bytes that are sent and received; may be null.
  std::shared_ptr<StoreContact> contact = nullptr;
  // Whether an answer 403 stands for a missing object. Null: as OpenHttpStore says.
  std::function<bool(const HttpResponse&)> denied_is_missing = nullptr;
};

class HttpAuthorization;
class HttpServer;
class HttpTransport;

// A transport as `options` describe it, with retries, and with each request authorised where
// `authorization` is not null. Sends no request.
std::shared_ptr<HttpTransport> MakeHttpTransport(const HttpStoreOptions& options,
                                                 std::shared_ptr<HttpAuthorization> authorization);

// The store of all objects of `server`, as OpenHttpStore describes it.
std::shared_ptr<ObjectStore> MakeHttpStore(std::shared_ptr<HttpServer> server);

// The store of all objects below `url`, "https://host[:port]/path"; a query belongs to every
// request and, like the user information, to no message. Sends no request. kInvalidArgument where
// `url` is no such URL, or is http and that is not allowed.
//
// A generation is the strong ETag, else the weak ETag or Last-Modified together with the size.
// Each read after the first of a version is conditional on it. Capabilities: lists nothing, keeps
// no replaced versions, writes nothing; List visits no entry.
// 404 and 410 are missing. So is 403 with the document by which S3 and GCS deny access, as they do
// for missing objects of buckets that may be read and not listed: once an object of the store has
// been read, and where no credentials are sent, neither user information nor a query. Errors: 401
// and 403 kPermissionDenied; no answer, an answer that breaks HTTP (errno EPROTO), another status:
// kUnavailable; a large object of a server without ranges kNotSupported; an object that keeps
// changing while it is opened kConflict.
Result<std::shared_ptr<ObjectStore>> OpenHttpStore(const std::string& url,
                                                   const HttpStoreOptions& options);

}  // namespace unshard
