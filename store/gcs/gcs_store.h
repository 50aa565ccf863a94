// Objects in Google Cloud Storage: gs://bucket/prefix.
//
// A key is the name of an object below the prefix. Directories are what the names of objects have
// before a '/': Stat finds one by a listing, and Open takes one for missing, since looking for it
// would double the requests for absent chunks. An object that has the name of a directory hides it.
#pragma once

#include <memory>
#include <string>

#include "codec/core/error.h"
#include "store/gcs/environment.h"
#include "store/http/http_store.h"
#include "store/object/object_replacement.h"
#include "store/object/object_store.h"
#include "store/remote/remote_replacer.h"

namespace unshard {

struct GcsStoreOptions {
  bool anonymous = false;  // no credential is looked for
  bool read_only = false;  // no token is asked for that lets its holder write
  HttpStoreOptions http;
  RemoteOptions remote;
};

// Both over the same connections, with the same credentials.
struct GcsStore {
  std::shared_ptr<ObjectStore> objects;
  std::shared_ptr<ObjectReplacer> replacer;  // store/gcs/gcs_replacer.h
  // What the service has said where the caller may not list the bucket; else "".
  std::string listing_denied;
  // Requests carry no token although this is no emulator.
  bool anonymous = false;
};

// Opens the store of a gs:// URL with one request, which lists. A generation is that of the object,
// and every read after the first of a version is conditional on it. Capabilities: keeps no replaced
// versions, writes conditionally where its replacer finds that it does, and lists, unless the
// caller may not: then the service does not tell whether an object is missing or denied, and both
// are missing.
//
// Errors: kInvalidArgument for a URL, an environment or a credential that is none; kNotFound where
// there is no such bucket; kPermissionDenied where a credential is refused; kUnavailable without an
// answer. Those of objects are those of HttpStore, in the words of the service.
Result<GcsStore> OpenGcsStore(const std::string& url, const GcsEnvironment& environment,
                              const GcsStoreOptions& options);

}  // namespace unshard
