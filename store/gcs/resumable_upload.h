// Uploads of one object in several requests.
//
// https://cloud.google.com/storage/docs/resumable-uploads
#pragma once

#include <cstdint>
#include <memory>

#include "store/gcs/gcs_access.h"
#include "store/remote/object_writer.h"

namespace unshard {

// Begins one: sends a request. Parts are put in order; the last one is held back for Complete().
// Requires: `part_bytes` is a multiple of kGcsPartUnit.
inline constexpr std::uint64_t kGcsPartUnit = std::uint64_t{256} << 10;
Result<std::unique_ptr<PartedUpload>> BeginResumableUpload(
    std::shared_ptr<const GcsObjectAccess> access, const NewObject& object, std::uint64_t size,
    std::uint64_t part_bytes);

// A request for a URL of the JSON API that writes.
HttpRequest MakeGcsWriteRequest(HttpRequest::Method method, std::string url);

}  // namespace unshard
