// A FUSE daemon that does nothing: what no file system in user space can beat.
//
//   bench_fuse_floor DIRECTORY MOUNT_POINT ro|rw
//
// Shows a tree of the names and sizes of DIRECTORY from memory, and stays in the foreground. Files
// read as zeros. It keeps names and sizes of what is written, and discards the bytes. It asks of
// the kernel what unshard asks of it: timeouts of a day, pages and listings that are kept, no OPEN,
// RELEASE and OPENDIR on a read-only mount, no FLUSH of what was only read, nothing of extended
// attributes.
#define FUSE_USE_VERSION 312
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fs/tree/attribute_demand.h"
#include "tests/bench/measure.h"

namespace unshard_bench {
namespace {

constexpr double kDay = 86400;
constexpr blksize_t kBlockSize = 128 * 1024;
constexpr std::size_t kLargestRead = std::size_t{1} << 20;
constexpr unsigned kThreads = 10;
constexpr unsigned kBackground = 64;

struct Node {
  fuse_ino_t number = 0;
  bool directory = false;
  std::uint64_t size = 0;
  // Of directories; in the order of the listing.
  std::vector<std::pair<std::string, fuse_ino_t>> names;
  std::unordered_map<std::string, fuse_ino_t> by_name;
  std::string listing;  // READDIR's reply to all of it
  std::vector<std::size_t>
      ends;  // of its entries: entry i ends at ends[i], and has the cookie i + 1
};

class Tree {
 public:
  explicit Tree(bool writable) : writable_(writable) { Make(FUSE_ROOT_ID, true, 0); }

  void Copy(const std::filesystem::path& from, fuse_ino_t to) {
    std::vector<std::filesystem::directory_entry> entries;
    for (const auto& entry : std::filesystem::directory_iterator(from)) entries.push_back(entry);
    for (const auto& entry : entries) {
      const bool directory = entry.is_directory();
      const Node& added = Add(to, entry.path().filename().string(), directory,
                              directory ? 0 : static_cast<std::uint64_t>(entry.file_size()));
      if (directory) Copy(entry.path(), added.number);
    }
  }

  Node& At(fuse_ino_t number) { return nodes_[number - 1]; }

  Node* Find(fuse_ino_t parent, const char* name) {
    const auto& names = At(parent).by_name;
    const auto found = names.find(name);
    return found == names.end() ? nullptr : &At(found->second);
  }

  Node& Add(fuse_ino_t parent, const std::string& name, bool directory, std::uint64_t size) {
    Node& added = Make(parent, directory, size);
    At(parent).by_name.emplace(name, added.number);
    List(At(parent), name, added);
    return added;
  }

  [[nodiscard]] struct stat StatOf(const Node& node) const {
    struct stat result {};
    const mode_t write = writable_ ? 0200 : 0;
    result.st_ino = node.number;
    result.st_mode = node.directory ? S_IFDIR | 0555 | write : S_IFREG | 0444 | write;
    result.st_nlink = 1;
    result.st_uid = getuid();
    result.st_gid = getgid();
    result.st_size = static_cast<off_t>(node.size);
    result.st_blocks = static_cast<blkcnt_t>((node.size + 511) / 512);
    result.st_blksize = kBlockSize;
    return result;
  }

  [[nodiscard]] fuse_entry_param EntryOf(const Node& node) const {
    fuse_entry_param result{};
    result.ino = node.number;
    result.entry_timeout = result.attr_timeout = kDay;
    result.attr = StatOf(node);
    return result;
  }

 private:
  Node& Make(fuse_ino_t parent, bool directory, std::uint64_t size) {
    Node& made = nodes_.emplace_back();
    made.number = nodes_.size();
    made.directory = directory;
    made.size = size;
    if (!directory) return made;
    List(made, ".", made);
    List(made, "..", At(parent));
    return made;
  }

  void List(Node& in, const std::string& name, const Node& named) {
    in.names.emplace_back(name, named.number);
    const struct stat attributes = StatOf(named);
    const std::size_t begin = in.listing.size();
    in.listing.resize(begin + fuse_add_direntry(nullptr, nullptr, 0, name.c_str(), nullptr, 0));
    fuse_add_direntry(nullptr, in.listing.data() + begin, in.listing.size() - begin, name.c_str(),
                      &attributes, static_cast<off_t>(in.names.size()));
    in.ends.push_back(in.listing.size());
  }

  const bool writable_;
  std::deque<Node> nodes_;
};

struct Floor {
  Floor(bool is_writable, const char* at)
      : writable(is_writable), mount_point(at), tree(writable) {}

