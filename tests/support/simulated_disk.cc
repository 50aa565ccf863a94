#include "tests/support/simulated_disk.h"

#include <algorithm>
#include <cerrno>

#include "store/object/object_store.h"
#include "tests/support/simulated_disk_state.h"

namespace unshard {
namespace {

using State = SimulatedDisk::State;

class SimulatedFile final : public File {
 public:
  SimulatedFile(std::shared_ptr<State> state, std::uint64_t node, bool writable, std::string path)
      : state_(std::move(state)), node_(node), writable_(writable), path_(std::move(path)) {}
  ~SimulatedFile() override {
    const std::lock_guard lock(state_->mutex);
    DiskNode& node = state_->nodes.at(node_);
    if (node.locked_by == this) node.locked_by = nullptr;
    state_->unlocked.notify_all();
  }

  Result<std::size_t> Read(std::uint64_t offset, std::span<std::uint8_t> to) override;
  Status Write(std::uint64_t offset, ByteSpan bytes) override;
  Status Append(ByteSpan bytes) override;
  Status CopyFrom(File& source, const ByteRange& range, std::uint64_t offset) override;
  Result<bool> CloneFrom(File& source) override;
  Status Truncate(std::uint64_t size) override;
  Status SetModified(const timespec& modified) override;
  Status SetMode(std::uint32_t mode) override;
  Status TakeAttributesOf(File& source) override;
  Status Sync() override;
  Result<FileStatus> Stat() override;
  Result<bool> Lock(bool wait) override;
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  Status CheckWritable() const {
    if (writable_) return {};
    return FailErrno(EBADF, "writing " + path_);
  }

  const std::shared_ptr<State> state_;
  const std::uint64_t node_;
  const bool writable_;
  const std::string path_;
};

FileStatus StatusOf(std::uint64_t number, const DiskNode& node) {
  FileStatus status;
  status.kind = node.directory ? FileStatus::Kind::kDirectory : FileStatus::Kind::kFile;
  status.device = 1;
  status.inode = number;
  status.size = node.now.size();
  status.links = node.links;
  status.mode = node.directory ? 040777 : 0100000 | node.mode;
  status.modified.tv_sec = static_cast<time_t>(node.modified);
  status.changed = status.modified;
  return status;
}

Result<std::size_t> SimulatedFile::Read(std::uint64_t offset, std::span<std::uint8_t> to) {
  const std::lock_guard lock(state_->mutex);
  UNSHARD_RETURN_IF_ERROR(state_->Check(DiskOperation::kRead, path_));
  const ByteVector& bytes = state_->nodes.at(node_).now;
  if (offset >= bytes.size()) return std::size_t{0};
  const std::size_t size = std::min<std::uint64_t>(bytes.size() - offset, to.size());
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), size, to.begin());
  return size;
}

Status SimulatedFile::Write(std::uint64_t offset, ByteSpan bytes) {
  UNSHARD_RETURN_IF_ERROR(CheckWritable());
  const std::lock_guard lock(state_->mutex);
  auto written = state_->Write(node_, offset, bytes);
  if (!written) return Forward(std::move(written).error(), "writing " + path_);
  return {};
}

Status SimulatedFile::Append(ByteSpan bytes) {
  UNSHARD_RETURN_IF_ERROR(CheckWritable());
  const std::lock_guard lock(state_->mutex);
  auto written = state_->Write(node_, state_->nodes.at(node_).now.size(), bytes);
  if (!written) return Forward(std::move(written).error(), "appending to " + path_);
  return {};
}

Status SimulatedFile::CopyFrom(File& source, const ByteRange& range, std::uint64_t offset) {
  ByteVector bytes(range.size);
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t size, source.Read(range.begin, bytes));
  if (size < bytes.size()) {
    return Fail(ErrorCode::kDataLoss, path_ + ": the source of a copy ends early");
  }
  return Write(offset, bytes);
}

