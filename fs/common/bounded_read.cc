#include "fs/common/bounded_read.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>

#include "fs/common/daemon.h"
#include "store/local/file_descriptor.h"

namespace unshard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

// One reader on its way: what it has sent is an errno (0: the text follows).
struct Reader {
  pid_t process = -1;
  FileDescriptor from;
  std::string received;
  bool ended = false;
};

bool SendAll(int to, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = write(to, bytes, size);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

// The process of one reader.
[[noreturn]] void SendFile(const std::string& path, int pipe) {
  const int to = KeepOnly(pipe);
  int error = 0;
  std::string text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) error = errno;
  std::array<char, 65536> buffer;
  while (error == 0 && text.size() < kMaxBytes) {
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got < 0 && errno != EINTR) error = errno;
    if (got == 0) break;
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  std::array<char, sizeof error> head;
  std::memcpy(head.data(), &error, sizeof error);
  const bool sent = SendAll(to, head.data(), head.size()) && SendAll(to, text.data(), text.size());
  _exit(sent ? 0 : 1);
}

Reader StartReader(const std::string& path) {
  Reader reader;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return reader;
  reader.from = FileDescriptor(ends[0]);
  const FileDescriptor to(ends[1]);
  reader.process = fork();
  if (reader.process == 0) SendFile(path, to.get());
  return reader;
}

void Receive(Reader& reader) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(reader.from.get(), buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    reader.ended = true;
  } else {
    reader.received.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// False once nothing is left to wait for.
bool ReceiveNext(std::vector<Reader>& readers, int milliseconds) {
  std::vector<pollfd> wanted;
  std::vector<Reader*> of;
  for (Reader& reader : readers) {
    if (reader.ended || reader.process < 0) continue;
    wanted.push_back({reader.from.get(), POLLIN, 0});
    of.push_back(&reader);
  }
  if (wanted.empty()) return false;
  if (poll(wanted.data(), wanted.size(), milliseconds) <= 0) return true;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].revents != 0) Receive(*of[i]);
  }
  return true;
}

BoundedRead ResultOf(Reader& reader) {
  if (reader.process < 0) return {BoundedRead::State::kFailed, EAGAIN, ""};
  if (!reader.ended) return {};
  int error = 0;
  if (reader.received.size() < sizeof error) return {BoundedRead::State::kFailed, EIO, ""};
  std::memcpy(&error, reader.received.data(), sizeof error);
  if (error != 0) return {BoundedRead::State::kFailed, error, ""};
  return {BoundedRead::State::kRead, 0, reader.received.substr(sizeof error)};
}

}  // namespace

std::vector<BoundedRead> ReadWithin(const std::vector<std::string>& paths, int milliseconds) {
  std::vector<Reader> readers;
  for (const std::string& path : paths) readers.push_back(StartReader(path));
  const auto deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0 || !ReceiveNext(readers, static_cast<int>(left))) break;
  }
  std::vector<BoundedRead> results;
  for (Reader& reader : readers) {
    results.push_back(ResultOf(reader));
    if (reader.process < 0) continue;
    // Never waited for: closing a file may wait for the mount as well.
    if (!reader.ended) kill(reader.process, SIGKILL);
    waitpid(reader.process, nullptr, WNOHANG);
  }
  return results;
}

}  // namespace unshard
