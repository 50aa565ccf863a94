#include "tests/support/fake_gcs.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "store/http/url.h"
#include "tests/support/folders.h"

namespace unshard {
namespace {

// Sends one request and returns its status; 0: no answer. The store under test cannot upload or
// remove, so tests do it with this.
int SendTo(const std::string& server, const std::string& method, const std::string& target,
           std::string_view body) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(server.substr(server.rfind(':') + 1))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    std::string request = method + ' ' + target + " HTTP/1.1\r\nHost: " + server.substr(7) +
                          "\r\nConnection: close\r\nContent-Type: application/json\r\n" +
                          "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    request += body;
    std::string_view left = request;
    while (!left.empty()) {
      const ssize_t sent = ::send(descriptor, left.data(), left.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
    char buffer[4096];
    for (ssize_t size = 0; (size = ::recv(descriptor, buffer, sizeof buffer, 0)) > 0;) {
      answer.append(buffer, static_cast<std::size_t>(size));
    }
  }
  ::close(descriptor);
  int status = 0;
  (void)std::sscanf(answer.c_str(), "HTTP/%*s %d", &status);
  return status;
}

void Expect(int status, std::string_view what) {
  if (status == 200) return;
  std::fprintf(stderr, "fake-gcs-server answers %d to %s\n", status, std::string(what).c_str());
}

}  // namespace

FakeGcs::FakeGcs() {
  // Where tests/run has installed it, also for the builds below the build folder.
  for (const char* above : {"", "/.."}) {
    const std::string programs = BuildFolder() + above + "/.cache/go/bin";
    if (std::filesystem::exists(programs)) ::setenv("UNSHARD_GO_PROGRAMS", programs.c_str(), 0);
  }
  process_ = std::make_unique<ServerProcess>(std::vector<std::string>{ScriptPath("fake_gcs")}, 1);
  if (process_->lines().empty() || is_missing() || !WaitForServer(process_->lines()[0])) return;
  http_ = process_->lines()[0];
  Expect(SendTo(http_, "POST", "/storage/v1/b?project=project", R"({"name":"bucket"})"),
         "a bucket");
}

bool FakeGcs::is_missing() const {
  return !process_->lines().empty() && process_->lines()[0] == "missing";
}

GcsEnvironment FakeGcs::environment() const {
  GcsEnvironment environment;
  environment.emulator_host = http_;
  return environment;
}

void FakeGcs::Put(std::string_view key, std::string_view bytes, std::string_view encoding) const {
  std::string target =
      "/upload/storage/v1/b/bucket/o?uploadType=media&name=" + EscapeQueryValue(key);
  if (!encoding.empty()) target += "&contentEncoding=" + std::string(encoding);
  Expect(SendTo(http_, "POST", target, bytes), key);
}

void FakeGcs::Remove(std::string_view key) const {
  Expect(SendTo(http_, "DELETE", "/storage/v1/b/bucket/o/" + EscapeQueryValue(key), ""), key);
}

GcsGate::GcsGate(const FakeGcs& upstream) {
  process_ = std::make_unique<ServerProcess>(
      std::vector<std::string>{ScriptPath("gcs_gate"), upstream.http(), work_.At("gate")}, 1);
  if (!process_->lines().empty()) http_ = process_->lines()[0];
}

GcsEnvironment GcsGate::environment() const {
  GcsEnvironment environment;
  environment.endpoint = http_;
  environment.no_gce_check = "true";
  return environment;
}

std::string GcsGate::MetadataHost() const { return http_.substr(http_.find("://") + 3); }

std::string GcsGate::Requests() const {
  std::ifstream requests(work_.At("gate/requests"));
  return {std::istreambuf_iterator<char>(requests), std::istreambuf_iterator<char>()};
}

}  // namespace unshard
