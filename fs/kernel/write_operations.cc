#include "fs/kernel/write_operations.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "fs/kernel/device.h"
#include "fs/kernel/held_answers.h"
#include "fs/kernel/replies.h"
#include "store/object/error_number.h"
#include "store/object/time_now.h"

namespace unshard {
namespace {

OpenFile* FileOf(fuse_file_info* file) {
  return file == nullptr ? nullptr : reinterpret_cast<OpenFile*>(file->fh);
}

OpenRequest RequestOf(fuse_req_t request, int flags) {
  OpenRequest result;
  result.read = (flags & O_ACCMODE) != O_WRONLY;
  result.write = (flags & O_ACCMODE) != O_RDONLY;
  result.truncate = (flags & O_TRUNC) != 0;
  result.exclusive = (flags & O_EXCL) != 0;
  result.thread = ThreadOf(request);
  return result;
}

// Puts the open file into the reply: the kernel has it until RELEASE. Returns its backing file; 0:
// it has none.
std::uint32_t HandOver(fuse_req_t request, fuse_file_info* file, OpenFilePtr opened) {
  const std::shared_ptr<File> source = opened->source_file();
  file->keep_cache = opened->page_use() == PageUse::kKept;
  file->direct_io = opened->page_use() == PageUse::kDirect;
  file->noflush = !opened->writable();
  const NodeId node = opened->node();
  file->fh = reinterpret_cast<std::uint64_t>(opened.release());
  return source ? ContextOf(request).backing_files.Opened(node, source->descriptor()) : 0;
}

void Close(fuse_req_t request, fuse_file_info* file) {
  OpenFilePtr opened(FileOf(file));
  if (opened->source_file()) ContextOf(request).backing_files.Released(opened->node());
  VolumeFs::Release(std::move(opened));
}

void Answer(fuse_req_t request, std::string_view operation, NodeId node, std::string_view name,
            const Status& status) {
  if (!status) return ReplyError(request, operation, node, name, status.error());
  fuse_reply_err(request, 0);
}

// An answer of a request that the kernel holds the lock of a directory for.
void AnswerInDirectory(fuse_req_t request, std::string_view operation, NodeId node,
                       std::string_view name, const Status& status) {
  if (!status) return ReplyError(request, operation, node, name, status.error());
  AnswerWithRoom(request, Room::Cap::kTwice, [request] { fuse_reply_err(request, 0); });
}

void Answer(fuse_req_t request, std::string_view operation, const OpenFile& file,
            const Status& status) {
  if (!status) return ReplyError(request, operation, file, status.error());
  AnswerWithRoom(request, file, [request] { fuse_reply_err(request, 0); });
}

// Answers with a new reference to a node, and drops it where the kernel does not take the answer.
void AnswerEntry(fuse_req_t request, const Entry& entry) {
  const fuse_entry_param reply = EntryOf(ContextOf(request), entry);
  if (fuse_reply_entry(request, &reply) == -ENOENT && entry.node != 0) {
    ContextOf(request).fs->Forget(entry.node, 1);
  }
}

void OpenWritable(fuse_req_t request, fuse_ino_t node, fuse_file_info* file) {
  Guarded(request, Operation::kOpen, node, [&](VolumeFs& fs) {
    auto opened = fs.Open(node, RequestOf(request, file->flags));
    if (!opened) return ReplyError(request, "open", node, "", opened.error());
    const BackingOfReply backing(HandOver(request, file, *std::move(opened)));
    if (fuse_reply_open(request, file) == -ENOENT) Close(request, file);
  });
}

void Create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
            fuse_file_info* file) {
  Guarded(request, Operation::kCreate, parent, name, [&](VolumeFs& fs) {
    const auto ticket = fs.BeginRequest();
    OpenRequest wanted = RequestOf(request, file->flags);
    wanted.mode = mode;
    auto created = fs.Create(parent, name, wanted);
    if (!created) return ReplyError(request, "create", parent, name, created.error());
    const NodeId node = created->entry.node;
    const fuse_entry_param entry = EntryOf(ContextOf(request), created->entry);
    const BackingOfReply backing(HandOver(request, file, std::move(created->file)));
    if (fuse_reply_create(request, &entry, file) == -ENOENT) {
      Close(request, file);
      fs.Forget(node, 1);
    }
  });
}

void MakeNode(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t) {
  Guarded(request, Operation::kCreate, parent, name, [&](VolumeFs& fs) {
    if (!S_ISREG(mode)) {
      return ReplyError(request, "mknod", parent, name,
                        Error{ErrorCode::kNotSupported,
                              "special files cannot be created, only regular files", EPERM});
    }
    const auto ticket = fs.BeginRequest();
    const auto made = fs.MakeFile(parent, name, ThreadOf(request), mode);
    if (!made) return ReplyError(request, "mknod", parent, name, made.error());
    AnswerEntry(request, *made);
  });
}

void Write(fuse_req_t request, fuse_ino_t node, const char* bytes, std::size_t size, off_t offset,
           fuse_file_info* file) {
  Guarded(request, Operation::kWrite, node, [&](VolumeFs& fs) {
    const ByteSpan span(reinterpret_cast<const std::uint8_t*>(bytes), size);
    const bool append = (file->flags & O_APPEND) != 0 && !file->writepage;
    const auto at = append ? OpenFile::kAppend : static_cast<std::uint64_t>(offset);
    const Status written = fs.Write(*FileOf(file), at, span);
    if (!written) return ReplyError(request, "write", *FileOf(file), written.error());
    AnswerWithRoom(request, *FileOf(file), [request, size] { fuse_reply_write(request, size); });
  });
}

void Flush(fuse_req_t request, fuse_ino_t node, fuse_file_info* file) {
  Guarded(request, Operation::kFlush, node, [&](VolumeFs& fs) {
    OpenFile& opened = *FileOf(file);
    Answer(request, "close", opened, fs.Flush(opened, ThreadOf(request)));
  });
}

void Release(fuse_req_t request, fuse_ino_t node, fuse_file_info* file) {
  Guarded(request, Operation::kRelease, node, [&](VolumeFs&) {
    Close(request, file);
    fuse_reply_err(request, 0);
  });
}

void Sync(fuse_req_t request, fuse_ino_t node, int, fuse_file_info* file) {
  Guarded(request, Operation::kFsync, node, [&](VolumeFs& fs) {
    OpenFile& opened = *FileOf(file);
    Answer(request, "fsync", opened, fs.Sync(opened));
  });
}

void SyncDirectory(fuse_req_t request, fuse_ino_t node, int, fuse_file_info*) {
  Guarded(request, Operation::kFsync, node,
          [&](VolumeFs& fs) { Answer(request, "fsyncdir", node, "", fs.SyncDirectory(node)); });
}

void SetAttributes(fuse_req_t request, fuse_ino_t node, struct stat* attributes, int which,
                   fuse_file_info* file) {
  Guarded(request, Operation::kSetattr, node, [&](VolumeFs& fs) {
    const auto ticket = fs.BeginRequest();
    AttributeChange change;
    if ((which & FUSE_SET_ATTR_SIZE) != 0) {
      change.size = static_cast<std::uint64_t>(attributes->st_size);
    }
    if ((which & FUSE_SET_ATTR_MTIME_NOW) != 0) {
      change.modified = TimeNow();
    } else if ((which & FUSE_SET_ATTR_MTIME) != 0) {
      change.modified = attributes->st_mtim;
    }
    if ((which & FUSE_SET_ATTR_MODE) != 0) change.mode = attributes->st_mode;
    // The owner is that of the mount: setting it has no effect, and does not fail.
    OpenFile* const opened = FileOf(file);
    const auto entry = fs.SetAttributes(node, opened, change, ThreadOf(request));
    if (!entry && opened != nullptr) return ReplyError(request, "setattr", *opened, entry.error());
    if (!entry) return ReplyError(request, "setattr", node, "", entry.error());
    const struct stat now = StatOf(ContextOf(request), entry->attributes);
    const double seconds = AttributeSeconds(*entry);
    if (!change.size) return static_cast<void>(fuse_reply_attr(request, &now, seconds));
    // Others may change the file while the answer is held: then the kernel is not to keep it.
    const bool held = MustWait(request, Room::Cap::kOnce);
    AnswerWithRoom(request, Room::Cap::kOnce, [request, now, keep = held ? 0 : seconds] {
      fuse_reply_attr(request, &now, keep);
    });
  });
}

// access(2), where the kernel does not check modes by itself.
void Access(fuse_req_t request, fuse_ino_t node, int wanted) {
  Guarded(request, Operation::kAccess, node, [&](VolumeFs& fs) {
    const auto entry = fs.GetAttributes(node);
    if (!entry) return ReplyError(request, "access", node, "", entry.error());
    const mode_t mode = StatOf(ContextOf(request), entry->attributes).st_mode;
    // The superuser may read and write everything, but execute only what the modes allow.
    const bool superuser = fuse_req_ctx(request)->uid == 0;
    const mode_t allowed = (superuser ? R_OK | W_OK : 0) | ((mode & S_IRWXU) >> 6);
    const bool denied = (static_cast<mode_t>(wanted) & (R_OK | W_OK | X_OK) & ~allowed) != 0;
    fuse_reply_err(request, denied ? EACCES : 0);
  });
}

void Unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  Guarded(request, Operation::kUnlink, parent, name, [&](VolumeFs& fs) {
    const auto ticket = fs.BeginRequest();
    AnswerInDirectory(request, "unlink", parent, name, fs.Remove(parent, name));
  });
}

void Rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
            const char* new_name, unsigned flags) {
  Guarded(request, Operation::kRename, parent, name, [&](VolumeFs& fs) {
    const auto ticket = fs.BeginRequest();
    if ((flags & ~static_cast<unsigned>(RENAME_NOREPLACE)) != 0) {
      fuse_reply_err(request, EINVAL);
      return;
    }
    const bool replace = (flags & RENAME_NOREPLACE) == 0;
    AnswerInDirectory(request, "rename", parent, name,
                      fs.Rename(parent, name, new_parent, new_name, replace));
  });
}

void Link(fuse_req_t request, fuse_ino_t node, fuse_ino_t new_parent, const char* new_name) {
  Guarded(request, Operation::kLink, node, [&](VolumeFs& fs) {
    const auto ticket = fs.BeginRequest();
    const auto entry = fs.Link(node, new_parent, new_name);
    if (!entry) return ReplyError(request, "link", new_parent, new_name, entry.error());
    AnswerEntry(request, *entry);
  });
}

void MakeDirectory(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  Guarded(request, Operation::kMkdir, parent, name, [&](VolumeFs& fs) {
    const auto ticket = fs.BeginRequest();
    const auto entry = fs.MakeDirectory(parent, name, mode);
    if (!entry) return ReplyError(request, "mkdir", parent, name, entry.error());
    AnswerEntry(request, *entry);
  });
}

