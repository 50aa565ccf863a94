#include "store/gcs/credentials.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "codec/json/json.h"
#include "codec/json/writer.h"
#include "store/gcs/environment.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

// openssl genrsa 1024: small, so that it is made at once.
std::string NewPrivateKey() {
  const TemporaryDirectory work;
  const std::string command = "openssl genrsa -out " + work.At("key") + " 1024 2>/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream key(work.At("key"));
  return {std::istreambuf_iterator<char>(key), std::istreambuf_iterator<char>()};
}

std::string Service(const std::string& private_key, const std::string& token_url = "") {
  JsonValue file = JsonValue::Object();
  file.Set("type", JsonValue::String("service_account"));
  file.Set("client_email", JsonValue::String("reader@project"));
  file.Set("private_key_id", JsonValue::String("key1"));
  file.Set("private_key", JsonValue::String(private_key));
  if (!token_url.empty()) file.Set("token_uri", JsonValue::String(token_url));
  return WriteJson(file);
}

constexpr const char* kUser = R"({"type": "authorized_user", "client_id": "id/1",
  "client_secret": "a&b", "refresh_token": "1//c"})";

HttpResponse Answer(int status, std::string_view text) {
  HttpResponse response;
  response.status = status;
  response.body.assign(text.begin(), text.end());
  return response;
}

TEST(GcsCredentialsTest, AUserRefreshesItsToken) {
  const auto user = ParseGcsCredential(kUser);
  ASSERT_TRUE(user) << user.error().message;
  const auto request = MakeTokenRequest(*user, 0);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, HttpRequest::Method::kPost);
  EXPECT_EQ(request->url, "https://oauth2.googleapis.com/token");
  EXPECT_EQ(request->body,
            "grant_type=refresh_token&client_id=id%2F1&client_secret=a%26b&refresh_token=1%2F%2Fc");
  EXPECT_EQ(DescribeGcsCredential(*user), "the user's login");
}

TEST(GcsCredentialsTest, AServiceAccountSignsWhatItAsksFor) {
  const auto account = ParseGcsCredential(Service(NewPrivateKey(), "http://127.0.0.1:1/token"));
  ASSERT_TRUE(account) << account.error().message;
  const auto request = MakeTokenRequest(*account, 1'700'000'000);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->url, "http://127.0.0.1:1/token");
  const std::string prefix =
      "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
      // {"alg": "RS256", "typ": "JWT", "kid": "key1"}
      "eyJhbGciOiAiUlMyNTYiLCAidHlwIjogIkpXVCIsICJraWQiOiAia2V5MSJ9.";
  EXPECT_TRUE(request->body.starts_with(prefix)) << request->body;
  // Whether the signature is right openssl says (tests/servers/gcs_gate).
  EXPECT_EQ(request->body.find_first_of("=+/", prefix.size()), std::string::npos);
  EXPECT_EQ(DescribeGcsCredential(*account), "the service account reader@project");
}

TEST(GcsCredentialsTest, AMachineAsksItsServer) {
  const auto request = MakeTokenRequest(GcsMachine{"http://host:1"}, 0);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, HttpRequest::Method::kGet);
  EXPECT_EQ(request->url,
            "http://host:1/computeMetadata/v1/instance/service-accounts/default/token");
  EXPECT_EQ(FindHeader(request->headers, "metadata-flavor"), "Google");
}

