#include "fs/kernel/operations.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "fs/kernel/device.h"
#include "fs/kernel/replies.h"
#include "fs/kernel/ring_queues.h"
#include "fs/kernel/write_operations.h"
#include "store/object/catch_exceptions.h"

namespace unshard {
namespace {

constexpr unsigned kLeastBackground = 64;

void Init(void* user_data, fuse_conn_info* connection) {
  auto& context = *static_cast<FuseContext*>(user_data);
  const auto want = [&](unsigned capability) {
    if ((connection->capable & capability) != 0) connection->want |= capability;
  };
  want(FUSE_CAP_SPLICE_WRITE);
  want(FUSE_CAP_SPLICE_MOVE);
  want(FUSE_CAP_PARALLEL_DIROPS);
  want(FUSE_CAP_READDIRPLUS);
  want(FUSE_CAP_READDIRPLUS_AUTO);
  // O_TRUNC begins a new version, and does not change the present one: it must come with OPEN.
  want(FUSE_CAP_ATOMIC_O_TRUNC);
  // The kernel is notified of changes, and need not drop pages at GETATTR.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_AUTO_INVAL_DATA);
  // The kernel holds back what it reads ahead beyond this, though threads may be idle.
  connection->max_background = std::max(kLeastBackground, context.threads);
  connection->congestion_threshold = connection->max_background * 3 / 4;
  const NeededOpens needed = context.fs->needed_opens();
  context.open_is_optional =
      !needed.of_files && (connection->capable & FUSE_CAP_NO_OPEN_SUPPORT) != 0;
  context.opendir_is_optional =
      !needed.of_directories && (connection->capable & FUSE_CAP_NO_OPENDIR_SUPPORT) != 0;
  context.parallel_directories = (connection->capable & FUSE_CAP_PARALLEL_DIROPS) != 0;
  context.handshake = Handshake::kReply;
  if (context.on_ready) context.on_ready();
}

void Lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  Guarded(request, Operation::kLookup, parent, name, [&](VolumeFs& fs) {
    const auto ticket = fs.BeginRequest();
    const auto entry = fs.Lookup(parent, name, ThreadOf(request));
    if (!entry) return ReplyError(request, "lookup", parent, name, entry.error());
    // Prefetches while the caller prepares its READ.
    if (entry->next_object) entry->next_object->Prefetch(entry->next_range);
    const fuse_entry_param reply = EntryOf(ContextOf(request), *entry);
    if (fuse_reply_entry(request, &reply) == -ENOENT && entry->node != 0) {
      fs.Forget(entry->node, 1);  // the caller was interrupted: the kernel did not take it
    }
  });
}

// FORGET has no answer that could fail: where memory runs out, the references stay counted.
void ForgetNode(VolumeFs& fs, fuse_ino_t node, std::uint64_t references) {
  const Status forgotten = CatchExceptions([&]() -> Status {
    fs.Forget(node, references);
    return {};
  });
  static_cast<void>(forgotten);
}

void Forget(fuse_req_t request, fuse_ino_t node, std::uint64_t references) {
  VolumeFs& fs = *ContextOf(request).fs;
  if (!fs.IsControl(node)) fs.counters().Count(Operation::kForget);
  ForgetNode(fs, node, references);
  fuse_reply_none(request);
}

void ForgetMulti(fuse_req_t request, std::size_t count, fuse_forget_data* forgets) {
  VolumeFs& fs = *ContextOf(request).fs;
  bool counts = false;
  for (std::size_t i = 0; i < count; ++i) {
    counts = counts || !fs.IsControl(forgets[i].ino);
    ForgetNode(fs, forgets[i].ino, forgets[i].nlookup);
  }
  if (counts) fs.counters().Count(Operation::kForget);
  fuse_reply_none(request);
}

void GetAttributes(fuse_req_t request, fuse_ino_t node, fuse_file_info*) {
  Guarded(request, Operation::kGetattr, node, [&](VolumeFs& fs) {
    const auto ticket = fs.BeginRequest();
    const auto entry = fs.GetAttributes(node);
    if (!entry) return ReplyError(request, "getattr", node, "", entry.error());
    const struct stat attributes = StatOf(ContextOf(request), entry->attributes);
    fuse_reply_attr(request, &attributes, AttributeSeconds(*entry));
  });
}

// Of read-only mounts.
void Open(fuse_req_t request, fuse_ino_t node, fuse_file_info* file) {
  Guarded(request, Operation::kOpen, node, [&](VolumeFs& fs) {
    if (ContextOf(request).open_is_optional) {
      fuse_reply_err(request, ENOSYS);
      return;
    }
    const auto pages = fs.Load(node);
    if (!pages) return ReplyError(request, "open", node, "", pages.error());
    file->keep_cache = *pages == PageUse::kKept;
    file->fh = 0;
    fuse_reply_open(request, file);
  });
}

void OpenDirectory(fuse_req_t request, fuse_ino_t node, fuse_file_info* file) {
  Guarded(request, Operation::kOpendir, node, [&](VolumeFs& fs) {
    if (ContextOf(request).opendir_is_optional) {
      fuse_reply_err(request, ENOSYS);
      return;
    }
    const ListingUse listing = fs.OpenDirectory(node);
    file->cache_readdir = listing != ListingUse::kNotKept;
    file->keep_cache = listing == ListingUse::kKept;
    fuse_reply_open(request, file);
  });
}

void ReportReadFailure(fuse_req_t request, fuse_ino_t node, int why) noexcept {
  try {
    const Error error = FailErrno(why, "reading the stored bytes").value();
    ContextOf(request).fs->Report("read", node, "", error);
  } catch (...) {
    // Without memory, or a lock, the read fails without a line in the log.
  }
}

// Without a copy in this process: spliced, or read into the memory that the reply is taken from.
void ReplySlice(fuse_req_t request, fuse_ino_t node, const FileSlice& slice) {
  const WatchedReply::Failed failed = [&](int why) { ReportReadFailure(request, node, why); };
  const WatchedReply watched(failed);
  RingEntry* const entry = RingQueues::Current();
  if (entry == nullptr) {
    fuse_bufvec buffer{};
    buffer.count = 1;
    buffer.buf[0].size = slice.range.size;
    buffer.buf[0].flags =
        static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK | FUSE_BUF_FD_RETRY);
    buffer.buf[0].fd = slice.descriptor;
    buffer.buf[0].pos = static_cast<off_t>(slice.range.begin);
    fuse_reply_data(request, &buffer, FUSE_BUF_SPLICE_MOVE);
    return;
  }
  const std::span<std::byte> room = entry->payload();
  const std::size_t size = std::min<std::uint64_t>(slice.range.size, room.size());
  std::size_t done = 0;
  while (done < size) {
    const ssize_t read = pread(slice.descriptor, room.data() + done, size - done,
                               static_cast<off_t>(slice.range.begin + done));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) {
      fuse_reply_err(request, errno);
      return;
    }
    if (read == 0) break;
    done += static_cast<std::size_t>(read);
  }
  fuse_reply_buf(request, reinterpret_cast<const char*>(room.data()), done);
}

