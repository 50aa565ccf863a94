#include "store/gcs/error_response.h"

#include <gtest/gtest.h>

#include <string_view>

namespace unshard {
namespace {

HttpResponse ErrorAnswer(int status, std::string_view text) {
  HttpResponse response;
  response.status = status;
  response.body.assign(text.begin(), text.end());
  return response;
}

TEST(GcsErrorResponseTest, TheMessageOfTheServiceIsOneLine) {
  EXPECT_EQ(GcsErrorText(ErrorAnswer(403, R"({"error": {"code": 403, "message": "no\naccess"}})")),
            "no\\x0aaccess");
  EXPECT_EQ(GcsErrorText(ErrorAnswer(404, "Not Found\n")), "Not Found");
  EXPECT_EQ(GcsErrorText(ErrorAnswer(502, "<html>Bad Gateway</html>")), "");
  EXPECT_EQ(GcsErrorText(ErrorAnswer(500, "")), "");
  EXPECT_LE(GcsErrorText(ErrorAnswer(500, std::string(10000, 'x'))).size(), 300u);
  const Error denied =
      GcsDenial(ErrorAnswer(401, R"({"error": {"message": "Anonymous caller"}})")).value();
  EXPECT_EQ(denied.code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(denied.message, "the service denies access (HTTP 401): Anonymous caller");
}

TEST(GcsErrorResponseTest, ARateLimitIsNoDenial) {
  const auto with_reason = [](const std::string& reason) {
    return R"({"error": {"errors": [{"reason": "other"}, {"reason": ")" + reason + R"("}]}})";
  };
  EXPECT_TRUE(IsGcsRateLimit(ErrorAnswer(403, with_reason("rateLimitExceeded"))));
  EXPECT_TRUE(IsGcsRateLimit(ErrorAnswer(403, with_reason("userRateLimitExceeded"))));
  EXPECT_FALSE(IsGcsRateLimit(ErrorAnswer(403, with_reason("forbidden"))));
  EXPECT_FALSE(IsGcsRateLimit(ErrorAnswer(400, with_reason("rateLimitExceeded"))));
  EXPECT_FALSE(IsGcsRateLimit(ErrorAnswer(403, "rateLimitExceeded")));
}

}  // namespace
}  // namespace unshard