  const bool writable;
  const std::string mount_point;
  Tree tree;  // guarded by mutex where that is writable
  std::mutex mutex;
  unshard::AttributeDemand demand;
  std::once_flag tuned;
  const std::vector<char> zeros = std::vector<char>(kLargestRead);
};

Floor& FloorOf(fuse_req_t request) { return *static_cast<Floor*>(fuse_req_userdata(request)); }

// Held while a request looks at the tree; on a read-only mount that does not change.
std::unique_lock<std::mutex> LockOf(Floor& floor) {
  return floor.writable ? std::unique_lock(floor.mutex) : std::unique_lock<std::mutex>();
}

// What root may: larger reads ahead, as unshard's mounts have them. After FUSE_INIT.
void RaiseReadAhead(const std::string& mount_point) {
  struct statx mounted {};
  if (statx(AT_FDCWD, mount_point.c_str(), AT_STATX_DONT_SYNC, 0, &mounted) != 0) return;
  std::ofstream("/sys/class/bdi/" + std::to_string(mounted.stx_dev_major) + ':' +
                std::to_string(mounted.stx_dev_minor) + "/read_ahead_kb")
      << "1008";
}

void Init(void*, fuse_conn_info* connection) {
  constexpr unsigned kWanted = FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_READDIRPLUS |
                               FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_ATOMIC_O_TRUNC;
  connection->want |= connection->capable & kWanted;
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_AUTO_INVAL_DATA);
  connection->max_background = kBackground;
  connection->congestion_threshold = kBackground * 3 / 4;
}

void Lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  Floor& floor = FloorOf(request);
  fuse_entry_param reply{};
  reply.entry_timeout = kDay;
  {
    const auto lock = LockOf(floor);
    const Node* const found = floor.tree.Find(parent, name);
    if (found != nullptr) reply = floor.tree.EntryOf(*found);
    if (found != nullptr && !found->directory) floor.demand.ChunkLookedUp();
  }
  fuse_reply_entry(request, &reply);
}

void GetAttributes(fuse_req_t request, fuse_ino_t number, fuse_file_info*) {
  Floor& floor = FloorOf(request);
  std::call_once(floor.tuned, [&] { RaiseReadAhead(floor.mount_point); });
  struct stat attributes {};
  {
    const auto lock = LockOf(floor);
    attributes = floor.tree.StatOf(floor.tree.At(number));
  }
  fuse_reply_attr(request, &attributes, kDay);
}

void Open(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
  Floor& floor = FloorOf(request);
  if (!floor.writable) {
    fuse_reply_err(request, ENOSYS);
    return;
  }
  if ((file->flags & O_TRUNC) != 0) {
    const auto lock = LockOf(floor);
    floor.tree.At(number).size = 0;
  }
  file->keep_cache = 1;
  file->noflush = (file->flags & O_ACCMODE) == O_RDONLY;
  fuse_reply_open(request, file);
}

void OpenDirectory(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  if (!FloorOf(request).writable) {
    fuse_reply_err(request, ENOSYS);
    return;
  }
  file->cache_readdir = file->keep_cache = 1;
  fuse_reply_open(request, file);
}

void Read(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset, fuse_file_info*) {
  Floor& floor = FloorOf(request);
  std::uint64_t whole = 0;
  {
    const auto lock = LockOf(floor);
    whole = floor.tree.At(number).size;
  }
  const auto from = std::min(static_cast<std::uint64_t>(offset), whole);
  const auto left = std::min<std::uint64_t>({size, whole - from, floor.zeros.size()});
  fuse_reply_buf(request, floor.zeros.data(), left);
}

void ReadDirectory(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset,
                   fuse_file_info*) {
  Floor& floor = FloorOf(request);
  const auto lock = LockOf(floor);
  const Node& node = floor.tree.At(number);
  const auto first = std::min(static_cast<std::size_t>(offset), node.ends.size());
  const std::size_t begin = first == 0 ? 0 : node.ends[first - 1];
  const auto past = std::upper_bound(node.ends.begin(), node.ends.end(), begin + size);
  const std::size_t end = past == node.ends.begin() ? begin : *std::prev(past);
  fuse_reply_buf(request, node.listing.data() + begin, std::max(begin, end) - begin);
}

void ReadDirectoryPlus(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset,
                       fuse_file_info*) {
  using Give = unshard::AttributeDemand::Give;
  Floor& floor = FloorOf(request);
  const auto buffer = std::make_unique_for_overwrite<char[]>(size);
  const auto lock = LockOf(floor);
  const Node& node = floor.tree.At(number);
  Give give = floor.demand.ListingBegins();
  int few = give == Give::kFew && offset == 0 ? unshard::AttributeDemand::kFewChunks : -1;
  std::size_t used = 0;
  for (auto at = static_cast<std::size_t>(offset); at < node.names.size(); ++at) {
    const auto& [name, child] = node.names[at];
    const Node& named = floor.tree.At(child);
    fuse_entry_param entry = floor.tree.EntryOf(named);
    if (!named.directory) {
      if (few-- == 0) break;
      if (give != Give::kAll && give != Give::kFew) entry.ino = 0;
      if (give == Give::kAllButOne) give = Give::kAll;
    }
    const std::size_t needed =
        fuse_add_direntry_plus(request, buffer.get() + used, size - used, name.c_str(), &entry,
                               static_cast<off_t>(at + 1));
    if (needed > size - used) break;
    used += needed;
  }
  fuse_reply_buf(request, buffer.get(), used);
}