void RemoveDirectory(fuse_req_t request, fuse_ino_t parent, const char* name) {
  Guarded(request, Operation::kRmdir, parent, name, [&](VolumeFs& fs) {
    const auto ticket = fs.BeginRequest();
    Answer(request, "rmdir", parent, name, fs.RemoveDirectory(parent, name, ThreadOf(request)));
  });
}

// "user.unshard.flush" on .unshard publishes everything and answers when it is done. Setting our
// other attributes has no effect and does not fail, for programs that copy files with all
// attributes; others are not supported.
void SetExtendedAttribute(fuse_req_t request, fuse_ino_t node, const char* name, const char*,
                          std::size_t, int) {
  Guarded(request, Operation::kSetattr, node, [&](VolumeFs& fs) {
    if (std::strcmp(name, "user.unshard.flush") == 0 && fs.IsControl(node)) {
      // However long it takes, as long as the caller waits.
      const auto stop = [interrupted = InterruptibleDeadline().stop] { return interrupted; };
      const ServedCaller patient(std::chrono::steady_clock::time_point::max(), stop, stop);
      Status flushed = fs.FlushAll();
      // At ESTALE the kernel would repeat the request, which then has nothing to publish and
      // succeeds.
      if (!flushed && ErrnoOf(flushed.error()) == ESTALE) {
        flushed.error().code = ErrorCode::kUnavailable;
      }
      return Answer(request, "flush", node, "", flushed);
    }
    const bool ours = std::strncmp(name, "user.unshard.", 13) == 0;
    fuse_reply_err(request, ours ? 0 : EOPNOTSUPP);
  });
}

void RemoveExtendedAttribute(fuse_req_t request, fuse_ino_t node, const char*) {
  Guarded(request, Operation::kSetattr, node,
          [&](VolumeFs&) { fuse_reply_err(request, EOPNOTSUPP); });
}

}  // namespace

void AddWriteOperations(fuse_lowlevel_ops& operations) {
  operations.open = OpenWritable;
  operations.create = Create;
  operations.mknod = MakeNode;
  operations.write = Write;
  operations.flush = Flush;
  operations.release = Release;
  operations.fsync = Sync;
  operations.fsyncdir = SyncDirectory;
  operations.setattr = SetAttributes;
  operations.access = Access;
  operations.unlink = Unlink;
  operations.rename = Rename;
  operations.link = Link;
  operations.mkdir = MakeDirectory;
  operations.rmdir = RemoveDirectory;
  operations.setxattr = SetExtendedAttribute;
  operations.removexattr = RemoveExtendedAttribute;
}

}  // namespace unshard
