// The objects of a bucket of S3, or of a service that speaks as S3 does.
#pragma once

#include <memory>
#include <string>

#include "codec/core/error.h"
#include "store/http/http_store.h"
#include "store/object/object_replacement.h"
#include "store/object/object_store.h"
#include "store/remote/environment.h"
#include "store/remote/remote_replacer.h"

namespace unshard {

struct S3Options {
  HttpStoreOptions http;  // its allow_http: also to other hosts than this one
  bool anonymous = false;
  Environment environment = ProcessEnvironment();
  RemoteOptions remote;
  // Ask whether the bucket may be listed. Where that is denied, the store lists nothing, and an
  // object that is denied is missing: services do not tell the two apart then.
  bool asks_for_listing = false;
};

// Both over the same connections, with the same credentials.
struct S3Store {
  std::shared_ptr<ObjectStore> objects;
  std::shared_ptr<ObjectReplacer> replacer;  // store/s3/s3_replacer.h
  std::string listing_denied;                // in the words of the service; "": it is not
  bool anonymous = false;                    // requests are not signed
};

// The store of all objects whose keys begin with that of `url`, "s3://bucket/key", and '/'. Reads
// the environment and ~/.aws. Sends a request only for `asks_for_listing`, and fails as that
// request does. kInvalidArgument where `url`, the endpoint, the region or the profile is none.
//
// Reads as the HTTP store does, each request signed. The first request finds the credentials, and
// fails with kPermissionDenied where there are none; the region is learned where it is not known. A
// bucket that is missing is kUnavailable. Capabilities: lists, keeps no replaced versions, writes
// conditionally where its replacer finds that it does. A directory is what keys go through; Open
// does not ask for them, so that a directory is missing there. Where a key is both, it is a file.
Result<S3Store> OpenS3Store(const std::string& url, const S3Options& options);

}  // namespace unshard