TEST(GcsCredentialsTest, WhatIsNoCredentialIsRefusedWithoutRepeatingIt) {
  for (const char* text :
       {"", "secret", R"({"secret": 1)", R"(["secret"])", R"({"type": "external_account"})",
        R"({"type": "authorized_user", "client_id": "secret", "client_secret": "secret"})",
        R"({"type": "service_account", "private_key": "secret"})",
        R"({"type": "service_account", "client_email": "a", "private_key": {"secret": 1}})"}) {
    const auto credential = ParseGcsCredential(text);
    ASSERT_FALSE(credential) << text;
    EXPECT_EQ(credential.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(credential.error().message.find("secret"), std::string::npos)
        << credential.error().message;
  }
  for (const char* url : {"http://example.org/token", "file:///token", "token"}) {
    EXPECT_FALSE(ParseGcsCredential(Service("key", url))) << url;
  }
}

TEST(GcsCredentialsTest, AKeyThatIsNoneCannotSign) {
  for (const char* key :
       {"secret", "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nsecret\n"}) {
    const auto request = MakeTokenRequest(*ParseGcsCredential(Service(key)), 0);
    ASSERT_FALSE(request) << key;
    EXPECT_EQ(request.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(request.error().message.find("secret"), std::string::npos);
  }
}

TEST(GcsCredentialsTest, AnswersOfTokenServers) {
  const auto token = ParseTokenResponse(
      Answer(200, R"({"access_token": "ya29.c-_", "expires_in": 3599, "token_type": "Bearer"})"));
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_EQ(token->value, "ya29.c-_");
  EXPECT_EQ(token->lifetime, std::chrono::seconds(3599));
  EXPECT_EQ(ParseTokenResponse(Answer(200, R"({"access_token": "a"})"))->lifetime,
            std::chrono::hours(1));
  EXPECT_EQ(ParseTokenResponse(Answer(200, R"({"access_token": "a", "expires_in": 0})"))->lifetime,
            std::chrono::minutes(1));
  EXPECT_LE(
      ParseTokenResponse(Answer(200, R"({"access_token": "a", "expires_in": 9999999999999999999})"))
          ->lifetime,
      std::chrono::hours(24 * 7));
  for (const char* text : {"", "[]", "{}", R"({"access_token": ""})",
                           R"({"access_token": "a\r\nX-Other: b", "expires_in": 1})"}) {
    const auto none = ParseTokenResponse(Answer(200, text));
    ASSERT_FALSE(none) << text;
    EXPECT_EQ(none.error().code, ErrorCode::kUnavailable);
  }
  const auto refused = ParseTokenResponse(
      Answer(400, R"({"error": "invalid_grant", "error_description": "Token has been revoked."})"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(refused.error().message.find("HTTP 400: invalid_grant: Token has been revoked."),
            std::string::npos);
  EXPECT_EQ(ParseTokenResponse(Answer(503, "")).error().code, ErrorCode::kUnavailable);
}

TEST(GcsEnvironmentTest, EachVariableIsReadByItsName) {
  const std::map<std::string, std::string GcsEnvironment::*> variables = {
      {"STORAGE_EMULATOR_HOST", &GcsEnvironment::emulator_host},
      {"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", &GcsEnvironment::endpoint},
      {"GOOGLE_APPLICATION_CREDENTIALS", &GcsEnvironment::application_credentials},
      {"CLOUDSDK_CONFIG", &GcsEnvironment::cloudsdk_config},
      {"CLOUD_FILES_DIR", &GcsEnvironment::cloud_files_dir},
      {"CLOUD_VOLUME_DIR", &GcsEnvironment::cloud_volume_dir},
      {"GCE_METADATA_HOST", &GcsEnvironment::metadata_host},
      {"NO_GCE_CHECK", &GcsEnvironment::no_gce_check},
      {"GOOGLE_CLOUD_QUOTA_PROJECT", &GcsEnvironment::quota_project}};
  for (const auto& [name, field] : variables) {
    const char* const before = std::getenv(name.c_str());
    const std::optional<std::string> kept =
        before ? std::optional<std::string>(before) : std::nullopt;
    ::setenv(name.c_str(), "a value", 1);
    EXPECT_EQ(ReadGcsEnvironment().*field, "a value") << name;
    ::unsetenv(name.c_str());
    EXPECT_EQ(ReadGcsEnvironment().*field, "") << name;
    if (kept) ::setenv(name.c_str(), kept->c_str(), 1);
  }
}

TEST(GcsEnvironmentTest, WithoutHomeItIsThatOfTheUsersEntryInPasswd) {
  const char* const before = std::getenv("HOME");
  const std::string kept = before == nullptr ? "" : before;
  ::unsetenv("HOME");
  EXPECT_EQ(ReadGcsEnvironment().home, ::getpwuid(::getuid())->pw_dir);
  if (before != nullptr) ::setenv("HOME", kept.c_str(), 1);
}

TEST(GcsEnvironmentTest, TheMostSpecificFileComesFirst) {
  GcsEnvironment environment;
  EXPECT_TRUE(GcsCredentialFiles(environment, "bucket").empty());
  environment.home = "/me";
  EXPECT_EQ(GcsCredentialFiles(environment, "bucket"),
            (std::vector<std::string>{"/me/.cloudfiles/secrets/bucket-google-secret.json",
                                      "/me/.cloudvolume/secrets/bucket-google-secret.json",
                                      "/me/.config/gcloud/application_default_credentials.json",
                                      "/me/.cloudfiles/secrets/google-secret.json",
                                      "/me/.cloudvolume/secrets/google-secret.json"}));
  environment.cloud_files_dir = "/files";
  environment.cloud_volume_dir = "/volume";
  environment.cloudsdk_config = "/sdk";
  const auto moved = GcsCredentialFiles(environment, "bucket");
  ASSERT_EQ(moved.size(), 5u);
  EXPECT_EQ(moved[1], "/volume/secrets/bucket-google-secret.json");
  EXPECT_EQ(moved[2], "/sdk/application_default_credentials.json");
  EXPECT_EQ(moved[3], "/files/secrets/google-secret.json");
  environment.application_credentials = "/named";
  EXPECT_EQ(GcsCredentialFiles(environment, "bucket"), (std::vector<std::string>{"/named"}));
}

TEST(GcsEnvironmentTest, TheFirstFileThatIsThereIsTheCredential) {
  const TemporaryDirectory home;
  GcsEnvironment environment;
  environment.home = home.path();
  const auto none = ReadGcsCredential(environment, "bucket");
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(*none);
  home.Write(".cloudvolume/secrets/google-secret.json", kUser);
  EXPECT_TRUE(std::holds_alternative<GcsUser>(**ReadGcsCredential(environment, "bucket")));
  // A file without a credential is not passed over: its owner does not expect another credential.
  home.Write(".config/gcloud/application_default_credentials.json", "{}");
  const auto broken = ReadGcsCredential(environment, "bucket");
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message.find("application_default_credentials.json"), std::string::npos);
  environment.application_credentials = home.At("absent");
  const auto absent = ReadGcsCredential(environment, "bucket");
  ASSERT_FALSE(absent);
  EXPECT_NE(absent.error().message.find("GOOGLE_APPLICATION_CREDENTIALS"), std::string::npos);
}

TEST(GcsEnvironmentTest, AMachineWithoutAnAccountSaysSo) {
  GcsEnvironment environment;
  EXPECT_EQ(GcsMachineOf(environment)->metadata_origin, "http://metadata.google.internal");
  environment.metadata_host = "127.0.0.1:1";
  EXPECT_EQ(GcsMachineOf(environment)->metadata_origin, "http://127.0.0.1:1");
  environment.no_gce_check = "True";
  EXPECT_FALSE(GcsMachineOf(environment));
}

}  // namespace
}  // namespace unshard
