#include "store/files/object_files.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "store/files/files_over_store.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/object/store_contact.h"
#include "store/object/time_now.h"

namespace unshard {
namespace {

// Read together with opening a file: most have no more.
constexpr std::uint64_t kFirstBytes = std::uint64_t{1} << 20;
// Numbers of files that were created through this mount; those of others are made of their keys.
constexpr std::uint64_t kCreated = std::uint64_t{1} << 63;

std::uint64_t NumberOfKey(const std::string& key) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return hash & ~kCreated;
}

std::int64_t BytesOf(const WaitingPtr& file) {
  return file ? static_cast<std::int64_t>(file->chunk.size) : 0;
}

FileStatus DirectoryStatus(const std::string& path, const timespec& modified) {
  FileStatus status;
  status.kind = FileStatus::Kind::kDirectory;
  status.device = 1;
  status.inode = NumberOfKey(path + '/');
  status.links = 1;
  status.mode = 0755;
  status.modified = status.changed = modified;
  return status;
}

FileStatus FileStatusOf(std::uint64_t number, std::uint64_t size, const timespec& modified) {
  FileStatus status;
  status.device = 1;
  status.inode = number;
  status.size = size;
  status.links = 1;
  status.mode = 0644;
  status.modified = status.changed = modified;
  return status;
}

// What the store has as long as the version that waits is not put.
ChunkFingerprint InStoreBelow(const FileState& state) {
  return state.also_stored.value_or(state.waiting->chunk.terms.base);
}

bool MayBeThere(const ChunkFingerprint& stored) { return !stored.absent || stored.unknown; }

std::string Joined(const std::string& described, const char* why) { return described + ": " + why; }

}  // namespace

// An open file description. The last one of an inode gives it back to the table.
class ObjectFiles::OpenObject final : public File {
 public:
  // `inode` counts this one already.
  OpenObject(std::shared_ptr<ObjectFiles> files, InodePtr inode)
      : files_(std::move(files)), inode_(std::move(inode)) {}
  ~OpenObject() override { files_->Release(inode_); }
  OpenObject(const OpenObject&) = delete;
  OpenObject& operator=(const OpenObject&) = delete;

  [[nodiscard]] const InodePtr& inode() const { return inode_; }

  Result<std::size_t> Read(std::uint64_t offset, std::span<std::uint8_t> to) override {
    return inode_->Read(offset, to);
  }
  Status Write(std::uint64_t offset, ByteSpan bytes) override {
    return inode_->Write(offset, bytes);
  }
  Status Append(ByteSpan bytes) override { return inode_->Append(bytes); }
  Status CopyFrom(File& source, const ByteRange& range, std::uint64_t offset) override {
    const auto copied = ReadWithChecksum(source, range, 0, [&](std::uint64_t at, ByteSpan piece) {
      return inode_->Write(offset + at, piece);
    });
    if (!copied) return tl::unexpected<Error>(copied.error());
    return {};
  }
  Result<bool> CloneFrom(File&) override { return false; }
  Status Truncate(std::uint64_t size) override { return inode_->Truncate(size); }
  Status SetModified(const timespec& modified) override {
    inode_->SetModified(modified);
    return {};
  }
  Status SetMode(std::uint32_t) override { return {}; }
  Status TakeAttributesOf(File&) override { return {}; }
  Status Flush() override { return files_->Commit(inode_); }
  Status Sync() override { return files_->Sync(inode_); }
  Result<FileStatus> Stat() override { return inode_->Stat(); }
  Result<bool> Lock(bool) override {
    return Fail(ErrorCode::kNotSupported, inode_->key(), ": object stores have no locks");
  }
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  const std::shared_ptr<ObjectFiles> files_;
  const InodePtr inode_;
};

ObjectFiles::ObjectFiles(std::shared_ptr<ObjectStore> store,
                         std::shared_ptr<ObjectReplacer> replacer, std::chrono::milliseconds ttl)
    : store_(std::move(store)),
      replacer_(std::move(replacer)),
      table_(std::make_shared<FileTable>()),
      over_(std::make_shared<FilesOverStore>(store_, table_)),
      recent_(ttl) {}

void ObjectFiles::Start(Committing committing) { committing_ = std::move(committing); }

