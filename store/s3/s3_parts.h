// Uploads of one object in parts.
//
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
#pragma once

#include <memory>
#include <string>

#include "store/remote/object_writer.h"
#include "store/s3/s3_access.h"

namespace unshard {

// Begins one: sends a request. Parts may be put from any threads.
Result<std::unique_ptr<PartedUpload>> BeginS3Parts(std::shared_ptr<const S3Access> access,
                                                   const NewObject& object, std::uint64_t size,
                                                   std::uint64_t part_bytes);
// Drops what is left of one. Succeeds where nothing is.
Status DropS3Parts(const S3Access& access, const std::string& key, const std::string& upload);

}  // namespace unshard
