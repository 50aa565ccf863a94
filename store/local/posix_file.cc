#include "store/local/posix_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "store/local/extended_attributes.h"
#include "store/object/read_through.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxOffset = std::numeric_limits<off_t>::max();
constexpr std::size_t kCopyBuffer = std::size_t{1} << 20;
constexpr std::size_t kMaxKernelStep = std::size_t{1} << 30;

bool KernelCannotCopy(int system_errno) {
  return system_errno == EXDEV || system_errno == EINVAL || system_errno == EOPNOTSUPP ||
         system_errno == ENOSYS;
}

// Some file systems answer as if they knew no such ioctl.
bool KernelCannotClone(int system_errno) {
  return KernelCannotCopy(system_errno) || system_errno == ENOTTY;
}

Result<PosixFile*> AsPosixFile(File& file, const std::string& described) {
  auto* posix = dynamic_cast<PosixFile*>(&file);
  if (posix != nullptr) return posix;
  return Fail(ErrorCode::kInvalidArgument, described, ": copying from another kind of file");
}

}  // namespace

std::optional<FileStatus> StatDescriptor(int descriptor) {
  struct statx status {};
  constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_BTIME;
  if (::statx(descriptor, "", AT_EMPTY_PATH, kWanted, &status) != 0) return std::nullopt;
  const auto time = [](const struct statx_timestamp& at) {
    return timespec{static_cast<std::time_t>(at.tv_sec), static_cast<long>(at.tv_nsec)};
  };
  FileStatus result;
  result.kind = S_ISREG(status.stx_mode)   ? FileStatus::Kind::kFile
                : S_ISDIR(status.stx_mode) ? FileStatus::Kind::kDirectory
                                           : FileStatus::Kind::kOther;
  result.device = makedev(status.stx_dev_major, status.stx_dev_minor);
  result.inode = status.stx_ino;
  result.size = status.stx_size;
  result.links = status.stx_nlink;
  result.mode = status.stx_mode;
  result.modified = time(status.stx_mtime);
  result.changed = time(status.stx_ctime);
  if ((status.stx_mask & STATX_BTIME) != 0) result.born = time(status.stx_btime);
  return result;
}

Status PosixFile::CheckOffsets(std::uint64_t offset, std::uint64_t size) const {
  if (MakeByteRange(offset, size, kMaxOffset)) return {};
  return FailErrno(EFBIG, described_ + ": byte " + std::to_string(offset));
}

Result<std::size_t> PosixFile::Read(std::uint64_t offset, std::span<std::uint8_t> to) {
  UNSHARD_RETURN_IF_ERROR(CheckOffsets(offset, to.size()));
  return ReadDescriptor(descriptor_.get(), offset, to, described_);
}

Status PosixFile::Write(std::uint64_t offset, ByteSpan bytes) {
  UNSHARD_RETURN_IF_ERROR(CheckOffsets(offset, bytes.size()));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t size = ::pwrite(descriptor_.get(), bytes.data() + done, bytes.size() - done,
                                  static_cast<off_t>(offset + done));
    if (size > 0) {
      done += static_cast<std::size_t>(size);
    } else if (size == 0) {
      return FailErrno(EIO, described_ + ": writing");
    } else if (errno != EINTR) {
      return FailErrno(errno, described_ + ": writing");
    }
  }
  return {};
}

// The kernel finds the end and writes there as one step (RWF_APPEND), also where others append.
Status PosixFile::Append(ByteSpan bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ByteSpan rest = bytes.subspan(done);
    const iovec piece{const_cast<std::uint8_t*>(rest.data()), rest.size()};
    const ssize_t size = ::pwritev2(descriptor_.get(), &piece, 1, 0, RWF_APPEND);
    if (size > 0) {
      done += static_cast<std::size_t>(size);
    } else if (size == 0) {
      return FailErrno(EIO, described_ + ": appending");
    } else if (errno != EINTR) {
      return FailErrno(errno, described_ + ": appending");
    }
  }
  return {};
}

Status PosixFile::CopyFrom(File& source, const ByteRange& range, std::uint64_t offset) {
  UNSHARD_ASSIGN_OR_RETURN(PosixFile * from, AsPosixFile(source, described_));
  UNSHARD_RETURN_IF_ERROR(CheckOffsets(offset, range.size));
  UNSHARD_RETURN_IF_ERROR(from->CheckOffsets(range.begin, range.size));
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t done, CopyByKernel(*from, range, offset));
  if (done == range.size) return {};
  return CopyByBuffer(*from, ByteRange{range.begin + done, range.size - done}, offset + done);
}

// How much the kernel has copied: less than asked for where it cannot, or where the source ends.
Result<std::uint64_t> PosixFile::CopyByKernel(const PosixFile& source, const ByteRange& range,
                                              std::uint64_t offset) {
  auto from = static_cast<off_t>(range.begin);
  auto to = static_cast<off_t>(offset);
  std::uint64_t left = range.size;
  while (left > 0) {
    const std::size_t step = std::min<std::uint64_t>(left, kMaxKernelStep);
    const ssize_t size =
        ::copy_file_range(source.descriptor_.get(), &from, descriptor_.get(), &to, step, 0);
    if (size > 0) {
      left -= static_cast<std::uint64_t>(size);
    } else if (size == 0 || KernelCannotCopy(errno)) {
      break;
    } else if (errno != EINTR) {
      return FailErrno(errno, source.described_ + ": copying to " + described_);
    }
  }
  return range.size - left;
}

