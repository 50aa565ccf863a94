// Objects of Google Cloud Storage as its JSON API describes them. Pure functions on untrusted text.
//
// https://cloud.google.com/storage/docs/json_api/v1/objects#resource
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "store/http/response.h"
#include "store/http/transport.h"
#include "store/remote/object_writer.h"

namespace unshard {

// The object that a resource describes. Its validator is the generation; what a rewrite keeps are
// members of the resource, each with the text of its JSON: contentType, cacheControl,
// contentDisposition, contentLanguage, customTime, storageClass, metadata, and acl where the caller
// may see it. kUnavailable with the errno EPROTO where it is no such resource.
Result<RemoteObject> ParseGcsObject(std::string_view text);

// The resource of a new version, with the ids of its attempts in its metadata. `crc32c`: of its
// bytes, in base64; "" where the service need not check them.
std::string MakeGcsResource(const NewObject& object, const std::string& crc32c);

// The media type that the resource names, as a field has it.
std::string GcsContentType(const NewObject& object);

// "&ifGenerationMatch=G"; "" without a condition.
std::string GcsConditionQuery(const WriteCondition& condition);

// What the answer to a request that was sent once says. An answer 200 with a resource names the new
// version.
WriteAnswer GcsWriteAnswer(const Result<HttpResponse>& response);

// The words of an answer that is no success.
Error ExplainGcs(const HttpResponse& response);

}  // namespace unshard
