// Replacing the objects of a bucket of S3, or of a service that speaks as S3 does.
//
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
#pragma once

#include <memory>

#include "store/object/object_replacement.h"
#include "store/object/object_store.h"
#include "store/remote/remote_replacer.h"
#include "store/s3/s3_access.h"

namespace unshard {

// As store/remote/remote_replacer.h promises it, of the objects that `objects` reads.
//
// A rewrite keeps of an object's metadata: Content-Type, Cache-Control, Content-Disposition,
// Content-Language, Expires, the redirect location of websites, all user metadata, the storage
// class, the encryption by the service, and the tags and the access control list where they may be
// read, and for the list, given. It does not keep the Content-Encoding, since the new bytes have
// none, and retention: a new version has that which the bucket gives.
// A new object has the Content-Type application/json where its name ends with ".json", else
// application/octet-stream.
std::shared_ptr<ObjectReplacer> MakeS3Replacer(std::shared_ptr<const S3Access> access,
                                               std::shared_ptr<ObjectStore> objects,
                                               const RemoteOptions& options);

}  // namespace unshard