Result<bool> SimulatedFile::CloneFrom(File& source) {
  UNSHARD_RETURN_IF_ERROR(CheckWritable());
  auto* from = dynamic_cast<SimulatedFile*>(&source);
  if (from == nullptr || from->state_ != state_) return FailErrno(EINVAL, "cloning to " + path_);
  const std::lock_guard lock(state_->mutex);
  if (!state_->options.clones) return false;
  UNSHARD_RETURN_IF_ERROR(state_->Check(DiskOperation::kClone, path_));
  // The blocks are shared, so a clone takes no room.
  DiskNode& node = state_->nodes.at(node_);
  const ByteVector bytes = state_->nodes.at(from->node_).now;
  state_->Resize(node, 0);
  FileChange change{false, 0, bytes, bytes.size(), false};
  ApplyFileChange(change, node.now);
  node.changes.push_back(std::move(change));
  return true;
}

Status SimulatedFile::Truncate(std::uint64_t size) {
  UNSHARD_RETURN_IF_ERROR(CheckWritable());
  const std::lock_guard lock(state_->mutex);
  UNSHARD_RETURN_IF_ERROR(state_->Check(DiskOperation::kTruncate, path_));
  state_->Resize(state_->nodes.at(node_), size);
  return {};
}

// Not counted as an operation: it changes no bytes and no names.
Status SimulatedFile::SetModified(const timespec& modified) {
  const std::lock_guard lock(state_->mutex);
  if (state_->crashed) return FailErrno(EIO, "changing the times of " + path_);
  state_->nodes.at(node_).modified = static_cast<std::uint64_t>(modified.tv_sec);
  return {};
}

// Not counted either.
Status SimulatedFile::SetMode(std::uint32_t mode) {
  const std::lock_guard lock(state_->mutex);
  if (state_->crashed) return FailErrno(EIO, "changing the permissions of " + path_);
  state_->nodes.at(node_).mode = mode & 0777;
  return {};
}

Status SimulatedFile::TakeAttributesOf(File& source) {
  const auto* from = dynamic_cast<SimulatedFile*>(&source);
  if (from == nullptr || from->state_ != state_) return FailErrno(EINVAL, "copying to " + path_);
  std::uint32_t mode = 0;
  {
    const std::lock_guard lock(state_->mutex);
    mode = state_->nodes.at(from->node_).mode;
  }
  return SetMode(mode);
}

Status SimulatedFile::Sync() {
  if (state_->before_sync) state_->before_sync();
  const std::lock_guard lock(state_->mutex);
  auto synced = state_->SyncFile(node_);
  if (!synced) return Forward(std::move(synced).error(), "syncing " + path_);
  return {};
}

Result<FileStatus> SimulatedFile::Stat() {
  const std::lock_guard lock(state_->mutex);
  UNSHARD_RETURN_IF_ERROR(state_->Check(DiskOperation::kStat, path_));
  return StatusOf(node_, state_->nodes.at(node_));
}

Result<bool> SimulatedFile::Lock(bool wait) {
  UNSHARD_RETURN_IF_ERROR(CheckWritable());
  std::unique_lock lock(state_->mutex);
  const auto& holder = state_->nodes.at(node_).locked_by;
  const auto is_free = [&] { return holder == nullptr || holder == this || state_->crashed; };
  if (wait) state_->unlocked.wait(lock, is_free);
  if (state_->crashed) return FailErrno(EIO, "locking " + path_ + " after the crash");
  if (!is_free()) return false;
  state_->nodes.at(node_).locked_by = this;
  return true;
}

void CopyFaultless(const State& from, State& to) {
  to.options = from.options;
  to.random.seed(from.options.seed);
  to.last_node = from.last_node;
  to.ticks = from.ticks;
}

}  // namespace

SimulatedDisk::SimulatedDisk(const SimulatedDiskOptions& options)
    : SimulatedDisk(std::make_shared<State>()) {
  state_->options = options;
  state_->random.seed(options.seed);
  state_->nodes[State::kRoot].directory = true;
}

SimulatedDisk::SimulatedDisk(std::shared_ptr<State> state) : state_(std::move(state)) {}
SimulatedDisk::~SimulatedDisk() = default;

