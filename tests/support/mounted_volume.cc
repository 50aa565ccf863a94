#include "tests/support/mounted_volume.h"

#include <unistd.h>

#include "store/local/file_store.h"
#include "store/object/error_number.h"

namespace unshard {
namespace {

// Claims to tell of every change.
class TrustedWatcher final : public ChangeWatcher {
 public:
  bool Watch(std::string_view) override { return true; }
};

}  // namespace

std::set<std::string> RecordingNotifier::NamesIn(NodeId parent) const {
  std::set<std::string> names;
  for (const auto& [node, name] : entries) {
    if (node == parent) names.insert(name);
  }
  return names;
}

Status MountedVolume::TryMount() {
  options_.source = source_.path();
  UNSHARD_ASSIGN_OR_RETURN(auto files, OpenFileStore(source_.path(), 64));
  store_ = std::make_shared<CountingStore>(std::move(files));
  VolumeParts parts;
  parts.store = store_;
  parts.watcher = std::make_shared<WatchMonitor>(std::make_unique<TrustedWatcher>());
  parts.indexes = std::make_shared<IndexCache>(std::uint64_t{1} << 24);
  parts.decoded = std::make_shared<ByteBudgetCache>(std::uint64_t{1} << 24);
  parts.reader = std::make_shared<ChunkReader>(parts.decoded, std::uint64_t{1} << 24, parts.reads);
  DatasetTreeOptions options;
  options.morton = options_.morton;
  options.shards.immutable = options_.immutable;
  parts.datasets = std::make_shared<DatasetTree>(parts.store, parts.watcher, parts.indexes,
                                                 parts.reader, options);
  UNSHARD_RETURN_IF_ERROR(parts.datasets->Discover());
  fs_ = std::make_unique<VolumeFs>(std::make_unique<Volume>(std::move(parts), options_), options_);
  store_->Reset();
  return {};
}

void MountedVolume::Mount() {
  const Status mounted = TryMount();
  ASSERT_TRUE(mounted) << mounted.error().message;
}

void MountedVolume::Write(const std::string& path, const ShardedSource& source,
                          const std::map<std::uint64_t, std::string>& chunks) {
  source_.Write(JoinPath(path, source.document_name), source.document);
  for (const auto& [key, bytes] : source.Encode(chunks)) {
    source_.Replace(JoinPath(JoinPath(path, source.directory), key), bytes);
  }
}

Result<Entry> MountedVolume::Find(const std::string& path) {
  Entry entry;
  entry.node = kRootNode;
  entry.attributes.directory = true;
  for (std::string rest = path; !rest.empty();) {
    const std::size_t slash = rest.find('/');
    UNSHARD_ASSIGN_OR_RETURN(entry, fs_->Lookup(entry.node, rest.substr(0, slash)));
    if (entry.node == 0) return entry;
    rest = slash == std::string::npos ? "" : rest.substr(slash + 1);
  }
  return entry;
}

Result<std::string> MountedVolume::ReadAt(NodeId node, std::uint64_t offset, std::uint64_t size) {
  UNSHARD_ASSIGN_OR_RETURN(const FilePiece piece, fs_->Read(node, offset, size));
  if (const auto* bytes = std::get_if<Bytes>(&piece)) return std::string(AsText(bytes->span()));
  const FileSlice& slice = std::get<FileSlice>(piece);
  std::string text(slice.range.size, '\0');
  const ssize_t read =
      pread(slice.descriptor, text.data(), text.size(), static_cast<off_t>(slice.range.begin));
  if (read < 0) return FailErrno(errno, "pread");
  text.resize(static_cast<std::size_t>(read));
  return text;
}

std::string MountedVolume::Text(const std::string& path) {
  const auto entry = Find(path);
  if (!entry) return ErrnoName(ErrnoOf(entry.error()));
  if (entry->node == 0) return "ENOENT";
  if (entry->attributes.directory) return "EISDIR";
  const auto text = ReadAt(entry->node, 0, entry->attributes.size);
  return text ? *text : ErrnoName(ErrnoOf(text.error()));
}

std::vector<std::string> MountedVolume::Names(const std::string& path, std::size_t piece) {
  std::vector<std::string> names;
  const auto directory = Find(path);
  EXPECT_TRUE(directory && directory->node != 0) << path;
  if (!directory || directory->node == 0) return names;
  std::uint64_t cookie = 0;
  for (bool more = true; more;) {
    std::size_t taken = 0;
    more = false;
    const Status listed =
        fs_->ReadDirectory(directory->node, cookie, false, [&](const DirectoryName& name) {
          if (taken == piece) return !(more = true);
          ++taken;
          cookie = name.next_cookie;
          if (name.name != "." && name.name != "..") names.emplace_back(name.name);
          return true;
        });
    EXPECT_TRUE(listed) << (listed ? "" : listed.error().message);
  }
  return names;
}

std::set<std::string> MountedVolume::NameSet(const std::string& path) {
  const auto names = Names(path);
  return {names.begin(), names.end()};
}

void MountedVolume::Changed(const std::string& key) {
  notifier_.entries.clear();
  notifier_.inodes.clear();
  fs_->Refresh({key, false}, notifier_);
}

}  // namespace unshard
