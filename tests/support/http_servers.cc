#include "tests/support/http_servers.h"
#include "tests/support/folders.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

namespace unshard {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool Connects(std::uint16_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected =
      ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(descriptor);
  return connected;
}

}  // namespace

std::string ScriptPath(const char* name) { return SourceFolder() + "/tests/servers/" + name; }

ServerProcess::ServerProcess(const std::vector<std::string>& command, std::size_t lines) {
  ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);  // beside the sources
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int output[2] = {-1, -1};
  if (::pipe2(output, O_CLOEXEC) != 0) return;
  process_ = ::fork();
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(output[1], STDOUT_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(output[1]);
  std::string line;
  char byte = 0;
  while (lines_.size() < lines && ::read(output[0], &byte, 1) == 1) {
    if (byte != '\n') {
      line += byte;
    } else {
      lines_.push_back(std::exchange(line, {}));
    }
  }
  ::close(output[0]);
}

ServerProcess::~ServerProcess() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

bool WaitForServer(const std::string& url) {
  const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  for (int i = 0; i < 1000; ++i) {
    if (Connects(port)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

void ServedDirectory::Put(const std::string& key, std::string_view text) {
  using namespace std::chrono;
  const std::string staged = ".staged-" + std::to_string(++puts_);
  directory_.Write(staged, text);
  const auto modified = sys_days{year{2020} / 1 / 1} + seconds(puts_);
  std::filesystem::last_write_time(directory_.At(staged), file_clock::from_sys(modified));
  std::filesystem::create_directories(std::filesystem::path(directory_.At(key)).parent_path());
  std::filesystem::rename(directory_.At(staged), directory_.At(key));
}

Nginx::Nginx() {
  process_ = std::make_unique<ServerProcess>(
      std::vector<std::string>{ScriptPath("nginx"), files_.path(), work_.path()}, 2);
  if (process_->lines().size() != 2) return;
  if (!WaitForServer(process_->lines()[1])) return;
  http_ = process_->lines()[0];
  https_ = process_->lines()[1];
}

std::string Nginx::Requests() const { return TextOf(work_.At("requests")); }

PythonServer::PythonServer() {
  process_ = std::make_unique<ServerProcess>(
      std::vector<std::string>{"python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1",
                               "--directory", files_.path()},
      1);
  if (process_->lines().empty()) return;
  // "Serving HTTP on 127.0.0.1 port 8000 (http://127.0.0.1:8000/) ..."
  const std::string& line = process_->lines()[0];
  const std::size_t begin = line.find("http://");
  if (begin == std::string::npos) return;
  http_ = line.substr(begin, line.find('/', begin + 7) - begin);
}

FaultProxy::FaultProxy(const std::string& upstream) {
  process_ = std::make_unique<ServerProcess>(
      std::vector<std::string>{ScriptPath("fault_proxy"), upstream, work_.path()}, 1);
  if (!process_->lines().empty()) http_ = process_->lines()[0];
}

std::vector<std::string> FaultProxy::TakeRequests() {
  std::string text = TextOf(work_.At("requests"));
  text.resize(text.rfind('\n') + 1);  // the proxy may be writing the last line
  std::istringstream untaken(text.substr(taken_));
  taken_ = text.size();
  std::vector<std::string> lines;
  for (std::string line; std::getline(untaken, line);) lines.push_back(line);
  return lines;
}

}  // namespace unshard
