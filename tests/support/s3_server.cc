#include "tests/support/s3_server.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <utility>

#include "store/http/curl_transport.h"
#include "store/http/url.h"
#include "store/s3/sigv4.h"
#include "tests/support/folders.h"

namespace unshard {
namespace {

using Method = HttpRequest::Method;

const AwsCredentials kUser{"unshard-tests", "unshard-tests-secret", ""};

Environment Client(const std::string& endpoint, const AwsCredentials& user,
                   const std::string& region) {
  const std::map<std::string, std::string> variables{
      {"AWS_ENDPOINT_URL_S3", endpoint},
      {"AWS_ACCESS_KEY_ID", user.access_key_id},
      {"AWS_SECRET_ACCESS_KEY", user.secret_access_key},
      {"AWS_REGION", region},
      {"HOME", "/nonexistent"}};
  return [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

// Names the program that tests/run has installed, also for the builds below the build folder.
void NameProgram() {
  for (const char* above : {"", "/.."}) {
    const std::string program = BuildFolder() + above + "/.cache/go/bin/versitygw";
    if (std::filesystem::exists(program)) ::setenv("VERSITYGW", program.c_str(), 0);
  }
}

}  // namespace

S3Server::S3Server(std::string region)
    : region_(std::move(region)), transport_(MakeCurlTransport({})) {}

void S3Server::Started(const std::string& http) {
  http_ = http;
  Ask(Method::kPut, "/bucket");
}

HttpResponse S3Server::Ask(HttpRequest::Method method, const std::string& path,
                           std::string_view body, const HttpHeaders& headers) {
  HttpRequest request;
  request.method = method;
  request.url = http_ + path;
  request.headers = headers;
  request.body = body;
  request.max_whole_body = request.max_other_body = std::uint64_t{1} << 20;
  auto signed_request = SignRequest(std::move(request), kUser, {region_}, std::time(nullptr));
  auto response = unshard::Send(*transport_, *std::move(signed_request));
  EXPECT_TRUE(response) << response.error().message;
  if (!response) return {};
  EXPECT_LT(response->status, 300) << AsText(response->body);
  return *std::move(response);
}

void S3Server::Put(const std::string& key, std::string_view text) {
  Ask(Method::kPut, "/bucket/" + EscapeKey(key), text);
}

void S3Server::Remove(const std::string& key) { Ask(Method::kDelete, "/bucket/" + EscapeKey(key)); }

Environment S3Server::ClientEnvironment(const std::string& endpoint) const {
  return Client(endpoint.empty() ? http_ : endpoint, kUser, region_);
}

bool HasVersitygw() {
  NameProgram();
  return std::getenv("VERSITYGW") != nullptr;
}

Versitygw::Versitygw() : S3Server("us-east-1") {
  NameProgram();
  process_ = std::make_unique<ServerProcess>(
      std::vector<std::string>{ScriptPath("versitygw"), buckets_.path()}, 1);
  if (process_->lines().empty() || !WaitForServer(process_->lines()[0])) return;
  Started(process_->lines()[0]);
}

Radosgw::Radosgw() : S3Server("default") {
  process_ = std::make_unique<ServerProcess>(
      std::vector<std::string>{ScriptPath("radosgw"), work_.path()}, 1);
  if (process_->lines().empty()) return;
  is_missing_ = process_->lines()[0] == "missing";
  if (!is_missing_) Started(process_->lines()[0]);
}

S3rver::S3rver() {
  for (const char* above : {"", "/.."}) {
    const std::string build = BuildFolder() + above;
    if (std::filesystem::exists(build + "/.cache/node")) {
      ::setenv("UNSHARD_BUILD", build.c_str(), 0);
    }
  }
  process_ = std::make_unique<ServerProcess>(
      std::vector<std::string>{ScriptPath("s3rver"), work_.path()}, 1);
  if (process_->lines().empty() || process_->lines()[0] == "missing") return;
  if (WaitForServer(process_->lines()[0])) http_ = process_->lines()[0];
}

Environment S3rver::ClientEnvironment() const {
  return Client(http_, {"S3RVER", "S3RVER", ""}, "us-east-1");
}

}  // namespace unshard
