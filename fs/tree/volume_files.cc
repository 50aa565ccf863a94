#include "fs/tree/volume_files.h"

#include <vector>

#include "fs/tree/superblock.h"
#include "store/volume_file/voxel_content.h"

namespace unshard {
namespace {

// The name of an array that the source itself is.
constexpr std::string_view kWholeSource = "volume";

std::string PathOfFiles(const std::string& arrays) { return JoinPath(kFilesDirectory, arrays); }

// The formats that files= asks for.
std::vector<const VolumeFileFormat*> FormatsOf(const Superblock& superblock) {
  std::vector<const VolumeFileFormat*> formats;
  for (const std::string& name : superblock.options.files) {
    formats.push_back(FindVolumeFileFormat(name));
  }
  return formats;
}

std::string NameOfFile(std::string_view array, const VolumeFileFormat& format) {
  return std::string(array) + "." + std::string(format.name);
}

// How long the kernel may go without seeing that changed metadata make another file, of which it is
// not notified.
std::uint64_t TimeoutOf(const Superblock& superblock) {
  const MountOptions& options = superblock.options;
  return options.immutable ? kDayMilliseconds : options.ttl_milliseconds;
}

Result<Entry> ReferFilesDirectory(Superblock& superblock, const std::string& arrays) {
  const NodePtr node = superblock.nodes.Refer("files:" + arrays, [&](NodeId id) {
    return std::make_shared<FilesDirectory>(superblock, id, StableInode(PathOfFiles(arrays)),
                                            arrays);
  });
  return node->AttributesNow();
}

}  // namespace

Status CanHoldFiles(const VolumeParts& parts) {
  const auto overlay = parts.datasets->Find("");
  bool taken = overlay && overlay->virtual_children.contains(std::string(kFilesDirectory));
  if (!taken) {
    UNSHARD_ASSIGN_OR_RETURN(const auto there,
                             parts.store->Stat(kFilesDirectory, CallerDeadline()));
    taken = there.has_value();
  }
  if (!taken) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "option files=: ", parts.store->Describe(kFilesDirectory),
              " exists in the source, and the directory of these files needs its name");
}

std::string FilesDirectory::Path() const { return PathOfFiles(arrays()); }

Result<NamePtr> FilesDirectory::Find(std::string_view name) {
  return std::make_unique<VolumeFileName>(superblock(), Path(), name, arrays());
}

Result<Entry> FilesDirectory::Stat() {
  Attributes attributes{inode(), 0, superblock().mount_time, true};
  attributes.control = true;
  return Entry{id(), attributes, TimeoutOf(superblock())};
}

Status FilesDirectory::List(const Listing& listing) {
  SourceArrays& arrays = *superblock().arrays;
  const auto files_of = [&](const std::string& path) {
    std::vector<std::string> names;
    const auto array = arrays.Find(path);
    if (!array || !*array) return names;  // its look-up says why
    for (const VolumeFileFormat* format : FormatsOf(superblock())) {
      if (!format->describe((*array)->described)) continue;
      names.push_back(NameOfFile(path.empty() ? kWholeSource : BaseName(path), *format));
    }
    return names;
  };
  return ListArrays([&] { return arrays.FoundIn(this->arrays()); }, files_of, listing);
}

Result<Entry> FilesDirectoryName::Lookup(pid_t) { return ReferFilesDirectory(superblock(), ""); }

Result<SourceArrayPtr> VolumeFileName::FindArray(const std::string& stem) {
  SourceArrays& arrays = *superblock().arrays;
  if (arrays_.empty() && stem == kWholeSource) {
    UNSHARD_ASSIGN_OR_RETURN(auto source, arrays.Find(""));
    if (source) return source;
  }
  return arrays.Find(JoinPath(arrays_, stem));
}

Result<Entry> VolumeFileName::Lookup(pid_t) {
  Superblock& sb = superblock();
  for (const VolumeFileFormat* format : FormatsOf(sb)) {
    const std::string suffix = NameOfFile("", *format);
    if (name().size() <= suffix.size() || !name().ends_with(suffix)) continue;
    const std::string stem = name().substr(0, name().size() - suffix.size());
    UNSHARD_ASSIGN_OR_RETURN(const SourceArrayPtr array, FindArray(stem));
    if (array) return LookupFile(*format, *array);
  }
  const std::string below = JoinPath(arrays_, name());
  if (sb.arrays->HasDatasets(below)) return ReferFilesDirectory(sb, below);
  return Entry{0, {}, 0};  // more arrays may be found
}

Result<Entry> VolumeFileName::LookupFile(const VolumeFileFormat& format, const SourceArray& array) {
  Superblock& sb = superblock();
  auto layout = format.describe(array.described);
  if (!layout) {
    return Fail(ErrorCode::kNotFound, path(), ": ", layout.error().message);
  }
  const std::string identity = "v:" + path() + '\n' + std::to_string(array.serial);
  const NodePtr node = sb.nodes.Refer(identity, [&](NodeId id) {
    return std::make_shared<VolumeFileNode>(sb, id, path(), array,
                                            MakeVoxelContent(*std::move(layout), array.chunks));
  });
  return node->AttributesNow();
}

VolumeFileNode::VolumeFileNode(Superblock& superblock, NodeId id, std::string path,
                               const SourceArray& array, ContentPtr content)
    : Node(superblock, id, StableInode(path)),
      path_(std::move(path)),
      modified_(array.modified),
      served_(array.served),
      content_(std::move(content)) {
  if (served_) superblock.volume_file_nodes.Add(served_->stored_ordinal(), id);
}

VolumeFileNode::~VolumeFileNode() {
  if (served_) superblock().volume_file_nodes.Remove(served_->stored_ordinal(), id());
}

Result<Entry> VolumeFileNode::Stat() {
  const Attributes attributes{inode(), content_->size(), modified_, false, 1, true};
  return Entry{id(), attributes, TimeoutOf(superblock())};
}

// After a chunk is committed here the kernel may have old pages until it is notified.
PageUse VolumeFileNode::PagesAtOpen() const {
  const Superblock& sb = superblock();
  const bool notified = served_ && !sb.writable() && sb.parts.watcher->complete();
  return sb.options.immutable || notified ? PageUse::kKept : PageUse::kFresh;
}

Result<OpenFilePtr> VolumeFileNode::Open(const OpenRequest& request) {
  if (request.write) return Fail(ErrorCode::kReadOnly, "files of whole arrays are read-only");
  return std::make_unique<OpenContent>(id(), request, content_, nullptr, PagesAtOpen());
}

}  // namespace unshard
