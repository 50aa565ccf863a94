#include "store/remote/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "store/object/read_through.h"

namespace unshard {
namespace {

std::string DirectoryOf(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  const char* named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/var/tmp";
}

// Not all file systems have files without a name from the start.
int MakeNamed(const std::string& directory) {
  std::string name = directory + "/unshard-XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor >= 0) ::unlink(name.c_str());
  return descriptor;
}

class FileRange final : public HttpBody {
 public:
  FileRange(std::shared_ptr<const ScratchFile> file, const ByteRange& range)
      : file_(std::move(file)), range_(range) {}
  std::uint64_t size() const override { return range_.size; }
  Result<std::size_t> Read(std::uint64_t at, std::span<std::uint8_t> to) const override {
    to = to.first(static_cast<std::size_t>(
        std::min<std::uint64_t>(to.size(), range_.size - std::min(at, range_.size))));
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t found, file_->Read(range_.begin + at, to));
    std::fill(to.begin() + static_cast<std::ptrdiff_t>(found), to.end(), std::uint8_t{0});
    return to.size();
  }

 private:
  const std::shared_ptr<const ScratchFile> file_;
  const ByteRange range_;
};

}  // namespace

Result<std::shared_ptr<ScratchFile>> ScratchFile::Make(const std::string& directory) {
  const std::string place = DirectoryOf(directory);
  int descriptor = ::open(place.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
  if (descriptor < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
    descriptor = MakeNamed(place);
  }
  if (descriptor < 0) return FailErrno(errno, place + ": making a temporary file");
  return std::shared_ptr<ScratchFile>(new ScratchFile(descriptor, place + ": a temporary file"));
}

ScratchFile::~ScratchFile() { ::close(descriptor_); }

Status ScratchFile::Write(std::uint64_t at, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FailErrno(errno, described_ + ": writing");
    at += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::size_t> ScratchFile::Read(std::uint64_t at, std::span<std::uint8_t> to) const {
  return ReadDescriptor(descriptor_, at, to, described_);
}

Status ScratchFile::Truncate(std::uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) == 0) return {};
  return FailErrno(errno, described_ + ": truncating");
}

std::shared_ptr<const HttpBody> BodyOf(std::shared_ptr<const ScratchFile> file,
                                       const ByteRange& range) {
  return std::make_shared<FileRange>(std::move(file), range);
}

}  // namespace unshard