Result<std::shared_ptr<File>> ObjectFiles::Open(const std::string& path, const OpenFlags& flags) {
  if (flags.write) UNSHARD_RETURN_IF_ERROR(replacer_->CanReplace(path));
  const bool empties = flags.write && flags.truncate;
  UNSHARD_ASSIGN_OR_RETURN(OpenPtr file,
                           OpenExisting(path, empties ? Wanted::kName : Wanted::kBytes));
  if (file && flags.create && flags.exclusive) {
    return FailErrno(EEXIST, Describe(path));
  }
  if (!file && !flags.create) return std::shared_ptr<File>();
  if (!file) file = Create(path);
  if (empties) UNSHARD_RETURN_IF_ERROR(file->Truncate(0));
  // A file that may be there is emptied, although there is nothing to cut off.
  if (empties && file->inode()->in_store().print.unknown) file->inode()->MarkDirty();
  return std::shared_ptr<File>(std::move(file));
}

ObjectFiles::OpenPtr ObjectFiles::Create(const std::string& path) {
  for (;;) {
    const FileState before = table_->Find(path);
    if (OpenPtr entered = Enter(path, NewInode(path, before), before)) return entered;
  }
}

ObjectFiles::InodePtr ObjectFiles::NewInode(const std::string& path, const FileState& before) {
  // An object that waits to be removed is replaced instead.
  ObjectInode::InStore in_store;
  if (before.waiting) in_store.print = InStoreBelow(before);
  auto inode = std::make_shared<ObjectInode>(committing_.spool, kCreated | ++last_inode_, path,
                                             ObjectInode::Base{}, TimeNow(), in_store);
  inode->MarkDirty();
  return inode;
}

Result<ObjectFiles::OpenPtr> ObjectFiles::OpenExisting(const std::string& path, Wanted wanted) {
  for (;;) {
    const FileState state = table_->Find(path);
    if (state.is_removed()) return OpenPtr();
    InodePtr inode;
    if (state.inode && (state.inode->dirty() || state.waiting)) {
      inode = state.inode;
    } else if (state.waiting) {
      UNSHARD_ASSIGN_OR_RETURN(inode, InodeOfWaiting(path, state));
    } else {
      UNSHARD_ASSIGN_OR_RETURN(inode, InodeOfStored(path, wanted, state));
      if (!inode) return OpenPtr();
    }
    if (!inode) continue;  // it was put meanwhile
    if (OpenPtr entered = Enter(path, inode, state)) return entered;
  }
}

// Null where the file has left the spool meanwhile.
Result<ObjectFiles::InodePtr> ObjectFiles::InodeOfWaiting(const std::string& path,
                                                          const FileState& state) {
  auto version = OpenWaiting(*state.waiting);
  if (!version && version.error().code == ErrorCode::kNotFound) return InodePtr();
  UNSHARD_RETURN_IF_ERROR(version);
  const auto& remembered = state.remembered;
  return std::make_shared<ObjectInode>(
      committing_.spool, remembered ? remembered->inode : NumberOfKey(path), path,
      ObjectInode::Base{*std::move(version), {}},
      remembered ? remembered->modified : state.waiting->chunk.committed,
      ObjectInode::InStore{std::nullopt, InStoreBelow(state)});
}

// Null where the store has no such file.
Result<ObjectFiles::InodePtr> ObjectFiles::InodeOfStored(const std::string& path, Wanted wanted,
                                                         const FileState& state) {
  const auto first = RangeRequest::At(0, wanted == Wanted::kBytes ? kFirstBytes : 0);
  auto found = store_->Open(path, first, CallerDeadline());
  if (!found && wanted == Wanted::kName && MeansAway(found.error())) {
    return std::make_shared<ObjectInode>(
        committing_.spool, NumberOfKey(path), path, ObjectInode::Base{}, TimeNow(),
        ObjectInode::InStore{std::nullopt, ChunkFingerprint::Unknown()});
  }
  if (!found && found.error().code == ErrorCode::kDataLoss) {
    UNSHARD_ASSIGN_OR_RETURN(const auto there, Stored(path));
    if (there && there->kind == ObjectInfo::Kind::kDirectory) return InodePtr();
  }
  UNSHARD_ASSIGN_OR_RETURN(ObjectStore::Opened opened, std::move(found));
  if (!opened.version) return InodePtr();
  const ObjectInfo& info = opened.version->info();
  const auto& remembered = state.remembered;
  const bool known = remembered && remembered->generation == info.generation;
  return std::make_shared<ObjectInode>(committing_.spool,
                                       known ? remembered->inode : NumberOfKey(path), path,
                                       ObjectInode::Base{opened.version, std::move(opened.first)},
                                       known ? remembered->modified : info.modified,
                                       ObjectInode::InStore{info.generation, StoredPrint(info)});
}

