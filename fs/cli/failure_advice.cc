#include "fs/cli/failure_advice.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "codec/core/error.h"
#include "fs/common/readable.h"

namespace unshard {
namespace {

constexpr std::array kCodes = {
    ErrorCode::kInvalidArgument, ErrorCode::kNotFound,          ErrorCode::kPermissionDenied,
    ErrorCode::kNotSupported,    ErrorCode::kDataLoss,          ErrorCode::kConflict,
    ErrorCode::kUnavailable,     ErrorCode::kResourceExhausted, ErrorCode::kReadOnly,
    ErrorCode::kInternal,
};

// Removes the first word from `rest`, with the space behind it, and returns it.
std::string TakeWord(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  std::string word(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

// "data loss: message": the code and what follows it, or nothing.
bool TakeCode(std::string_view rest, LoggedFailure& failure) {
  for (const ErrorCode code : kCodes) {
    const std::string_view name = ErrorCodeName(code);
    if (!rest.starts_with(name) || !rest.substr(name.size()).starts_with(":")) continue;
    failure.code = name;
    rest.remove_prefix(name.size() + 1);
    failure.message = rest.substr(rest.starts_with(" ") ? 1 : 0);
    return true;
  }
  return false;
}

bool IsPartOfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '/' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Whether `text` contains `name` as a whole, and not only as a part of a longer path.
bool Names(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !IsPartOfName(text[at - 1]) || text[at] == '/';
    if (begins && (end == text.size() || !IsPartOfName(text[end]))) return true;
  }
  return false;
}

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string AdviceOnArgument(const LoggedFailure& failure, const std::string& source) {
  if (Contains(failure.message, "no such chunk")) {
    return "`unshard info " + source +
           "` shows shape and chunks; a file that is not a chunk needs another kind of name, such "
           "as .NAME.tmp";
  }
  if (failure.operation == "mkdir") {
    return "choose a name for the directory that is not the name of a chunk";
  }
  if (failure.operation == "setattr") {
    return "write the whole chunk, or write a new file beside it and rename that onto the chunk";
  }
  return "write the whole chunk as an encoder of this array makes it (`unshard info " + source +
         "` shows shape, chunks and encoding), then close it; the previous chunk stays";
}

std::string AdviceOnDamage(const LoggedFailure& failure, const std::string& source,
                           const std::string& mount_point) {
  if (failure.code == ErrorCodeName(ErrorCode::kDataLoss)) {
    const std::string file = "the file that is named above in " + source +
                             " with an intact copy; the mount sees it at once";
    const std::string damaged = "the stored bytes are damaged; everything else can still be read. ";
    if (Contains(failure.message, "index")) return damaged + "Replace " + file;
    return damaged + "Write the chunk again, or remove it; or replace " + file;
  }
  if (failure.code == ErrorCodeName(ErrorCode::kResourceExhausted)) {
    return "mount with a larger memory=, which caps what one file may need";
  }
  if (failure.code == ErrorCodeName(ErrorCode::kInternal)) {
    return "report it as a fault of unshard, with " + mount_point + "/.unshard/errors";
  }
  return "try again; if it happens again, look at the disk or network below " + source;
}

bool IsUrl(const std::string& source) { return Contains(source, "://"); }

struct PlainAdvice {
  std::string_view errno_name;
  const char* advice;
};
// "SOURCE" and "MOUNT" are replaced by the paths.
constexpr std::array<PlainAdvice, 15> kPlainAdvice = {{
    {"EPERM",
     "make this change in SOURCE, which the mount follows; writing, replacing, renaming "
     "and removing whole chunks works here"},
    {"EACCES",
     "check the permissions with `ls -l` in SOURCE: the mount reads and writes as the user of its "
     "process"},
    {"EROFS", "mount without ro, from a source that its process may write to"},
    {"ESTALE",
     "open it again by its name: another process has replaced it; for strict mounts `unshard spool "
     "list -v` shows what was quarantined"},
    {"ENOSPC",
     "`unshard status MOUNT` says whether the spool or the disk of SOURCE is full; "
     "`unshard flush MOUNT` makes room in the spool, spool_size= and spool_files= allow more, but "
     "no more than half of what the spool's disk has free"},
    {"EDQUOT",
     "make room within the quota of the mount's user, below SOURCE and in the spool that "
     "`unshard status MOUNT` names"},
    {"EXDEV", "copy it and remove the old one, as mv(1) does by itself"},
    {"EBUSY",
     "close the programs that use it, and try again; to move a dataset, unmount it and move it in "
     "SOURCE"},
    {"EISDIR", "use the name of a file"},
    {"EEXIST", "choose another name, or remove that one first"},
    {"ENOTEMPTY", "remove what is in it first"},
    {"EFBIG", "write less: the limit is named above"},
    {"EMFILE", "mount from a shell with a higher `ulimit -n`"},
    {"ETIMEDOUT", "SOURCE does not answer in time: try again later; no new mount is needed"},
    {"ENOMEM", "free memory, or mount with a smaller memory="},
}};

}  // namespace

std::optional<LoggedFailure> ParseLoggedFailure(std::string_view line) {
  LoggedFailure failure;
  failure.time = TakeWord(line);
  failure.operation = TakeWord(line);
  if (!line.starts_with("/")) return std::nullopt;
  // The path may contain spaces: the first errno that a code follows ends it.
  for (std::size_t at = line.find(' '); at != std::string_view::npos; at = line.find(' ', at + 1)) {
    std::string_view rest = line.substr(at + 1);
    failure.errno_name = TakeWord(rest);
    if (!TakeCode(rest, failure)) continue;
    failure.path = line.substr(0, at);
    return failure;
  }
  return std::nullopt;
}

bool Concerns(const LoggedFailure& failure, std::string_view path) {
  if (path == "/" || failure.path == path) return true;
  if (failure.path.starts_with(path) && failure.path[path.size()] == '/') return true;
  return Names(failure.message, path.substr(1));
}

bool IsConsequence(const LoggedFailure& later, const LoggedFailure& earlier) {
  const bool closes = later.operation == "close" || later.operation == "release";
  return closes && earlier.operation == "write" && later.path == earlier.path &&
         later.errno_name == "EINVAL";
}

std::string AdviceOn(const LoggedFailure& failure, const std::string& source,
                     const std::string& mount_point) {
  if (failure.operation == "flush" && failure.path.starts_with("/.unshard/")) {
    return "fix the problem above, for example make room on the disk of " + source +
           ", then run `unshard flush " + mount_point + "`";
  }
  if (failure.errno_name == "EINVAL") return AdviceOnArgument(failure, source);
  if (failure.errno_name == "EIO") return AdviceOnDamage(failure, source, mount_point);
  if (failure.errno_name == "EROFS" && failure.path.starts_with("/.unshard/")) {
    return "read it; what it says is decided by the options of `unshard mount`";
  }
  if (failure.errno_name == "EPERM" && Contains(failure.message, "existing chunks depend on it")) {
    return "leave that member as it is; `unshard copy` makes a dataset with another layout";
  }
  if (failure.errno_name == "EPERM" && Contains(failure.message, "remove those chunks first")) {
    return "remove the dataset as a whole (`rm -r`), or its chunks before this file";
  }
  if (failure.errno_name == "EACCES" && IsUrl(source)) {
    return "check what the credentials of the mount may do in " + source +
           "; changed credentials are used without a new mount, except those in its environment";
  }
  for (const PlainAdvice& plain : kPlainAdvice) {
    if (plain.errno_name != failure.errno_name) continue;
    return Replaced(Replaced(plain.advice, "MOUNT", mount_point), "SOURCE", source);
  }
  return "the reason above names what does not fit; the manual of unshard says what a mount allows";
}

}  // namespace unshard
