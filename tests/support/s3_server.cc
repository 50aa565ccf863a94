#include "tests/support/s3_server.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>

#include "store/http/curl_transport.h"
#include "store/http/url.h"
#include "store/s3/sigv4.h"

namespace unshard {
namespace {

const AwsCredentials kUser{"unshard-tests", "unshard-tests-secret", ""};

// Names the program that tests/run has installed, also for the builds below the build folder.
void NameProgram() {
  for (const char* above : {"", "/.."}) {
    const std::string program = std::string(UNSHARD_BUILD_DIR) + above + "/.cache/go/bin/versitygw";
    if (std::filesystem::exists(program)) ::setenv("VERSITYGW", program.c_str(), 0);
  }
}

}  // namespace

bool HasVersitygw() {
  NameProgram();
  return std::getenv("VERSITYGW") != nullptr;
}

Versitygw::Versitygw() : transport_(MakeCurlTransport({})) {
  NameProgram();
  process_ = std::make_unique<ServerProcess>(
      std::vector<std::string>{std::string(UNSHARD_SOURCE_DIR) + "/tests/servers/versitygw",
                               buckets_.path()},
      1);
  if (process_->lines().empty() || !WaitForServer(process_->lines()[0])) return;
  http_ = process_->lines()[0];
  Send("/bucket", "");
}

void Versitygw::Send(const std::string& path, std::string_view body) {
  HttpRequest request;
  request.method = HttpRequest::Method::kPut;
  request.url = http_ + path;
  request.body = body;
  request.max_whole_body = request.max_other_body = std::uint64_t{1} << 20;
  auto signed_request = SignRequest(std::move(request), kUser, {"us-east-1"}, std::time(nullptr));
  ASSERT_TRUE(signed_request);
  const auto response = unshard::Send(*transport_, *std::move(signed_request));
  ASSERT_TRUE(response) << response.error().message;
  ASSERT_EQ(response->status, 200) << AsText(response->body);
}

void Versitygw::Put(const std::string& key, std::string_view text) {
  Send("/bucket/" + EscapeKey(key), text);
}

void Versitygw::Remove(const std::string& key) const { buckets_.Remove("bucket/" + key); }

Environment Versitygw::ClientEnvironment(const std::string& endpoint) const {
  const std::map<std::string, std::string> variables{
      {"AWS_ENDPOINT_URL_S3", endpoint.empty() ? http_ : endpoint},
      {"AWS_ACCESS_KEY_ID", kUser.access_key_id},
      {"AWS_SECRET_ACCESS_KEY", kUser.secret_access_key},
      {"HOME", buckets_.path()}};
  return [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

}  // namespace unshard