ObjectFiles::OpenPtr ObjectFiles::Enter(const std::string& path, const InodePtr& made,
                                        const FileState& known) {
  InodePtr entered;
  table_->Update(path, [&](FileState& state) {
    const InodePtr& there = state.inode;
    const bool is_current = state.waiting == known.waiting && !made->unlinked();
    if (!is_current && there != made) return;
    // The inode that is open stays the file if it is written to, or has the same version. Else it
    // is an older version of the store, and stays only with those who have it open.
    const bool same = there && (there->dirty() || state.waiting ||
                                (made->in_store().generation &&
                                 there->in_store().generation == made->in_store().generation));
    entered = same ? there : made;
    ++entered->opens;
    state.inode = entered;
  });
  if (!entered) return nullptr;
  return std::make_shared<OpenObject>(shared_from_this(), std::move(entered));
}

void ObjectFiles::Release(const InodePtr& inode) {
  bool last = false;
  table_->Update(inode->key(), [&](FileState&) { last = --inode->opens == 0; });
  if (!last) return;
  // Written after the last close, as through a mapping: no program waits for the answer.
  if (inode->dirty()) {
    if (const Status committed = Commit(inode); !committed) {
      LogError(Describe(inode->key()) + ": what was written is lost: " + committed.error().message);
    }
  }
  const FileStatus status = inode->Stat();
  table_->Update(inode->key(), [&](FileState& state) {
    if (inode->opens > 0 || state.inode != inode) return;
    state.inode.reset();
    if (inode->changed() || state.waiting) {
      auto generation = state.waiting ? std::nullopt : inode->in_store().generation;
      state.remembered = {std::move(generation), status.inode, status.modified};
    }
  });
}

Result<std::optional<ObjectInfo>> ObjectFiles::Stored(const std::string& path) const {
  return store_->Stat(path, CallerDeadline());
}

Result<ObjectFiles::InStorePrint> ObjectFiles::StoredOrUnknown(const std::string& path) const {
  const auto in_store = Stored(path);
  if (!in_store && MeansAway(in_store.error())) return InStorePrint{ChunkFingerprint::Unknown()};
  UNSHARD_RETURN_IF_ERROR(in_store);
  const bool directory = *in_store && (*in_store)->kind == ObjectInfo::Kind::kDirectory;
  return InStorePrint{directory ? ChunkFingerprint() : StoredPrint(*in_store), directory};
}

Result<std::optional<FileStatus>> ObjectFiles::Stat(const std::string& path) {
  const FileState state = table_->Find(path);
  if (state.inode && (state.inode->dirty() || state.waiting)) return state.inode->Stat();
  if (state.waiting && !state.waiting->removed()) {
    const ObjectInfo info = InfoOf(*state.waiting, state.remembered);
    const std::uint64_t number = state.remembered ? state.remembered->inode : NumberOfKey(path);
    return FileStatusOf(number, info.size, info.modified);
  }
  if (table_->IsMade(path)) return DirectoryStatus(path, table_->begun());
  if (!path.empty() && table_->IsHidden(path)) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const auto info, recent_.Stat(*store_, path, CallerDeadline()));
  if (info && info->kind == ObjectInfo::Kind::kDirectory) {
    return DirectoryStatus(path, info->modified);
  }
  if (!info || state.is_removed()) {
    if (table_->HasFileBelow(path)) return DirectoryStatus(path, table_->begun());
    return std::nullopt;
  }
  if (state.inode && state.inode->in_store().generation == info->generation) {
    return state.inode->Stat();
  }
  const auto& remembered = state.remembered;
  const bool known = remembered && remembered->generation == info->generation;
  return FileStatusOf(known ? remembered->inode : NumberOfKey(path), info->size,
                      known ? remembered->modified : info->modified);
}

