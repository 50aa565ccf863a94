#include "fs/common/process_table.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <system_error>

#include "codec/core/text.h"
#include "store/object/key.h"

namespace unshard {

namespace files = std::filesystem;

void ForEachProcess(const std::function<void(pid_t, const files::path&)>& visit) {
  std::error_code failed;
  for (files::directory_iterator entry("/proc", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    const pid_t pid = ParseNumber<pid_t>(name).value_or(0);
    if (pid > 0) visit(pid, entry->path());
  }
}

std::string LinkTarget(const files::path& link) {
  std::error_code failed;
  return files::read_symlink(link, failed).string();
}

namespace {

// PROC_PID_INIT_INO: that of the machine itself.
constexpr std::uint64_t kFirstPidNamespace = 0xEFFFFFFCU;

void ForEachLink(const files::path& folder, const std::function<void(const files::path&)>& visit) {
  std::error_code failed;
  for (files::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    visit(entry->path());
  }
}

std::string TextOf(const files::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string NameOf(const files::path& process) {
  std::string name = TextOf(process / "comm");
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

// /proc also shows processes that have ended and were not waited for.
bool Runs(const files::path& process) {
  const std::string stat = TextOf(process / "stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return false;
  const char state = stat[name_end + 2];
  return state != 'Z' && state != 'X';
}

std::optional<std::uint64_t> NamespaceOf(const files::path& process) {
  const std::string target = LinkTarget(process / "ns" / "pid");  // "pid:[4026531836]"
  const std::size_t bracket = target.find('[');
  if (bracket == std::string::npos) return std::nullopt;
  std::uint64_t inode = 0;
  std::from_chars(&target[bracket + 1], target.data() + target.size(), inode);
  return inode;
}

// The id that a process has in its own namespace: the last one of this line.
pid_t InnermostId(const files::path& process) {
  std::istringstream status(TextOf(process / "status"));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream ids(line.substr(6));
    pid_t id = 0;
    while (ids >> id) {
    }
    return id;
  }
  return 0;
}

// The number of the connection that a descriptor of /dev/fuse belongs to, where the kernel is new
// enough to show it.
std::optional<unsigned> ConnectionOf(const files::path& process, const std::string& descriptor) {
  std::istringstream info(TextOf(process / "fdinfo" / descriptor));
  for (std::string word; info >> word;) {
    unsigned number = 0;
    if (word == "fuse_connection:" && info >> number) return number;
  }
  return std::nullopt;
}

bool Serves(const files::path& process, unsigned connection) {
  const bool ours = NameOf(process).find("unshard") != std::string::npos;
  bool serves = false;
  ForEachLink(process / "fd", [&](const files::path& link) {
    if (LinkTarget(link).find("/fuse") == std::string::npos) return;
    const auto number = ConnectionOf(process, link.filename().string());
    if (number ? *number == connection : ours) serves = true;
  });
  return serves;
}

bool IsIn(const files::path& link, const std::string& mount_point) {
  return IsAtOrBelow(LinkTarget(link), mount_point);
}

}  // namespace

Status RunProgram(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) return FailErrno(errno, words[0] + ": starting");
  if (child == 0) {
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int state = 0;
  while (waitpid(child, &state, 0) < 0) {
    if (errno != EINTR) return FailErrno(errno, words[0] + ": waiting for its end");
  }
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return {};
  return Fail(ErrorCode::kUnavailable, words[0], ": failed; its own message is above");
}

std::optional<std::uint64_t> OwnPidNamespace() { return NamespaceOf("/proc/self"); }

bool SeesAllProcesses() { return OwnPidNamespace() == kFirstPidNamespace; }

std::optional<pid_t> FindProcess(pid_t id, std::uint64_t pid_namespace) {
  if (OwnPidNamespace() == pid_namespace) return id;
  std::optional<pid_t> found;
  ForEachProcess([&](pid_t pid, const files::path& process) {
    if (NamespaceOf(process) == pid_namespace && InnermostId(process) == id) found = pid;
  });
  return found;
}

std::vector<pid_t> ServersOf(unsigned connection) {
  std::vector<pid_t> servers;
  ForEachProcess([&](pid_t pid, const files::path& process) {
    if (pid != getpid() && Runs(process) && Serves(process, connection)) servers.push_back(pid);
  });
  return servers;
}

std::vector<std::string> ProcessesIn(const std::string& mount_point) {
  std::vector<std::string> found;
  ForEachProcess([&](pid_t pid, const files::path& process) {
    bool inside = IsIn(process / "cwd", mount_point) || IsIn(process / "root", mount_point);
    ForEachLink(process / "fd",
                [&](const files::path& link) { inside = inside || IsIn(link, mount_point); });
    if (inside && pid != getpid()) {
      found.push_back(NameOf(process) + " (" + std::to_string(pid) + ")");
    }
  });
  return found;
}

}  // namespace unshard
