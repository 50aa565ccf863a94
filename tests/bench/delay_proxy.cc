// Forwards TCP connections to a server that is to seem farther away:
//
//   bench_delay_proxy MILLISECONDS ADDRESS:PORT [MBIT]
//
// Every byte arrives half of MILLISECONDS after it was sent, in each direction, and what a new
// connection sends first waits for the whole round trip of its handshake before. What the server
// sends shares a wire of MBIT a second (0: as fast as it goes); bytes that are on their way need no
// acknowledgement to be followed by others. Prints the address and port on the loopback where it
// listens, and runs until it is ended.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <list>
#include <memory>

#include "tests/bench/measure.h"

namespace unshard_bench {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<char>;

constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr int kReadsInTurn = 4;  // of one line, before the others have theirs

// A socket that does not block. What epoll says once (EPOLLET) holds until a call says EAGAIN.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {
    const int on = 1;
    setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~Socket() { close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] bool readable() const { return readable_; }
  [[nodiscard]] bool writable() const { return writable_; }
  [[nodiscard]] bool failed() const { return failed_; }

  void Take(std::uint32_t events) {
    readable_ |= (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    writable_ |= (events & EPOLLOUT) != 0;
  }
  // 0 at the end; negative where nothing is there, or after a failure.
  ssize_t Read(Bytes& buffer) {
    const ssize_t got = recv(descriptor_, buffer.data(), buffer.size(), 0);
    if (got <= 0) readable_ = false;
    if (got < 0) failed_ |= errno != EAGAIN && errno != EINTR;
    return got;
  }
  std::size_t Write(const char* data, std::size_t size) {
    const ssize_t put = send(descriptor_, data, size, MSG_NOSIGNAL);
    if (put >= 0) return static_cast<std::size_t>(put);
    writable_ = false;
    failed_ |= errno != EAGAIN && errno != EINTR;
    return 0;
  }

 private:
  const int descriptor_;
  bool readable_ = false;
  bool writable_ = false;
  bool failed_ = false;
};

// What all connections send in one direction, one byte after another.
class Wire {
 public:
  explicit Wire(double bytes_a_second) : bytes_a_second_(bytes_a_second) {}

  // When so many bytes have left that were to be sent at `now`.
  Clock::time_point Send(Clock::time_point now, std::size_t bytes) {
    if (bytes_a_second_ <= 0) return now;
    const std::chrono::duration<double> taken(static_cast<double>(bytes) / bytes_a_second_);
    free_ = std::max(free_, now) + std::chrono::duration_cast<Clock::duration>(taken);
    return free_;
  }

 private:
  const double bytes_a_second_;
  Clock::time_point free_{};
};

// One direction of a connection: bytes, each with the time when it arrives.
class Line {
 public:
  Line(Socket& from, Socket& to, Wire& wire, Clock::duration delay, Clock::time_point open_from)
      : from_(from), to_(to), wire_(wire), delay_(delay), open_from_(open_from) {}

  // Moves what can be moved now. True: there may be more to read at once.
  bool Pump(Clock::time_point now, Bytes& buffer) {
    for (int i = 0; i < kReadsInTurn; ++i) {
      Deliver(now);
      // A receiver that takes nothing must hold its sender up, as it would without us.
      const bool held_up = !pieces_.empty() && pieces_.front().due <= now;
      if (ended_ || held_up || !from_.readable()) return false;
      const ssize_t got = from_.Read(buffer);
      if (got < 0) continue;
      ended_ = got == 0;
      Append(now, buffer.data(), static_cast<std::size_t>(got));
    }
    return from_.readable();
  }

  [[nodiscard]] bool done() const { return shut_; }
  // When the next bytes arrive; where only epoll can tell: the end of time.
  [[nodiscard]] Clock::time_point next() const {
    return pieces_.empty() || !to_.writable() ? Clock::time_point::max() : pieces_.front().due;
  }

 private:
  struct Piece {
    Clock::time_point due;
    Bytes bytes;  // empty: the end
    std::size_t delivered = 0;
  };

  void Append(Clock::time_point now, const char* data, std::size_t size) {
    const auto due = std::max(wire_.Send(now, size), open_from_) + delay_;
    // Without delay the bytes need not be kept.
    while (size > 0 && due <= now && pieces_.empty() && to_.writable()) {
      const std::size_t put = to_.Write(data, size);
      data += put;
      size -= put;
    }
    if (size > 0 || ended_) pieces_.push_back({due, Bytes(data, data + size)});
  }

  void Deliver(Clock::time_point now) {
    while (!pieces_.empty() && pieces_.front().due <= now && to_.writable()) {
      Piece& piece = pieces_.front();
      if (piece.bytes.empty()) {
        shutdown(to_.descriptor(), SHUT_WR);
        shut_ = true;
        return pieces_.clear();
      }
      piece.delivered +=
          to_.Write(piece.bytes.data() + piece.delivered, piece.bytes.size() - piece.delivered);
      if (piece.delivered == piece.bytes.size()) pieces_.pop_front();
    }
  }