void Read(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset,
          fuse_file_info* file) {
  Guarded(request, Operation::kRead, node, [&](VolumeFs& fs) {
    const auto from = static_cast<std::uint64_t>(offset);
    // Null on read-only mounts.
    auto* const opened = file != nullptr ? reinterpret_cast<OpenFile*>(file->fh) : nullptr;
    const auto piece = opened != nullptr ? opened->Read(from, size) : fs.Read(node, from, size);
    if (!piece && opened != nullptr) return ReplyError(request, "read", *opened, piece.error());
    if (!piece) return ReplyError(request, "read", node, "", piece.error());
    Counters& counters = fs.counters();
    if (const auto* bytes = std::get_if<Bytes>(&*piece)) {
      if (!fs.IsControl(node)) {
        counters.bytes_read.fetch_add(bytes->size(), std::memory_order_relaxed);
      }
      fuse_reply_buf(request, reinterpret_cast<const char*>(bytes->data()), bytes->size());
      return;
    }
    const auto& slice = std::get<FileSlice>(*piece);
    counters.bytes_read.fetch_add(slice.range.size, std::memory_order_relaxed);
    counters.bytes_spliced.fetch_add(slice.range.size, std::memory_order_relaxed);
    ReplySlice(request, node, slice);
  });
}

// One READDIR or READDIRPLUS: as many names as the kernel's buffer takes.
void ListDirectory(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset, bool plus) {
  const Operation operation = plus ? Operation::kReaddirplus : Operation::kReaddir;
  Guarded(request, operation, node, [&](VolumeFs& fs) {
    const auto ticket = fs.BeginRequest();
    const FuseContext& context = ContextOf(request);
    // Of the kernel's 128 KiB most listings touch one page.
    const auto buffer = std::make_unique_for_overwrite<char[]>(size);
    std::size_t used = 0;
    const auto visit = [&](const DirectoryName& listed) {
      const std::string name(listed.name);
      fuse_entry_param entry{};
      if (listed.entry) entry = EntryOf(context, *listed.entry);
      entry.attr.st_ino = listed.inode;
      if (!listed.entry) entry.attr.st_mode = listed.directory ? S_IFDIR : S_IFREG;
      const auto next = static_cast<off_t>(listed.next_cookie);
      const std::size_t free = size - used;
      const std::size_t needed = plus ? fuse_add_direntry_plus(request, buffer.get() + used, free,
                                                               name.c_str(), &entry, next)
                                      : fuse_add_direntry(request, buffer.get() + used, free,
                                                          name.c_str(), &entry.attr, next);
      if (needed > free) return false;
      used += needed;
      return true;
    };
    const auto listed = fs.ReadDirectory(node, static_cast<std::uint64_t>(offset), plus, visit);
    if (!listed && used == 0) {
      return ReplyError(request, "readdir", node, "", listed.error());
    }
    fuse_reply_buf(request, buffer.get(), used);
  });
}