Status ObjectFiles::Commit(const InodePtr& inode) {
  bool sealed = false;
  const auto seal = [&](StagedFile& staged) -> Status {
    const std::lock_guard lock(names_mutex_);
    const std::string path = inode->key();
    if (inode->unlinked()) return {};
    UNSHARD_RETURN_IF_ERROR(SealLocked(path, &staged, inode->in_store().print));
    // Another version of the store may have been opened since; this one is the later.
    table_->Update(path, [&](FileState& state) { state.inode = inode; });
    sealed = true;
    return {};
  };
  UNSHARD_RETURN_IF_ERROR(inode->CommitWith(seal));
  if (sealed) Changed(inode->key());
  return {};
}

Status ObjectFiles::Sync(const InodePtr& inode) {
  UNSHARD_RETURN_IF_ERROR(Commit(inode));
  const FileState state = table_->Find(inode->key());
  if (state.inode != inode) return {};
  return SyncWaiting(state.waiting, state.queued);
}

Status ObjectFiles::SyncWaiting(const WaitingPtr& waiting, std::uint64_t number) const {
  if (!waiting) return {};
  if (committing_.flush) return committing_.flush(number);
  return waiting->spool->Sync({waiting->chunk});
}

Result<WaitingPtr> ObjectFiles::SealLocked(const std::string& path, StagedFile* staged,
                                           const ChunkFingerprint& stored) {
  const FileState before = table_->Find(path);
  SealTerms terms;
  terms.base = stored;
  terms.whole_file = true;
  // The version before may be put from now on until this one takes its place.
  const WaitingPtr& earlier = before.publishing ? before.publishing : before.waiting;
  if (earlier) terms.other_base = ContentPrint(*earlier);
  auto file = std::make_shared<WaitingFile>();
  file->spool = committing_.spool;
  UNSHARD_ASSIGN_OR_RETURN(
      file->chunk, committing_.spool->Seal(staged, ParentPath(path), BaseName(path), terms));
  const WaitingPtr waiting = file;
  WaitingPtr superseded;
  table_->Update(path, [&](FileState& state) {
    superseded = std::exchange(state.waiting, waiting);
    // Whoever publishes it discards it.
    if (superseded == state.publishing) superseded = nullptr;
    if (state.remembered) state.remembered->generation.reset();
  });
  const std::uint64_t number = table_->QueueNumber(path);
  if (superseded) {
    if (const Status gone = superseded->spool->Discard(superseded->chunk); !gone) {
      LogWarning(gone.error().message);
    }
  }
  committing_.add_dirty(number, superseded ? 0 : 1, BytesOf(waiting) - BytesOf(superseded));
  return waiting;
}

Status ObjectFiles::Rename(const std::string& from, const std::string& to) {
  if (from == to) return {};
  UNSHARD_ASSIGN_OR_RETURN(const OpenPtr file, OpenExisting(from, Wanted::kBytes));
  if (file) return Move(file, from, to);
  UNSHARD_ASSIGN_OR_RETURN(const auto directory, Stat(from));
  if (!directory) return FailErrno(ENOENT, Describe(from));
  return FailWith(EXDEV, ErrorCode::kNotSupported,
                  Joined(Describe(from), "object stores cannot rename directories; copy it"));
}