Result<std::shared_ptr<File>> SimulatedDisk::Open(const std::string& path, const OpenFlags& flags) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(path));
  const std::lock_guard lock(state_->mutex);
  if (state_->crashed) return FailErrno(EIO, "opening " + Describe(path) + " after the crash");
  std::uint64_t node = state_->Find(path);
  if (node == 0 && !flags.create) return nullptr;
  if (node != 0 && flags.create && flags.exclusive) return FailErrno(EEXIST, Describe(path));
  if (node == 0) {
    const DiskName name = state_->Locate(path);
    if (name.directory == 0) return FailErrno(ENOENT, "making " + Describe(path));
    UNSHARD_RETURN_IF_ERROR(state_->Check(DiskOperation::kOpen, Describe(path)));
    node = state_->Make(name, false);
  }
  DiskNode& opened = state_->nodes.at(node);
  if (opened.directory) return FailErrno(EISDIR, "opening " + Describe(path));
  if (flags.truncate && !opened.now.empty()) {
    UNSHARD_RETURN_IF_ERROR(state_->Check(DiskOperation::kTruncate, Describe(path)));
    state_->Resize(opened, 0);
  }
  return std::make_shared<SimulatedFile>(state_, node, flags.write, Describe(path));
}

Result<std::optional<FileStatus>> SimulatedDisk::Stat(const std::string& path) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(path));
  const std::lock_guard lock(state_->mutex);
  UNSHARD_RETURN_IF_ERROR(state_->Check(DiskOperation::kStat, Describe(path)));
  const std::uint64_t node = state_->Find(path);
  if (node == 0) return std::nullopt;
  return StatusOf(node, state_->nodes.at(node));
}

Status SimulatedDisk::Rename(const std::string& from, const std::string& to) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(from));
  UNSHARD_RETURN_IF_ERROR(CheckKey(to));
  const std::lock_guard lock(state_->mutex);
  const std::string doing = "renaming " + Describe(from) + " to " + Describe(to);
  const std::uint64_t node = state_->Find(from);
  const std::uint64_t replaced = state_->Find(to);
  const DiskName target = state_->Locate(to);
  if (node == 0 || target.directory == 0) return FailErrno(ENOENT, doing);
  if (node == State::kRoot || to.starts_with(from + '/')) return FailErrno(EINVAL, doing);
  if (node == replaced) return {};
  if (replaced != 0) {
    const DiskNode& there = state_->nodes.at(replaced);
    const bool moves_directory = state_->nodes.at(node).directory;
    if (there.directory && !moves_directory) return FailErrno(EISDIR, doing);
    if (!there.directory && moves_directory) return FailErrno(ENOTDIR, doing);
    if (!there.names.empty()) return FailErrno(ENOTEMPTY, doing);
  }
  UNSHARD_RETURN_IF_ERROR(state_->Check(DiskOperation::kRename, doing));
  state_->Change({state_->Locate(from), target, node});
  return {};
}

Status SimulatedDisk::Link(const std::string& from, const std::string& to) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(from));
  UNSHARD_RETURN_IF_ERROR(CheckKey(to));
  const std::lock_guard lock(state_->mutex);
  const std::string doing = "linking " + Describe(from) + " to " + Describe(to);
  const std::uint64_t node = state_->Find(from);
  const DiskName target = state_->Locate(to);
  if (node == 0 || target.directory == 0) return FailErrno(ENOENT, doing);
  if (state_->nodes.at(node).directory) return FailErrno(EPERM, doing);
  if (state_->Find(to) != 0) return FailErrno(EEXIST, doing);
  UNSHARD_RETURN_IF_ERROR(state_->Check(DiskOperation::kLink, doing));
  state_->Change({std::nullopt, target, node});
  return {};
}

Result<bool> SimulatedDisk::Remove(const std::string& path) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(path));
  if (path.empty()) return FailErrno(EINVAL, "removing " + Describe(path));
  const std::lock_guard lock(state_->mutex);
  if (state_->crashed) return FailErrno(EIO, "removing " + Describe(path) + " after the crash");
  const std::uint64_t node = state_->Find(path);
  if (node == 0) return false;
  if (!state_->nodes.at(node).names.empty()) return FailErrno(ENOTEMPTY, Describe(path));
  UNSHARD_RETURN_IF_ERROR(state_->Check(DiskOperation::kRemove, Describe(path)));
  state_->Change({state_->Locate(path), std::nullopt, 0});
  return true;
}

