#include "fs/kernel/replies.h"

#include <cerrno>

#include "fs/common/request_failures.h"
#include "store/object/catch_exceptions.h"
#include "store/object/error_number.h"

namespace unshard {
namespace {

constexpr blksize_t kBlockSize = 128 * 1024;

double Seconds(std::uint64_t milliseconds) { return static_cast<double>(milliseconds) / 1000; }

// Not where the kernel is to look a name up again, and not ENOTEMPTY: programs repeat rmdir(2)
// until the directory is empty.
bool IsFailure(const Error& error) { return !error.message.empty() && ErrnoOf(error) != ENOTEMPTY; }

}  // namespace

FuseContext& ContextOf(fuse_req_t request) {
  return *static_cast<FuseContext*>(fuse_req_userdata(request));
}

struct stat StatOf(const FuseContext& context, const Attributes& attributes) {
  struct stat result {};
  const MountOptions& options = context.fs->options();
  const bool writable = context.fs->writable() && !attributes.control;
  const mode_t kind = attributes.directory ? S_IFDIR : S_IFREG;
  result.st_ino = attributes.inode;
  const mode_t presented = PresentedMode(options, attributes.directory, writable);
  result.st_mode = kind | (HasMasks(options) ? presented : attributes.mode.value_or(presented));
  result.st_nlink = attributes.links;
  result.st_uid = context.user;
  result.st_gid = context.group;
  result.st_size = static_cast<off_t>(attributes.size);
  result.st_blocks = static_cast<blkcnt_t>((attributes.size + 511) / 512);
  result.st_blksize = kBlockSize;
  result.st_mtim = result.st_ctim = result.st_atim = attributes.modified;
  return result;
}

double AttributeSeconds(const Entry& entry) {
  return Seconds(entry.attributes_milliseconds.value_or(entry.timeout_milliseconds));
}

fuse_entry_param EntryOf(const FuseContext& context, const Entry& entry) {
  fuse_entry_param result{};
  result.ino = entry.node;
  result.generation = entry.generation;
  result.entry_timeout = Seconds(entry.timeout_milliseconds);
  result.attr_timeout = AttributeSeconds(entry);
  if (entry.node != 0) result.attr = StatOf(context, entry.attributes);
  return result;
}

pid_t ThreadOf(fuse_req_t request) { return fuse_req_ctx(request)->pid; }

void ReplyError(fuse_req_t request, std::string_view operation, NodeId node, std::string_view name,
                const Error& error) {
  if (IsFailure(error)) ContextOf(request).fs->Report(operation, node, name, error);
  fuse_reply_err(request, ErrnoOf(error));
}

void ReplyException(fuse_req_t request, std::string_view operation, NodeId node,
                    std::string_view name) noexcept {
  int system_errno = ENOMEM;
  try {
    const Status ended = CatchExceptions([]() -> Status { throw; });
    system_errno = ErrnoOf(ended.error());
    ContextOf(request).fs->Report(operation, node, name, ended.error());
  } catch (...) {
    // It is answered without a line in the log.
  }
  fuse_reply_err(request, system_errno);
}

void ReplyError(fuse_req_t request, std::string_view operation, const OpenFile& file,
                const Error& error) {
  Superblock& superblock = ContextOf(request).fs->superblock();
  if (IsFailure(error)) superblock.Report(operation, superblock.PathOf(file), error);
  fuse_reply_err(request, ErrnoOf(error));
}

}  // namespace unshard
