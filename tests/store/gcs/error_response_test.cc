#include "store/gcs/error_response.h"

#include <gtest/gtest.h>

#include <string_view>

namespace unshard {
namespace {

HttpResponse Answer(int status, std::string_view text) {
  HttpResponse response;
  response.status = status;
  response.body.assign(text.begin(), text.end());
  return response;
}

TEST(GcsErrorResponseTest, TheMessageOfTheServiceIsOneLine) {
  EXPECT_EQ(GcsErrorText(Answer(403, R"({"error": {"code": 403, "message": "no\naccess"}})")),
            "no\\x0aaccess");
  EXPECT_EQ(GcsErrorText(Answer(404, "Not Found\n")), "Not Found");
  EXPECT_EQ(GcsErrorText(Answer(502, "<html>Bad Gateway</html>")), "");
  EXPECT_EQ(GcsErrorText(Answer(500, "")), "");
  EXPECT_LE(GcsErrorText(Answer(500, std::string(10000, 'x'))).size(), 300u);
  const Error denied =
      GcsDenial(Answer(401, R"({"error": {"message": "Anonymous caller"}})")).value();
  EXPECT_EQ(denied.code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(denied.message, "the service denies access (HTTP 401): Anonymous caller");
}

TEST(GcsErrorResponseTest, ARateLimitIsNoDenial) {
  const auto with_reason = [](const std::string& reason) {
    return R"({"error": {"errors": [{"reason": "other"}, {"reason": ")" + reason + R"("}]}})";
  };
  EXPECT_TRUE(IsGcsRateLimit(Answer(403, with_reason("rateLimitExceeded"))));
  EXPECT_TRUE(IsGcsRateLimit(Answer(403, with_reason("userRateLimitExceeded"))));
  EXPECT_FALSE(IsGcsRateLimit(Answer(403, with_reason("forbidden"))));
  EXPECT_FALSE(IsGcsRateLimit(Answer(400, with_reason("rateLimitExceeded"))));
  EXPECT_FALSE(IsGcsRateLimit(Answer(403, "rateLimitExceeded")));
}

}  // namespace
}  // namespace unshard
