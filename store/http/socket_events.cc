#include "store/http/socket_events.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace unshard {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMostReady = 256;  // at a time; the others are the next ones
constexpr milliseconds kLongest{1000};

std::uint32_t EventsFor(SocketEvents::For what) {
  switch (what) {
    case SocketEvents::For::kReading:
      return EPOLLIN;
    case SocketEvents::For::kWriting:
      return EPOLLOUT;
    case SocketEvents::For::kBoth:
      return EPOLLIN | EPOLLOUT;
  }
  return 0;
}

}  // namespace

// Each write to an event counter that is watched edge-triggered is an event: it need not be read.
SocketEvents::SocketEvents()
    : poll_(epoll_create1(EPOLL_CLOEXEC)), wakes_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.fd = wakes_;
  if (usable()) epoll_ctl(poll_, EPOLL_CTL_ADD, wakes_, &event);
}

SocketEvents::~SocketEvents() {
  for (const int descriptor : {poll_, wakes_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

// Where the system has no memory for it, the socket is never ready, and its request is late.
void SocketEvents::Watch(int socket, For what, bool known) const {
  epoll_event event{};
  event.events = EventsFor(what);
  event.data.fd = socket;
  epoll_ctl(poll_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
}

void SocketEvents::Unwatch(int socket) const {
  epoll_event event{};
  epoll_ctl(poll_, EPOLL_CTL_DEL, socket, &event);
}

const std::vector<SocketEvents::Ready>& SocketEvents::Wait(Time until) {
  std::array<epoll_event, kMostReady> events;
  const auto now = Clock::now();
  const auto wait =
      until <= now
          ? milliseconds(0)
          : std::chrono::ceil<milliseconds>(std::min<Clock::duration>(until - now, kLongest));
  const int count = epoll_wait(poll_, events.data(), static_cast<int>(events.size()),
                               static_cast<int>(wait.count()));
  ready_.clear();
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.fd == wakes_) continue;
    const bool failed = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
    ready_.push_back({event.data.fd, failed || (event.events & EPOLLIN) != 0,
                      failed || (event.events & EPOLLOUT) != 0});
  }
  return ready_;
}

void SocketEvents::Wake() const {
  const std::uint64_t one = 1;
  // Fails only where it has been written to 2^64 times.
  static_cast<void>(!write(wakes_, &one, sizeof one));
}

}  // namespace unshard
