// Replacing the objects of a bucket of Google Cloud Storage, on the condition of their generation.
//
// https://cloud.google.com/storage/docs/request-preconditions
#pragma once

#include <memory>

#include "store/gcs/gcs_access.h"
#include "store/object/object_replacement.h"
#include "store/object/object_store.h"
#include "store/remote/remote_replacer.h"

namespace unshard {

// As store/remote/remote_replacer.h promises it, of the objects that `objects` reads. The service
// takes one version of an object a second; emulators take any number.
//
// A rewrite keeps of an object's metadata: contentType, cacheControl, contentDisposition,
// contentLanguage, customTime, storageClass, all user metadata, and the access control list where
// it may be seen. It does not keep the contentEncoding, since the new bytes have none, and holds. A
// new object has the contentType application/json where its name ends with ".json", else
// application/octet-stream.
std::shared_ptr<ObjectReplacer> MakeGcsReplacer(std::shared_ptr<const GcsObjectAccess> access,
                                                std::shared_ptr<ObjectStore> objects,
                                                const RemoteOptions& options);

}  // namespace unshard