void ReadDirectory(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset,
                   fuse_file_info*) {
  ListDirectory(request, node, size, offset, false);
}

void ReadDirectoryPlus(fuse_req_t request, fuse_ino_t node, std::size_t size, off_t offset,
                       fuse_file_info*) {
  ListDirectory(request, node, size, offset, true);
}

// The size of a remote source is not known. Programs divide by the size of a block, and do not
// write where nothing is free.
struct statvfs RemoteSpace(bool writable) {
  struct statvfs space {};
  space.f_bsize = space.f_frsize = 128 * 1024;
  if (writable) space.f_blocks = space.f_bfree = space.f_bavail = std::uint64_t{1} << 40;
  return space;
}

void StatFileSystem(fuse_req_t request, fuse_ino_t node) {
  Guarded(request, Operation::kStatfs, node, [&](VolumeFs& fs) {
    struct statvfs result {};
    if (ContextOf(request).is_remote) {
      result = RemoteSpace(fs.writable());
    } else if (fstatvfs(ContextOf(request).source.get(), &result) != 0) {
      fuse_reply_err(request, errno);
      return;
    }
    result.f_namemax = 255;
    fuse_reply_statfs(request, &result);
  });
}

void ReplyValue(fuse_req_t request, std::string_view value, std::size_t size) {
  if (size == 0) {
    fuse_reply_xattr(request, value.size());
  } else if (size < value.size()) {
    fuse_reply_err(request, ERANGE);
  } else {
    fuse_reply_buf(request, value.data(), value.size());
  }
}

void GetExtendedAttribute(fuse_req_t request, fuse_ino_t node, const char* name, std::size_t size) {
  Guarded(request, Operation::kGetxattr, node, [&](VolumeFs& fs) {
    // EOPNOTSUPP rather than ENODATA for all names but our own: ls and cp then ask once and not for
    // each file.
    if (std::strncmp(name, "user.", 5) != 0) {
      fuse_reply_err(request, EOPNOTSUPP);
      return;
    }
    const auto value = fs.GetExtendedAttribute(node, name);
    if (!value) return ReplyError(request, "getxattr", node, "", value.error());
    if (!*value) {
      fuse_reply_err(request, ENODATA);
      return;
    }
    ReplyValue(request, **value, size);
  });
}

void ListExtendedAttributes(fuse_req_t request, fuse_ino_t node, std::size_t size) {
  Guarded(request, Operation::kListxattr, node, [&](VolumeFs& fs) {
    std::string names;
    for (const std::string& name : fs.ListExtendedAttributes(node)) names += name + '\0';
    ReplyValue(request, names, size);
  });
}

}  // namespace

fuse_lowlevel_ops FuseOperations(bool writable) {
  fuse_lowlevel_ops ops{};
  ops.init = Init;
  ops.lookup = Lookup;
  ops.forget = Forget;
  ops.forget_multi = ForgetMulti;
  ops.getattr = GetAttributes;
  ops.open = Open;
  ops.opendir = OpenDirectory;
  ops.read = Read;
  ops.readdir = ReadDirectory;
  ops.readdirplus = ReadDirectoryPlus;
  ops.statfs = StatFileSystem;
  ops.getxattr = GetExtendedAttribute;
  ops.listxattr = ListExtendedAttributes;
  if (writable) AddWriteOperations(ops);
  return ops;
}

}  // namespace unshard
