#include "store/s3/s3_requests.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "store/http/bodies.h"
#include "store/remote/attempt_ids.h"

namespace unshard {
namespace {

using Kind = WriteAnswer::Kind;

std::shared_ptr<S3Authorization> Authorization() {
  S3Settings settings;
  auto endpoint = MakeS3Endpoint("bucket", settings);
  return std::make_shared<S3Authorization>("bucket", settings, *std::move(endpoint), nullptr);
}

HttpResponse Response(int status, std::string_view body = "") {
  HttpResponse response;
  response.status = status;
  response.body.assign(body.begin(), body.end());
  return response;
}

WriteAnswer AnswerTo(const Result<HttpResponse>& response) {
  return S3WriteAnswer(response, *Authorization());
}

TEST(S3RequestsTest, WhatAnAnswerSaysOfAWrite) {
  for (const int status : {200, 201, 204})
    EXPECT_EQ(AnswerTo(Response(status)).kind, Kind::kApplied);
  for (const int status : {404, 409, 410, 412}) {
    EXPECT_EQ(AnswerTo(Response(status)).kind, Kind::kConditionFailed) << status;
  }
  for (const int status : {408, 425, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(AnswerTo(Response(status)).kind, Kind::kFailed) << status;
  }
  for (const int status : {301, 400, 401, 403, 405, 411, 413, 501, 507}) {
    EXPECT_EQ(AnswerTo(Response(status)).kind, Kind::kRefused) << status;
  }
  EXPECT_EQ(AnswerTo(Response(404, "<Error><Code>NoSuchBucket</Code></Error>")).kind,
            Kind::kRefused);
  EXPECT_EQ(AnswerTo(Response(404, "<Error><Code>NoSuchUpload</Code></Error>")).kind,
            Kind::kConditionFailed);
  // A completed upload is answered 200 before it is done.
  EXPECT_EQ(AnswerTo(Response(200, "<Error><Code>InternalError</Code></Error>")).kind,
            Kind::kFailed);
  EXPECT_EQ(AnswerTo(Response(200, "<Error><Code>PreconditionFailed</Code></Error>")).kind,
            Kind::kConditionFailed);
  EXPECT_EQ(AnswerTo(Response(400, "<Error><Code>RequestTimeout</Code></Error>")).kind,
            Kind::kFailed);
}

TEST(S3RequestsTest, WhatNoAnswerSaysOfAWrite) {
  const auto kind = [](ErrorCode code, int number) {
    return AnswerTo(FailWith(number, code, "x")).kind;
  };
  EXPECT_EQ(kind(ErrorCode::kUnavailable, 0), Kind::kLost);
  EXPECT_EQ(kind(ErrorCode::kUnavailable, EPROTO), Kind::kLost);
  EXPECT_EQ(kind(ErrorCode::kUnavailable, ETIMEDOUT), Kind::kLost);
  EXPECT_EQ(kind(ErrorCode::kUnavailable, ECONNREFUSED), Kind::kNotSent);
  EXPECT_EQ(kind(ErrorCode::kUnavailable, EHOSTUNREACH), Kind::kNotSent);
  EXPECT_EQ(kind(ErrorCode::kPermissionDenied, 0), Kind::kRefused);
  EXPECT_EQ(kind(ErrorCode::kInternal, EIO), Kind::kRefused);
}

TEST(S3RequestsTest, AFullStoreIsAFullDisk) {
  EXPECT_EQ(AnswerTo(Response(507)).reason.system_errno, ENOSPC);
  EXPECT_EQ(
      AnswerTo(Response(403, "<Error><Code>QuotaExceeded</Code></Error>")).reason.system_errno,
      EDQUOT);
  EXPECT_EQ(AnswerTo(Response(403)).reason.code, ErrorCode::kPermissionDenied);
}

TEST(S3RequestsTest, TheServiceIsToldHowLongToWait) {
  HttpResponse response = Response(503);
  response.headers.push_back({"Retry-After", "7"});
  EXPECT_EQ(AnswerTo(response).retry_after, std::chrono::seconds(7));
  response.headers[0].value = "100000";
  EXPECT_EQ(AnswerTo(response).retry_after, std::chrono::seconds(60));
}

TEST(S3RequestsTest, AnObjectIsWhatItsFieldsSay) {
  const auto object = S3ObjectOf({{"ETag", "\"tag\""},
                                  {"Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"},
                                  {"Content-Type", "image/png"},
                                  {"Content-Encoding", "gzip"},
                                  {"X-Amz-Meta-Owner", "somebody"},
                                  {"x-amz-meta-unshard-attempts", "0123456789abcdef"},
                                  {"x-amz-storage-class", "STANDARD_IA"},
                                  {"x-amz-request-id", "1"}},
                                 7);
  ASSERT_TRUE(object);
  EXPECT_EQ(object->validator, "\"tag\"");
  EXPECT_EQ(object->info.size, 7u);
  EXPECT_EQ(object->info.modified.tv_sec, 784111777);
  EXPECT_EQ(object->attempts, std::vector<std::string>{"0123456789abcdef"});
  ASSERT_EQ(object->kept.size(), 3u);
  EXPECT_EQ(FindHeader(object->kept, "x-amz-meta-owner"), "somebody");
  EXPECT_FALSE(S3ObjectOf({}, 7));
  EXPECT_FALSE(S3ObjectOf({{"ETag", "W/\"tag\""}}, 7)) << "no condition takes it";
}

TEST(S3RequestsTest, MetadataIsSentAgainWithTheIdsOfAttemptsThatFitIn) {
  NewObject object;
  object.key = "a/zarr.json";
  for (int i = 0; i < 16; ++i) object.attempts.push_back(NewAttemptId());
  HttpHeaders fields = S3MetadataFields(object);
  EXPECT_EQ(FindHeader(fields, "Content-Type"), "application/json");
  EXPECT_EQ(FindHeader(fields, "x-amz-meta-unshard-attempts"), FormatAttemptIds(object.attempts));
  object.kept = {{"content-type", "image/png"}, {"x-amz-meta-a", std::string(1900, 'x')}};
  fields = S3MetadataFields(object);
  EXPECT_EQ(FindHeader(fields, "content-type"), "image/png");
  EXPECT_EQ(FindHeader(fields, "x-amz-meta-a")->size(), 1900u);
  const auto ids = ParseAttemptIds(*FindHeader(fields, "x-amz-meta-unshard-attempts"));
  EXPECT_EQ(ids.size(), 7u) << "of 2048 bytes, 16 are the name's";
  EXPECT_EQ(ids.front(), object.attempts.front());
  object.kept[1].value = std::string(2000, 'x');
  EXPECT_EQ(FindHeader(S3MetadataFields(object), "x-amz-meta-unshard-attempts"),
            object.attempts.front());
}

TEST(S3RequestsTest, ABodyIsSignedOverHttpAndSummedOverHttps) {
  HttpRequest request;
  request.url = "http://127.0.0.1:1/bucket/key";
  ASSERT_TRUE(SetS3Body(request, BodyOf("abc")));
  EXPECT_EQ(FindHeader(request.headers, "X-Amz-Content-Sha256"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_FALSE(FindHeader(request.headers, "Content-MD5"));
  HttpRequest secure;
  secure.url = "https://bucket.s3.us-east-1.amazonaws.com/key";
  ASSERT_TRUE(SetS3Body(secure, BodyOf("abc")));
  EXPECT_EQ(FindHeader(secure.headers, "X-Amz-Content-Sha256"), "UNSIGNED-PAYLOAD");
  EXPECT_EQ(FindHeader(secure.headers, "Content-MD5"), "kAFQmDzST7DWlj99KOF/cg==");
  EXPECT_EQ(secure.streamed->size(), 3u);
}

TEST(S3RequestsTest, ConditionsAreFields) {
  HttpHeaders fields;
  AddS3Condition({}, fields);
  EXPECT_TRUE(fields.empty());
  AddS3Condition({WriteCondition::Kind::kMissing, {}}, fields);
  EXPECT_EQ(FindHeader(fields, "If-None-Match"), "*");
  AddS3Condition({WriteCondition::Kind::kVersion, "\"tag\""}, fields);
  EXPECT_EQ(FindHeader(fields, "If-Match"), "\"tag\"");
}

}  // namespace
}  // namespace unshard