void Create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t, fuse_file_info* file) {
  Floor& floor = FloorOf(request);
  fuse_entry_param entry{};
  {
    const auto lock = LockOf(floor);
    Node* const found = floor.tree.Find(parent, name);
    Node& node = found != nullptr ? *found : floor.tree.Add(parent, name, false, 0);
    if ((file->flags & O_TRUNC) != 0) node.size = 0;
    entry = floor.tree.EntryOf(node);
  }
  file->keep_cache = 1;
  fuse_reply_create(request, &entry, file);
}

void MakeDirectory(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t) {
  Floor& floor = FloorOf(request);
  fuse_entry_param entry{};
  {
    const auto lock = LockOf(floor);
    if (floor.tree.Find(parent, name) == nullptr) {
      entry = floor.tree.EntryOf(floor.tree.Add(parent, name, true, 0));
    }
  }
  if (entry.ino == 0) {
    fuse_reply_err(request, EEXIST);
  } else {
    fuse_reply_entry(request, &entry);
  }
}

void Write(fuse_req_t request, fuse_ino_t number, const char*, std::size_t size, off_t offset,
           fuse_file_info*) {
  Floor& floor = FloorOf(request);
  {
    const auto lock = LockOf(floor);
    Node& node = floor.tree.At(number);
    node.size = std::max(node.size, static_cast<std::uint64_t>(offset) + size);
  }
  fuse_reply_write(request, size);
}

void SetAttributes(fuse_req_t request, fuse_ino_t number, struct stat* wanted, int which,
                   fuse_file_info* file) {
  Floor& floor = FloorOf(request);
  if ((which & FUSE_SET_ATTR_SIZE) != 0) {
    const auto lock = LockOf(floor);
    floor.tree.At(number).size = static_cast<std::uint64_t>(wanted->st_size);
  }
  GetAttributes(request, number, file);
}

// ls then asks once, and after ENOSYS for each file.
void GetExtendedAttribute(fuse_req_t request, fuse_ino_t, const char*, std::size_t) {
  fuse_reply_err(request, EOPNOTSUPP);
}

// FSYNC, FSYNCDIR; RELEASE has the same arguments but one.
void Done(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) { fuse_reply_err(request, 0); }
void Release(fuse_req_t request, fuse_ino_t, fuse_file_info*) { fuse_reply_err(request, 0); }

// What is not here is answered with ENOSYS, which the kernel remembers: FLUSH, and where files are
// written extended attributes, for which it would ask before each WRITE.
fuse_lowlevel_ops Operations(bool writable) {
  fuse_lowlevel_ops ops{};
  ops.init = Init;
  ops.lookup = Lookup;
  ops.getattr = GetAttributes;
  ops.open = Open;
  ops.opendir = OpenDirectory;
  ops.read = Read;
  ops.readdir = ReadDirectory;
  ops.readdirplus = ReadDirectoryPlus;
  if (!writable) {
    ops.getxattr = GetExtendedAttribute;
    return ops;
  }
  ops.create = Create;
  ops.mkdir = MakeDirectory;
  ops.write = Write;
  ops.setattr = SetAttributes;
  ops.fsync = ops.fsyncdir = Done;
  ops.release = Release;
  return ops;
}

int Serve(Floor& floor) {
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  const std::string options =
      std::string("subtype=bench_fuse_floor") + (floor.writable ? "" : ",ro,default_permissions");
  for (const char* each : {"bench_fuse_floor", "-o", options.c_str()}) {
    fuse_opt_add_arg(&arguments, each);
  }
  const fuse_lowlevel_ops operations = Operations(floor.writable);
  fuse_session* const session =
      fuse_session_new(&arguments, &operations, sizeof operations, &floor);
  fuse_opt_free_args(&arguments);
  if (session == nullptr || fuse_set_signal_handlers(session) != 0 ||
      fuse_session_mount(session, floor.mount_point.c_str()) != 0) {
    return 1;
  }
  fuse_loop_config* const config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(config, kThreads);
  const int result = fuse_session_loop_mt(session, config);
  fuse_loop_cfg_destroy(config);
  fuse_session_unmount(session);
  fuse_remove_signal_handlers(session);
  fuse_session_destroy(session);
  return result < 0 ? 1 : 0;
}

}  // namespace
}  // namespace unshard_bench

int main(int count, char** words) {
  using namespace unshard_bench;
  const std::string_view mode = count == 4 ? words[3] : "";
  if (mode != "ro" && mode != "rw") Fail("usage: bench_fuse_floor DIRECTORY MOUNT_POINT ro|rw");
  Floor floor(mode == "rw", words[2]);
  floor.tree.Copy(words[1], FUSE_ROOT_ID);
  return Serve(floor);
}