Status ObjectFiles::Move(const OpenPtr& file, const std::string& from, const std::string& to) {
  const InodePtr& inode = file->inode();
  UNSHARD_RETURN_IF_ERROR(replacer_->CanReplace(from));
  UNSHARD_RETURN_IF_ERROR(replacer_->CanReplace(to));
  UNSHARD_ASSIGN_OR_RETURN(const InStorePrint in_store, StoredOrUnknown(to));
  if (in_store.directory || table_->IsMade(to)) return FailErrno(EISDIR, Describe(to));
  const ChunkFingerprint& replaced = in_store.print;
  const ChunkFingerprint left = inode->in_store().print;
  UNSHARD_RETURN_IF_ERROR(inode->StageAll());
  inode->MarkDirty();
  const auto seal = [&](StagedFile& staged) -> Status {
    WaitingPtr copy, before;
    {
      const std::lock_guard lock(names_mutex_);
      if (inode->unlinked() || inode->key() != from) return FailErrno(ENOENT, Describe(from));
      UNSHARD_ASSIGN_OR_RETURN(copy, SealLocked(to, &staged, replaced));
      TakeNameLocked(to, inode);
      inode->SetKey(to);
      inode->SetInStore({std::nullopt, replaced});
      table_->Update(from, [&](FileState& state) {
        state.inode.reset();
        before = state.waiting;
      });
      if (!MayBeThere(left)) return RemoveLocked(from, left);
    }
    // The old name goes only once the new one survives a power loss. Other files do not wait.
    UNSHARD_RETURN_IF_ERROR(copy->spool->Sync({copy->chunk}));
    const std::lock_guard lock(names_mutex_);
    const FileState now = table_->Find(from);
    // Another program has written a file under the old name meanwhile.
    if (now.waiting != before || (now.inode && now.inode->dirty())) return {};
    return RemoveLocked(from, left);
  };
  UNSHARD_RETURN_IF_ERROR(inode->CommitWith(seal));
  Changed(from);
  Changed(to);
  return {};
}

void ObjectFiles::TakeNameLocked(const std::string& path, const InodePtr& inode) {
  InodePtr loser;
  table_->Update(path, [&](FileState& state) { loser = std::exchange(state.inode, inode); });
  if (loser) loser->Unlink();
}

// The file gets its name once it is whole.
Status ObjectFiles::Replace(const std::string& path, ByteSpan bytes) {
  UNSHARD_RETURN_IF_ERROR(replacer_->CanReplace(path));
  UNSHARD_ASSIGN_OR_RETURN(const InStorePrint in_store, StoredOrUnknown(path));
  const auto inode = std::make_shared<ObjectInode>(
      committing_.spool, kCreated | ++last_inode_, path, ObjectInode::Base{}, TimeNow(),
      ObjectInode::InStore{std::nullopt, in_store.print});
  inode->opens = 1;
  const auto file = std::make_shared<OpenObject>(shared_from_this(), inode);
  UNSHARD_RETURN_IF_ERROR(inode->Write(0, bytes));
  const auto seal = [&](StagedFile& staged) -> Status {
    const std::lock_guard lock(names_mutex_);
    UNSHARD_RETURN_IF_ERROR(SealLocked(path, &staged, in_store.print));
    TakeNameLocked(path, inode);
    return {};
  };
  if (const Status sealed = inode->CommitWith(seal); !sealed) {
    inode->Unlink();
    return sealed;
  }
  Changed(path);
  return Sync(inode);
}

// The copy gets its name once it is whole.
Status ObjectFiles::Link(const std::string& from, const std::string& to) {
  UNSHARD_RETURN_IF_ERROR(replacer_->CanReplace(to));
  UNSHARD_ASSIGN_OR_RETURN(const OpenPtr source, OpenExisting(from, Wanted::kBytes));
  if (!source) return FailErrno(ENOENT, Describe(from));
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, source->Stat());
  if ((status.inode & kCreated) == 0) {
    return FailWith(EPERM, ErrorCode::kNotSupported,
                    Joined(Describe(from), "object stores have no links; copy it"));
  }
  const FileState before = table_->Find(to);
  UNSHARD_ASSIGN_OR_RETURN(const OpenPtr file, OpenExisting(to, Wanted::kBytes));
  UNSHARD_ASSIGN_OR_RETURN(const auto directory, Stat(to));
  if (file || directory) return FailErrno(EEXIST, Describe(to));
  const InodePtr copy = NewInode(to, before);
  const auto write = [&](std::uint64_t at, ByteSpan piece) { return copy->Write(at, piece); };
  UNSHARD_RETURN_IF_ERROR(ReadWithChecksum(*source, {0, status.size}, 0, write));
  copy->SetModified(status.modified);
  const OpenPtr entered = Enter(to, copy, before);
  if (!entered || entered->inode() != copy) return FailErrno(EEXIST, Describe(to));
  const Status committed = Commit(copy);
  if (!committed) copy->Unlink();
  return committed;
}