Result<bool> SimulatedDisk::MakeDirectory(const std::string& path, std::uint32_t) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(path));
  if (path.empty()) return FailErrno(EINVAL, "making the directory " + Describe(path));
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t node = state_->Find(path);
  if (node != 0 && state_->nodes.at(node).directory) return false;
  if (node != 0) return FailErrno(EEXIST, "making the directory " + Describe(path));
  const DiskName name = state_->Locate(path);
  if (name.directory == 0) return FailErrno(ENOENT, "making the directory " + Describe(path));
  UNSHARD_RETURN_IF_ERROR(state_->Check(DiskOperation::kMakeDirectory, Describe(path)));
  state_->Make(name, true);
  return true;
}

Status SimulatedDisk::SyncDirectory(const std::string& path) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(path));
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t node = state_->Find(path);
  if (node == 0 || !state_->nodes.at(node).directory) {
    return FailErrno(ENOENT, "syncing the directory " + Describe(path));
  }
  UNSHARD_RETURN_IF_ERROR(state_->Check(DiskOperation::kSyncDirectory, Describe(path)));
  state_->SyncNames(node);
  return {};
}

void SimulatedDisk::BeforeEachSync(std::function<void()> call) {
  state_->before_sync = std::move(call);
}

Status SimulatedDisk::SyncAll() {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::uint64_t> directories;
  for (const auto& [number, node] : state_->nodes) {
    if (node.directory) {
      directories.push_back(number);
    } else if (auto synced = state_->SyncFile(number); !synced) {
      return Forward(std::move(synced).error(), "syncing the disk");
    }
  }
  for (const std::uint64_t directory : directories) state_->SyncNames(directory);
  return {};
}

Status SimulatedDisk::List(const std::string& path,
                           const std::function<bool(std::string_view name)>& visitor) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(path));
  std::vector<std::string> names;
  {
    const std::lock_guard lock(state_->mutex);
    UNSHARD_RETURN_IF_ERROR(state_->Check(DiskOperation::kList, Describe(path)));
    const std::uint64_t node = state_->Find(path);
    if (node == 0) return {};
    for (const auto& [name, below] : state_->nodes.at(node).names) names.push_back(name);
  }
  for (const std::string& name : names) {
    if (!visitor(name)) break;
  }
  return {};
}

Result<std::uint64_t> SimulatedDisk::FreeBytes() {
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t used = state_->UsedBytes();
  return state_->options.capacity - std::min(used, state_->options.capacity);
}

std::string SimulatedDisk::Describe(const std::string& path) const { return "disk:" + path; }

std::uint64_t SimulatedDisk::operations() const {
  const std::lock_guard lock(state_->mutex);
  return state_->operations;
}

void SimulatedDisk::ResetCount() {
  const std::lock_guard lock(state_->mutex);
  state_->operations = 0;
}

void SimulatedDisk::FailAt(std::uint64_t n, int system_errno, bool lasting) {
  const std::lock_guard lock(state_->mutex);
  state_->fail_at = n;
  state_->fail_errno = system_errno;
  state_->fail_lasts = lasting;
}

void SimulatedDisk::FailEvery(DiskOperation operation, int system_errno) {
  const std::lock_guard lock(state_->mutex);
  state_->failing[operation] = system_errno;
}

void SimulatedDisk::ThrowEvery(DiskOperation operation) { FailEvery(operation, State::kThrows); }

void SimulatedDisk::ClearFaults() {
  const std::lock_guard lock(state_->mutex);
  state_->fail_at = state_->crash_at = 0;
  state_->failing.clear();
}

void SimulatedDisk::CrashAt(std::uint64_t n) {
  const std::lock_guard lock(state_->mutex);
  state_->crash_at = n;
}

