#include "store/remote/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace unshard {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

}  // namespace

Result<std::optional<std::string>> ReadTextFile(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return FailErrno(errno, path);
  }
  std::string text;
  std::array<char, 8192> buffer{};
  ssize_t count = 0;
  while ((count = ::read(descriptor, buffer.data(), buffer.size())) > 0 &&
         text.size() <= kMaxBytes) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  const int failure = errno;
  ::close(descriptor);
  if (count < 0) return FailErrno(failure, path);
  if (text.size() > kMaxBytes) {
    return Fail(ErrorCode::kResourceExhausted, path, ": larger than the ", kMaxBytes,
                " bytes it may have");
  }
  return text;
}

}  // namespace unshard