Status PosixFile::CopyByBuffer(PosixFile& source, const ByteRange& range, std::uint64_t offset) {
  ByteVector buffer(std::min<std::uint64_t>(range.size, kCopyBuffer));
  for (std::uint64_t done = 0; done < range.size;) {
    const std::size_t wanted = std::min<std::uint64_t>(range.size - done, buffer.size());
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t size,
                             source.Read(range.begin + done, std::span(buffer).first(wanted)));
    if (size < wanted) {
      return Fail(ErrorCode::kDataLoss, source.described_, ": expected at least ", range.end(),
                  " bytes, found ", range.begin + done + size);
    }
    UNSHARD_RETURN_IF_ERROR(Write(offset + done, ByteSpan(buffer).first(wanted)));
    done += wanted;
  }
  return {};
}

Result<bool> PosixFile::CloneFrom(File& source) {
  UNSHARD_ASSIGN_OR_RETURN(const PosixFile* from, AsPosixFile(source, described_));
  while (::ioctl(descriptor_.get(), FICLONE, from->descriptor_.get()) != 0) {
    if (KernelCannotClone(errno)) return false;
    if (errno != EINTR) {
      return FailErrno(errno, from->described_ + ": cloning to " + described_);
    }
  }
  return true;
}

Status PosixFile::Truncate(std::uint64_t size) {
  UNSHARD_RETURN_IF_ERROR(CheckOffsets(size, 0));
  while (::ftruncate(descriptor_.get(), static_cast<off_t>(size)) != 0) {
    if (errno != EINTR) return FailErrno(errno, described_ + ": changing its length");
  }
  return {};
}

Status PosixFile::SetModified(const timespec& modified) {
  const timespec times[2] = {{0, UTIME_OMIT}, modified};
  if (::futimens(descriptor_.get(), times) == 0) return {};
  if (errno == EBADF && ::utimensat(AT_FDCWD, PathInProc().c_str(), times, 0) == 0) return {};
  return FailErrno(errno, described_ + ": changing its times");
}

std::string PosixFile::PathInProc() const {
  return "/proc/self/fd/" + std::to_string(descriptor_.get());
}

Status PosixFile::SetMode(std::uint32_t mode) {
  struct stat now {};
  mode &= 0777;
  if (::fstat(descriptor_.get(), &now) == 0 && S_ISDIR(now.st_mode)) mode |= now.st_mode & 07000;
  if (::fchmod(descriptor_.get(), mode) == 0) return {};
  if (errno == EBADF && ::chmod(PathInProc().c_str(), mode) == 0) return {};
  return FailErrno(errno, described_ + ": changing its permissions");
}

void PosixFile::DropPrivileges() {
  struct stat now {};
  if (::fstat(descriptor_.get(), &now) != 0 || !S_ISREG(now.st_mode)) return;
  // Only a program can have capabilities.
  if ((now.st_mode & 0111) != 0) ::fremovexattr(descriptor_.get(), "security.capability");
  if ((now.st_mode & (S_ISUID | S_ISGID)) != 0) static_cast<void>(SetMode(now.st_mode));
}

Status PosixFile::TakeAttributesOf(File& source) {
  UNSHARD_ASSIGN_OR_RETURN(const PosixFile* from, AsPosixFile(source, described_));
  struct stat theirs {};
  struct stat ours {};
  if (::fstat(from->descriptor_.get(), &theirs) != 0) {
    return FailErrno(errno, from->described_ + ": reading its attributes");
  }
  if (::fstat(descriptor_.get(), &ours) != 0) {
    return FailErrno(errno, described_ + ": reading its attributes");
  }
  // Only root may change the owner (chown). The owner may set a group that it is a member of.
  const bool given = (theirs.st_uid == ours.st_uid && theirs.st_gid == ours.st_gid) ||
                     ::fchown(descriptor_.get(), theirs.st_uid, theirs.st_gid) == 0;
  if (!given && theirs.st_gid != ours.st_gid) {
    [[maybe_unused]] const int group_given =
        ::fchown(descriptor_.get(), static_cast<uid_t>(-1), theirs.st_gid);
  }
  CopyExtendedAttributes(from->descriptor_.get(), descriptor_.get());
  // Some file systems have no modes and refuse each change.
  if ((theirs.st_mode & 0777) == (ours.st_mode & 0777)) return {};
  return SetMode(theirs.st_mode);
}

Status PosixFile::Sync() {
  // Only an interrupted call is repeated: after any other failure a success would be a lie.
  while (::fsync(descriptor_.get()) != 0) {
    if (errno != EINTR) return FailErrno(errno, described_ + ": syncing");
  }
  return {};
}

void PosixFile::StartSync() {
  // Without waiting, so that no error is reported to this call, and lost to fsync.
  static_cast<void>(::sync_file_range(descriptor_.get(), 0, 0, SYNC_FILE_RANGE_WRITE));
}

Result<FileStatus> PosixFile::Stat() {
  return StatDescriptor(descriptor_.get(), [this] { return described_; });
}

Result<bool> PosixFile::Lock(bool wait) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  while (::fcntl(descriptor_.get(), wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock) != 0) {
    if (!wait && (errno == EAGAIN || errno == EACCES)) return false;
    if (errno != EINTR) return FailErrno(errno, described_ + ": locking");
  }
  return true;
}

}  // namespace unshard
