// Requests that write to a bucket of S3, and what their answers mean.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "store/http/transport.h"
#include "store/remote/object_writer.h"
#include "store/s3/s3_access.h"

namespace unshard {

// Pure, except that bodies are read.

// The object that an answer with its header fields is about; nothing where it has no strong ETag.
std::optional<RemoteObject> S3ObjectOf(const HttpHeaders& headers, std::uint64_t size);
// The fields that a new version has: metadata, with the ids of attempts.
HttpHeaders S3MetadataFields(const NewObject& object);
// If-Match, If-None-Match.
void AddS3Condition(const WriteCondition& condition, HttpHeaders& headers);

// What an answer to a request that was sent once says. `object` is left to the caller.
WriteAnswer S3WriteAnswer(const Result<HttpResponse>& response,
                          const S3Authorization& authorization);

// A request for the object `key`, without retries where it is `once`.
HttpRequest MakeS3Request(const S3Access& access, const std::string& key,
                          HttpRequest::Method method);
// Gives it a body, with the fields by which the service checks it. Fails where the body cannot be
// read.
Status SetS3Body(HttpRequest& request, std::shared_ptr<const HttpBody> body);

}  // namespace unshard