  Socket& from_;
  Socket& to_;
  Wire& wire_;
  const Clock::duration delay_;
  const Clock::time_point open_from_;
  std::deque<Piece> pieces_;
  bool ended_ = false;
  bool shut_ = false;
};

class Connection {
 public:
  Connection(int client, int server, Wire& up, Wire& down, Clock::duration delay)
      : client_(client),
        server_(server),
        up_(client_, server_, up, delay, Clock::now() + 2 * delay),
        down_(server_, client_, down, delay, Clock::now()) {}

  Socket& client() { return client_; }
  Socket& server() { return server_; }
  bool Pump(Clock::time_point now, Bytes& buffer) {
    const bool more_up = up_.Pump(now, buffer);
    const bool more_down = down_.Pump(now, buffer);
    return more_up || more_down;
  }
  [[nodiscard]] bool done() const {
    return (up_.done() && down_.done()) || client_.failed() || server_.failed();
  }
  [[nodiscard]] Clock::time_point next() const { return std::min(up_.next(), down_.next()); }

 private:
  Socket client_;
  Socket server_;
  Line up_;
  Line down_;
};

class Proxy {
 public:
  Proxy(Clock::duration delay, const sockaddr_in& target, double bytes_a_second)
      : delay_(delay),
        target_(target),
        down_(bytes_a_second),
        poll_(epoll_create1(EPOLL_CLOEXEC)),
        listener_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (poll_ < 0 || bind(listener_, Generic(address), size) != 0 ||
        listen(listener_, SOMAXCONN) != 0 || getsockname(listener_, Generic(address), &size) != 0) {
      Fail("cannot listen");
    }
    Watch(listener_, EPOLLIN, nullptr);
    std::printf("127.0.0.1:%d\n", ntohs(address.sin_port));
    std::fflush(stdout);
  }

  [[noreturn]] void Run() {
    for (bool more = false;;) {
      Wait(more);
      more = false;
      const auto now = Clock::now();
      for (auto at = connections_.begin(); at != connections_.end();) {
        more |= (*at)->Pump(now, buffer_);
        at = (*at)->done() ? connections_.erase(at) : std::next(at);
      }
    }
  }

 private:
  static sockaddr* Generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

  void Watch(int descriptor, std::uint32_t events, Socket* socket) const {
    epoll_event event{};
    event.events = events;
    event.data.ptr = socket;
    if (epoll_ctl(poll_, EPOLL_CTL_ADD, descriptor, &event) != 0) Fail("cannot watch a socket");
  }

  // Until bytes arrive at a socket or at the end of a line; not at all where `more` is to do.
  void Wait(bool more) {
    auto next = more ? Clock::time_point::min() : Clock::time_point::max();
    for (const auto& each : connections_) next = std::min(next, each->next());
    const bool forever = next == Clock::time_point::max();
    const auto now = Clock::now();
    const std::chrono::nanoseconds left(next > now && !forever ? next - now : Clock::duration{});
    const timespec timeout{left.count() / 1000000000, left.count() % 1000000000};
    epoll_event events[64];
    const int count = epoll_pwait2(poll_, events, 64, forever ? nullptr : &timeout, nullptr);
    for (int i = 0; i < count; ++i) {
      auto* const socket = static_cast<Socket*>(events[i].data.ptr);
      if (socket != nullptr) {
        socket->Take(events[i].events);
      } else {
        Accept();
      }
    }
  }

  void Accept() {
    for (;;) {
      const int client = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (client < 0) return;
      const int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      if (server < 0) Fail("no more sockets");
      // What fails is seen when the socket is used.
      static_cast<void>(connect(server, Generic(target_), sizeof target_));
      Connection& made = *connections_.emplace_back(
          std::make_unique<Connection>(client, server, up_, down_, delay_));
      for (Socket* each : {&made.client(), &made.server()}) {
        Watch(each->descriptor(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, each);
      }
    }
  }

  const Clock::duration delay_;
  sockaddr_in target_;
  Wire up_{0};
  Wire down_;
  const int poll_;
  const int listener_;
  std::list<std::unique_ptr<Connection>> connections_;
  Bytes buffer_ = Bytes(kReadBytes);
};

// A connection takes two descriptors.
void AllowManyDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Run(char** arguments, double mbit) {
  AllowManyDescriptors();
  const std::chrono::duration<double, std::milli> round_trip(std::stod(arguments[1]));
  const std::string server = arguments[2];
  const std::size_t colon = server.rfind(':');
  sockaddr_in target{};
  target.sin_family = AF_INET;
  if (colon == std::string::npos ||
      inet_pton(AF_INET, server.substr(0, colon).c_str(), &target.sin_addr) != 1) {
    Fail(server + ": not an IPv4 address and a port");
  }
  target.sin_port = htons(static_cast<std::uint16_t>(std::stoi(server.substr(colon + 1))));
  Proxy(std::chrono::duration_cast<Clock::duration>(round_trip / 2), target, mbit * 1e6 / 8).Run();
}

}  // namespace
}  // namespace unshard_bench

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    unshard_bench::Fail("usage: bench_delay_proxy MILLISECONDS ADDRESS:PORT [MBIT]");
  }
  return unshard_bench::Run(argv, argc == 4 ? std::stod(argv[3]) : 0);
}