Result<bool> ObjectFiles::Remove(const std::string& path) {
  const FileState state = table_->Find(path);
  const bool own = state.is_own();
  if (!own && table_->IsMade(path)) return RemoveDirectory(path);
  auto found = StoredOrUnknown(path);
  // Of what is not ours it has to be known whether it can be removed.
  if (found && found->print.unknown && !own) {
    return FailWith(
        EIO, ErrorCode::kUnavailable,
        Joined(Describe(path), "the store is unreachable: it is not known whether this exists"));
  }
  UNSHARD_ASSIGN_OR_RETURN(const InStorePrint in_store, std::move(found));
  if (!own && in_store.directory) {
    if (table_->IsHidden(path)) return false;
    return RemoveDirectory(path);
  }
  if (!own && (in_store.print.absent || state.is_removed())) return false;
  UNSHARD_RETURN_IF_ERROR(replacer_->CanReplace(path));
  // What is open can still be read once the object is gone.
  if (state.inode && !own) UNSHARD_RETURN_IF_ERROR(state.inode->StageAll());
  const std::lock_guard lock(names_mutex_);
  UNSHARD_RETURN_IF_ERROR(RemoveLocked(path, in_store.print));
  Changed(path);
  return true;
}

// What has never reached the store goes from the spool alone.
Status ObjectFiles::RemoveLocked(const std::string& path, const ChunkFingerprint& stored) {
  const FileState state = table_->Find(path);
  const bool was_put = state.publishing || (state.waiting && state.waiting->chunk.terms.other_base);
  if (MayBeThere(stored) || was_put) UNSHARD_RETURN_IF_ERROR(SealLocked(path, nullptr, stored));
  WaitingPtr dropped;
  table_->Update(path, [&](FileState& at) {
    if (at.inode) at.inode->Unlink();
    at.inode.reset();
    at.remembered.reset();
    if (at.waiting && !at.waiting->removed()) dropped = std::exchange(at.waiting, nullptr);
  });
  if (!dropped) return {};
  committing_.add_dirty(state.queued, -1, -static_cast<std::int64_t>(dropped->chunk.size));
  return dropped->spool->Discard(dropped->chunk);
}

Result<bool> ObjectFiles::RemoveDirectory(const std::string& path) {
  bool empty = true;
  UNSHARD_RETURN_IF_ERROR(over_->List(path, CallerDeadline(), [&](const ListEntry&) {
    empty = false;
    return false;
  }));
  if (!empty) return FailErrno(ENOTEMPTY, Describe(path));
  table_->RemoveDirectory(path);
  Changed(path);
  return true;
}

Result<bool> ObjectFiles::MakeDirectory(const std::string& path, std::uint32_t) {
  UNSHARD_ASSIGN_OR_RETURN(const auto status, Stat(path));
  if (status) return false;
  table_->MakeDirectory(path);
  Changed(path);
  return true;
}

Status ObjectFiles::SyncDirectory(const std::string& path) {
  for (const auto& [number, waiting] : table_->WaitingIn(path)) {
    UNSHARD_RETURN_IF_ERROR(SyncWaiting(waiting, number));
  }
  return {};
}

Status ObjectFiles::List(const std::string& path,
                         const std::function<bool(std::string_view name)>& visitor) {
  return over_->List(path, CallerDeadline(),
                     [&](const ListEntry& entry) { return visitor(entry.name); });
}

Result<std::uint64_t> ObjectFiles::FreeBytes() {
  const std::uint64_t most = committing_.spool->max_bytes();
  return most - std::min(most, committing_.spool->usage().bytes);
}

std::string ObjectFiles::Describe(const std::string& path) const { return store_->Describe(path); }

void ObjectFiles::Adopt(const WaitingPtr& file) {
  const std::string path = KeyOf(file->chunk);
  WaitingPtr superseded;
  table_->Update(path, [&](FileState& state) { superseded = std::exchange(state.waiting, file); });
  if (superseded) {
    if (const Status gone = superseded->spool->Discard(superseded->chunk); !gone) {
      LogWarning(gone.error().message);
    }
  }
  committing_.add_dirty(table_->QueueNumber(path), superseded ? 0 : 1,
                        BytesOf(file) - BytesOf(superseded));
  Changed(path);
}

void ObjectFiles::Changed(const std::string& path) const {
  if (committing_.changed) committing_.changed(path);
}

}  // namespace unshard
