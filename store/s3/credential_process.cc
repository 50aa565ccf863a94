#include "store/s3/credential_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

extern char** environ;

namespace unshard {
namespace {

constexpr std::size_t kMaxPrinted = std::size_t{64} << 10;
constexpr int kInterruptsSeenMilliseconds = 50;

tl::unexpected<Error> ProcessDenied(const std::string& why) {
  return CredentialsDenied("the credential_process " + why);
}

// Starts the program in a group of its own, with the signals that a program expects. Returns 0 or
// an errno.
int Spawn(const std::vector<std::string>& words, int output, pid_t& process) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int failure =
      posix_spawnp(&process, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return failure;
}

Result<std::string> ReadAll(int descriptor, const Deadline& deadline) {
  std::string text;
  for (;;) {
    UNSHARD_RETURN_IF_ERROR(deadline.Check("waiting for the credential_process"));
    pollfd ready{descriptor, POLLIN, 0};
    if (::poll(&ready, 1, kInterruptsSeenMilliseconds) <= 0) continue;
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FailErrno(errno, "reading from the credential_process");
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kMaxPrinted) return ProcessDenied("prints too much");
  }
}

int WaitFor(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// The status of a program that may go on after it has closed its output. It and what it has started
// are killed where it has not ended at the deadline.
Result<int> StatusOf(pid_t process, const Deadline& deadline) {
  std::chrono::milliseconds pause{1};
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(process, &status, WNOHANG);
    // Where this process ignores the end of others (SIGCHLD), there is no status.
    if (ended == process || (ended < 0 && errno != EINTR)) return status;
    if (const Status in_time = deadline.Check("waiting for the credential_process"); !in_time) {
      ::kill(-process, SIGKILL);
      WaitFor(process);
      return tl::unexpected<Error>(in_time.error());
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(kInterruptsSeenMilliseconds));
  }
}

}  // namespace

std::optional<std::vector<std::string>> WordsOf(std::string_view command) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t at = 0; at < command.size(); ++at) {
    const char byte = command[at];
    if (quote == 0 && (byte == ' ' || byte == '\t')) {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
    } else if (byte == '\\' && quote != '\'' && at + 1 < command.size()) {
      if (!word) word.emplace();
      *word += command[++at];
    } else if (quote == 0 && (byte == '"' || byte == '\'')) {
      quote = byte;
      if (!word) word.emplace();
    } else if (byte == quote) {
      quote = 0;
    } else {
      if (!word) word.emplace();
      *word += byte;
    }
  }
  if (quote != 0) return std::nullopt;
  if (word) words.push_back(*std::move(word));
  return words;
}

Result<ExpiringCredentials> AskProcess(std::string_view command, const Deadline& deadline) {
  const auto words = WordsOf(command);
  if (!words || words->empty()) return ProcessDenied("is not a command line");
  int output[2] = {-1, -1};
  if (::pipe2(output, O_CLOEXEC) != 0) return FailErrno(errno, "a pipe to the credential_process");
  pid_t process = -1;
  const int failure = Spawn(*words, output[1], process);
  ::close(output[1]);
  if (failure != 0) {
    ::close(output[0]);
    return ProcessDenied("cannot be run: " + words->front() + ": " + std::strerror(failure));
  }
  const auto text = ReadAll(output[0], deadline);
  ::close(output[0]);
  if (!text) {
    ::kill(-process, SIGKILL);
    WaitFor(process);
    return tl::unexpected<Error>(text.error());
  }
  UNSHARD_ASSIGN_OR_RETURN(const int status, StatusOf(process, deadline));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return ProcessDenied("fails: " + words->front());
  }
  auto found = ParseCredentialsDocument(*text);
  if (!found) return ProcessDenied("prints no credentials: " + words->front());
  return found;
}

}  // namespace unshard
