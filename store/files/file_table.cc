#include "store/files/file_table.h"

#include <utility>

#include "store/object/key.h"
#include "store/object/keys_below.h"

namespace unshard {
namespace {

// Files whose attributes are remembered after they have been put.
constexpr std::size_t kMostRemembered = std::size_t{1} << 16;

bool SaysNothing(const FileState& state) {
  return !state.inode && !state.waiting && !state.publishing && !state.remembered;
}

bool ShowsFile(const FileState& state) {
  return state.inode || (state.waiting && !state.waiting->removed());
}

}  // namespace

ChunkFingerprint ContentPrint(const WaitingFile& file) {
  if (file.removed()) return {};
  return {false, file.chunk.size, file.chunk.checksum};
}

std::string KeyOf(const SpooledChunk& chunk) { return JoinPath(chunk.dataset, chunk.chunk); }

FileState FileTable::Find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find(key);
  return found == states_.end() ? FileState() : found->second;
}

void FileTable::Update(const std::string& key,
                       const std::function<void(FileState& state)>& change) {
  FileState dropped;  // its destructor may do I/O
  const std::lock_guard lock(mutex_);
  FileState& state = states_[key];
  const bool remembered = state.remembered.has_value();
  dropped = state;
  change(state);
  if (state.is_own()) Show(key);
  if (dropped.is_removed() && !state.is_removed()) Unhide(key);
  if (state.remembered && !remembered) remembered_.push_back(key);
  if (SaysNothing(state)) {
    keys_.erase(state.queued);
    states_.erase(key);
  }
  ForgetOldest();
}

std::uint64_t FileTable::QueueNumber(const std::string& key) {
  const std::lock_guard lock(mutex_);
  FileState& state = states_[key];
  if (state.queued == 0) {
    state.queued = ++last_number_;
    keys_.emplace(state.queued, key);
  }
  return state.queued;
}

std::optional<std::string> FileTable::KeyOfNumber(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = keys_.find(number);
  if (found == keys_.end()) return std::nullopt;
  return found->second;
}

bool FileTable::HasFileBelow(const std::string& directory) const {
  const std::lock_guard lock(mutex_);
  return HasFileBelowLocked(directory);
}

bool FileTable::HasFileBelowLocked(const std::string& directory) const {
  const auto below = KeysBelow(states_, directory);
  return std::any_of(below.begin(), below.end(),
                     [](const auto& file) { return ShowsFile(file.second); });
}

std::map<std::string, FileTable::Shown> FileTable::NamesIn(const std::string& directory) const {
  const std::lock_guard lock(mutex_);
  const std::size_t prefix = directory.empty() ? 0 : directory.size() + 1;
  std::map<std::string, Shown> names;
  for (const auto& [key, state] : KeysBelow(states_, directory)) {
    const std::string rest = key.substr(prefix);
    const std::size_t slash = rest.find('/');
    if (slash != std::string::npos) {
      if (ShowsFile(state)) names[rest.substr(0, slash)] = Shown::kDirectory;
    } else if (ShowsFile(state)) {
      names[rest] = Shown::kFile;
    } else if (state.is_removed()) {
      names.emplace(rest, Shown::kRemoved);
    }
  }
  for (const std::string& key : KeysBelow(made_, directory)) {
    const std::string rest = key.substr(prefix);
    names[rest.substr(0, rest.find('/'))] = Shown::kDirectory;
  }
  for (const std::string& key : KeysBelow(hidden_, directory)) {
    if (key.find('/', prefix) == std::string::npos) {
      names.emplace(key.substr(prefix), Shown::kRemoved);
    }
  }
  return names;
}

std::vector<FileTable::Queued> FileTable::WaitingIn(const std::string& directory) const {
  const std::lock_guard lock(mutex_);
  std::vector<Queued> waiting;
  for (const auto& [key, state] : KeysBelow(states_, directory)) {
    if (ParentPath(key) == directory && state.waiting) {
      waiting.push_back({state.queued, state.waiting});
    }
  }
  return waiting;
}

// A file that comes shows the directories that it is in; they stay when it goes.
void FileTable::Show(const std::string& key) {
  for (std::string at = ParentPath(key); !at.empty(); at = ParentPath(at)) {
    hidden_.erase(at);
    if (!made_.insert(at).second) return;
  }
}

// A key is no longer waiting to be removed. Directories whose last such key it was are those of the
// store again.
void FileTable::Unhide(const std::string& key) {
  for (std::string at = ParentPath(key); !at.empty() && !hidden_.empty(); at = ParentPath(at)) {
    if (!hidden_.contains(at)) continue;
    const auto below = KeysBelow(states_, at);
    const bool waits = std::any_of(below.begin(), below.end(),
                                   [](const auto& file) { return file.second.is_removed(); });
    if (!waits) hidden_.erase(at);
  }
}

void FileTable::MakeDirectory(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  hidden_.erase(directory);
  made_.insert(directory);
  Show(directory);
}

void FileTable::RemoveDirectory(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  made_.erase(directory);
  hidden_.insert(directory);
}

bool FileTable::IsMade(const std::string& directory) const {
  const std::lock_guard lock(mutex_);
  return made_.contains(directory);
}

bool FileTable::IsHidden(const std::string& directory) const {
  const std::lock_guard lock(mutex_);
  for (std::string at = directory; !at.empty(); at = ParentPath(at)) {
    if (hidden_.contains(at)) return true;
  }
  return false;
}

void FileTable::ForgetOldest() {
  while (remembered_.size() > kMostRemembered) {
    const auto found = states_.find(remembered_.front());
    remembered_.pop_front();
    if (found == states_.end()) continue;
    found->second.remembered.reset();
    if (!SaysNothing(found->second)) continue;
    keys_.erase(found->second.queued);
    states_.erase(found);
  }
}

}  // namespace unshard
