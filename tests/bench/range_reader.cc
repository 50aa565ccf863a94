// Reads ranges of objects with libcurl, which is the limit for whoever reads chunks over HTTP, and
// prints latencies as JSON:
//
//   bench_range_reader BASE LIST COUNT IN_FLIGHT SEED
//
// Each line of LIST has, tab-separated: a name, the path of an object below the URL BASE, offset
// and size of a range. Size 0 is the whole object, of which the bytes are only counted. One thread;
// IN_FLIGHT requests at a time, over as many kept connections.
#include <curl/curl.h>

#include <memory>
#include <sstream>

#include "tests/bench/measure.h"

namespace unshard_bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Range {
  std::string object;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

std::vector<Range> ParseRanges(const std::vector<std::string>& lines) {
  std::vector<Range> ranges;
  for (const std::string& line : lines) {
    std::istringstream fields(line);
    std::string name;
    Range range;
    std::getline(fields, name, '\t');
    std::getline(fields, range.object, '\t');
    if (!(fields >> range.offset >> range.size)) Fail("a line of the list lacks a field: " + line);
    ranges.push_back(range);
  }
  return ranges;
}

// A handle of libcurl, and the request that it is used for at present.
class Slot {
 public:
  Slot() : handle_(curl_easy_init(), curl_easy_cleanup) {
    if (!handle_) Fail("libcurl cannot be started");
    Set(CURLOPT_WRITEFUNCTION, &Slot::OnBody);
    Set(CURLOPT_WRITEDATA, this);
    Set(CURLOPT_PRIVATE, this);
    Set(CURLOPT_NOSIGNAL, 1L);
    Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    Set(CURLOPT_BUFFERSIZE, 512L << 10);
    Set(CURLOPT_TCP_NODELAY, 1L);
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  [[nodiscard]] CURL* handle() const { return handle_.get(); }
  [[nodiscard]] std::size_t number() const { return number_; }

  void Begin(const std::string& base, const Range& range, std::size_t number) {
    number_ = number;
    size_ = range.size;
    body_.clear();
    taken_ = 0;
    Set(CURLOPT_URL, (base + "/" + range.object).c_str());
    const std::string last = std::to_string(range.offset + range.size - 1);
    const std::string asked = std::to_string(range.offset) + "-" + last;
    Set(CURLOPT_RANGE, range.size == 0 ? nullptr : asked.c_str());
    begun_ = Clock::now();
  }

  ChunkResult End(CURLcode code) {
    const std::chrono::duration<double, std::micro> taken = Clock::now() - begun_;
    long status = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    const bool whole = size_ == 0;
    if (code != CURLE_OK || status != (whole ? 200 : 206) || (!whole && taken_ != size_)) {
      Fail(std::string("a request has failed: ") + curl_easy_strerror(code) + ", status " +
           std::to_string(status));
    }
    return {taken_, whole ? 0 : Checksum(body_.data(), body_.size()), taken.count()};
  }

 private:
  template <class Value>
  void Set(CURLoption option, Value value) {
    curl_easy_setopt(handle_.get(), option, value);
  }

  static std::size_t OnBody(const char* data, std::size_t size, std::size_t count, void* slot) {
    auto& self = *static_cast<Slot*>(slot);
    self.taken_ += size * count;
    if (self.size_ != 0) self.body_.insert(self.body_.end(), data, data + size * count);
    return size * count;
  }

  const std::unique_ptr<CURL, void (*)(CURL*)> handle_;
  std::vector<unsigned char> body_;
  std::uint64_t size_ = 0;
  std::uint64_t taken_ = 0;
  std::size_t number_ = 0;
  Clock::time_point begun_;
};

int Run(char** arguments) {
  const std::string base = arguments[1];
  const std::vector<Range> ranges =
      ParseRanges(ChooseLines(arguments[2], std::stoul(arguments[3]), std::stoul(arguments[5])));
  const std::size_t in_flight = std::stoul(arguments[4]);
  if (in_flight == 0) Fail("IN_FLIGHT is at least 1");
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURLM, CURLMcode (*)(CURLM*)> multi(curl_multi_init(), curl_multi_cleanup);
  if (!multi) Fail("libcurl cannot be started");
  curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(in_flight));
  std::vector<Slot> slots(std::min(in_flight, ranges.size()));
  std::vector<ChunkResult> results(ranges.size());
  std::size_t begun = 0;
  const auto begin = [&](Slot& slot) {
    slot.Begin(base, ranges[begun], begun);
    ++begun;
    curl_multi_add_handle(multi.get(), slot.handle());
  };

  const auto before = Clock::now();
  for (Slot& slot : slots) begin(slot);
  for (std::size_t ended = 0; ended < ranges.size();) {
    int left = 0;
    curl_multi_perform(multi.get(), &left);
    bool wait = true;
    while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      void* found = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &found);
      Slot& slot = *static_cast<Slot*>(found);
      results[slot.number()] = slot.End(code);
      curl_multi_remove_handle(multi.get(), slot.handle());
      wait = ++ended < ranges.size() && begun == ranges.size();
      if (begun < ranges.size()) begin(slot);
    }
    if (wait) curl_multi_poll(multi.get(), nullptr, 0, 1000, nullptr);
  }
  const std::chrono::duration<double> taken = Clock::now() - before;
  for (const Slot& slot : slots) curl_multi_remove_handle(multi.get(), slot.handle());
  PrintResults(results, in_flight, taken.count());
  return 0;
}

}  // namespace
}  // namespace unshard_bench

int main(int argc, char** argv) {
  if (argc != 6) unshard_bench::Fail("usage: bench_range_reader BASE LIST COUNT IN_FLIGHT SEED");
  return unshard_bench::Run(argv);
}
