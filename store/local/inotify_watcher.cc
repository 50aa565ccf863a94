#include "store/local/inotify_watcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <vector>

#include "store/local/file_descriptor.h"
#include "store/local/mounts_below.h"
#include "store/local/path_walk.h"
#include "store/local/watch_tree.h"
#include "store/object/catch_exceptions.h"
#include "store/object/log.h"
#include "store/object/object_store.h"
#include "store/object/thread_without_signals.h"

namespace unshard {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

std::string RealPathOf(const RootDirectory& root) {
  const auto place = root.OpenBeneath("", O_PATH | O_DIRECTORY);
  const std::string path = place && place->valid() ? RealPath(place->get()) : std::string();
  return path.empty() ? root.Describe("") : path;
}

class InotifyWatcher final : public ChangeWatcher {
 public:
  InotifyWatcher(std::unique_ptr<RootDirectory> root, FileDescriptor inotify, FileDescriptor stop,
                 Listener listener, std::shared_ptr<const OwnMount> own)
      : root_(std::move(root)),
        inotify_(std::move(inotify)),
        stop_(std::move(stop)),
        listener_(std::move(listener)),
        tree_(inotify_.get(), *root_),
        mounts_(RealPathOf(*root_), std::move(own)),
        thread_(StartWithoutSignals([this] { Run(); })) {}

  ~InotifyWatcher() override {
    const std::uint64_t one = 1;
    while (::write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.join();
  }

  bool Watch(std::string_view directory_key) override {
    return !ended_ && CheckKey(directory_key) && tree_.Watch(directory_key);
  }

 private:
  void Run();
  Status Follow();
  Status Drain();
  void Deliver(const char* buffer, std::size_t size);

  const std::unique_ptr<RootDirectory> root_;
  const FileDescriptor inotify_;
  const FileDescriptor stop_;
  const Listener listener_;
  WatchTree tree_;
  MountsBelow mounts_;              // of the thread
  std::atomic<bool> ended_{false};  // there are no events any more
  std::thread thread_;              // last: it uses all of the above
};

void InotifyWatcher::Run() {
  const Status followed = CatchExceptions([&] { return Follow(); });
  if (followed) return;
  // Before the event: what it makes revalidate is watched no more.
  ended_ = true;
  const Status announced = CatchExceptions([&]() -> Status {
    listener_(Event{{}, true});
    LogError(root_->Describe("") + ": watching for changes has ended: " + followed.error().message +
             "; from now on changes are looked for every ttl= seconds");
    return {};
  });
  static_cast<void>(announced);
}

// Until the end of the watcher; fails where there will be no more events before that.
Status InotifyWatcher::Follow() {
  std::array<pollfd, 3> waiting{
      {{inotify_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}, {mounts_.descriptor(), POLLPRI, 0}}};
  for (;;) {
    const int ready = ::poll(waiting.data(), waiting.size(), -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return FailErrno(errno, "waiting for events");
    if (waiting[1].revents != 0) return {};
    if (waiting[0].revents != 0) UNSHARD_RETURN_IF_ERROR(Drain());
    if (waiting[2].revents != 0 && mounts_.Changed()) {
      tree_.Rebuild();
      listener_(Event{{}, true});
    }
  }
}

// Reads one buffer of events and delivers them.
Status InotifyWatcher::Drain() {
  alignas(inotify_event) std::array<char, kBufferBytes> buffer;
  const ssize_t size = ::read(inotify_.get(), buffer.data(), buffer.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (size <= 0) return FailErrno(size < 0 ? errno : EIO, "reading events");
  Deliver(buffer.data(), static_cast<std::size_t>(size));
  return {};
}

void InotifyWatcher::Deliver(const char* buffer, std::size_t size) {
  // A file that is being written makes one event per write: one of them is enough.
  std::unordered_set<std::string> seen;
  std::vector<std::string> keys;
  bool everything = false;
  for (std::size_t at = 0; at + sizeof(inotify_event) <= size;) {
    inotify_event event{};
    std::memcpy(&event, buffer + at, sizeof(event));
    const char* name = buffer + at + sizeof(event);
    at += sizeof(event) + event.len;
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      tree_.Rebuild();
      everything = true;
      continue;
    }
    const std::string_view text(name, ::strnlen(name, event.len));
    for (std::string& key : tree_.Take(event.wd, event.mask, text)) {
      if (seen.insert(key).second) keys.push_back(std::move(key));
    }
  }
  if (everything) listener_(Event{{}, true});
  for (std::string& key : keys) {
    const bool is_root = key.empty();
    listener_(Event{std::move(key), is_root});
  }
}

class NullWatcher final : public ChangeWatcher {
 public:
  bool Watch(std::string_view) override { return false; }
};

}  // namespace

Result<std::unique_ptr<ChangeWatcher>> MakeInotifyWatcher(const std::string& root,
                                                          ChangeWatcher::Listener listener,
                                                          std::shared_ptr<const OwnMount> own) {
  UNSHARD_ASSIGN_OR_RETURN(auto directory,
                           RootDirectory::Open(root, RootDirectory::Resolver::kBest, own));
  FileDescriptor inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify.valid()) {
    return FailErrno(errno, root + ": watching it (fs.inotify.max_user_instances may be reached)");
  }
  FileDescriptor stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return FailErrno(errno, root + ": starting to watch it");
  try {
    return std::make_unique<InotifyWatcher>(std::move(directory), std::move(inotify),
                                            std::move(stop), std::move(listener), std::move(own));
  } catch (const std::system_error& error) {
    return FailErrno(error.code().value(), root + ": watching it: starting a thread");
  }
}

std::unique_ptr<ChangeWatcher> MakeNullWatcher() { return std::make_unique<NullWatcher>(); }

}  // namespace unshard