bool SimulatedDisk::crashed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->crashed;
}

std::shared_ptr<SimulatedDisk> SimulatedDisk::AfterKill() const {
  const std::lock_guard lock(state_->mutex);
  auto next = std::make_shared<State>();
  CopyFaultless(*state_, *next);
  next->nodes = state_->nodes;
  for (auto& [number, node] : next->nodes) node.locked_by = nullptr;
  next->durable_names = state_->durable_names;
  next->name_changes = state_->name_changes;
  return std::shared_ptr<SimulatedDisk>(new SimulatedDisk(std::move(next)));
}

std::shared_ptr<SimulatedDisk> SimulatedDisk::AfterPowerLoss(Survival survival,
                                                             std::uint64_t seed) const {
  const std::lock_guard lock(state_->mutex);
  auto next = std::make_shared<State>();
  CopyFaultless(*state_, *next);
  std::mt19937_64 random(seed);
  next->durable_names = state_->durable_names;
  std::vector<NameChange> lost;
  for (const NameChange& change : state_->name_changes) {
    // What came to the same name later cannot have survived without it.
    const bool builds_on_lost = std::any_of(
        lost.begin(), lost.end(), [&](const auto& earlier) { return earlier.Shares(change); });
    const bool survives =
        survival == Survival::kEverything || (survival == Survival::kRandom && random() % 2 == 0);
    if (survives && !builds_on_lost) {
      ApplyNameChange(change, next->durable_names);
    } else {
      lost.push_back(change);
    }
  }
  next->nodes[State::kRoot].directory = true;
  std::vector<std::uint64_t> reached = {State::kRoot};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto begin = next->durable_names.lower_bound(DiskName{reached[i], ""});
    for (auto at = begin; at != next->durable_names.end() && at->first.directory == reached[i];
         ++at) {
      const DiskNode& old = state_->nodes.at(at->second);
      const auto [node, is_new] = next->nodes.try_emplace(at->second);
      next->nodes.at(reached[i]).names[at->first.name] = at->second;
      ++node->second.links;
      if (!is_new) continue;
      reached.push_back(at->second);
      node->second.directory = old.directory;
      node->second.modified = old.modified;
      node->second.durable = SurvivingBytes(old, survival, random);
      node->second.now = node->second.durable;
    }
  }
  std::erase_if(next->durable_names,
                [&](const auto& name) { return !next->nodes.contains(name.first.directory); });
  return std::shared_ptr<SimulatedDisk>(new SimulatedDisk(std::move(next)));
}

std::optional<std::string> SimulatedDisk::Text(const std::string& path) const {
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t node = state_->Find(path);
  if (node == 0 || state_->nodes.at(node).directory) return std::nullopt;
  return std::string(AsText(state_->nodes.at(node).now));
}

void SimulatedDisk::Put(const std::string& path, std::string_view text) {
  const std::lock_guard lock(state_->mutex);
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string above = path.substr(0, end);
    if (state_->Find(above) == 0) state_->Make(state_->Locate(above), true);
    state_->SyncNames(state_->Locate(above).directory);
  }
  std::uint64_t node = state_->Find(path);
  const DiskName name = state_->Locate(path);
  if (node == 0) node = state_->Make(name, false);
  state_->SyncNames(name.directory);
  DiskNode& file = state_->nodes.at(node);
  const ByteSpan bytes = AsBytes(text);
  file.now.assign(bytes.begin(), bytes.end());
  file.durable = file.now;
  file.changes.clear();
  file.modified = ++state_->ticks;
}

std::vector<std::string> SimulatedDisk::Paths() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> paths;
  std::vector<std::pair<std::uint64_t, std::string>> open = {{State::kRoot, ""}};
  while (!open.empty()) {
    const auto [node, path] = open.back();
    open.pop_back();
    for (const auto& [name, below] : state_->nodes.at(node).names) {
      const std::string at = path.empty() ? name : path + '/' + name;
      if (state_->nodes.at(below).directory) {
        open.emplace_back(below, at);
      } else {
        paths.push_back(at);
      }
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace unshard
