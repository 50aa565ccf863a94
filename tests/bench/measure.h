// What the load generators of the benchmarks share: the choice of chunks, threads, percentiles and
// the JSON line that they print.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace unshard_bench {

[[noreturn]] inline void Fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

// The lines of `list` that a run reads: `count` of them (0: all) in an order that only `seed`
// decides, so that every contestant reads the same chunks in the same order.
inline std::vector<std::string> ChooseLines(const std::string& list, std::size_t count,
                                            std::uint64_t seed) {
  std::ifstream file(list);
  if (!file) Fail("cannot open the list of chunks " + list);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (lines.empty()) Fail(list + " names no chunk");
  std::mt19937_64 random(seed);
  for (std::size_t i = lines.size() - 1; i > 0; --i) std::swap(lines[i], lines[random() % (i + 1)]);
  if (count != 0 && count < lines.size()) lines.resize(count);
  return lines;
}

// A sum over the bytes of one chunk, cheap and independent of everything but the bytes. Added up
// over a run it shows that two contestants read the same.
inline std::uint64_t Checksum(const unsigned char* bytes, std::size_t size) {
  std::uint64_t sum = size;
  for (std::size_t i = 0; i < size; i += 509) sum = sum * 1099511628211u + bytes[i];
  return size == 0 ? sum : sum * 1099511628211u + bytes[size - 1];
}

struct ChunkResult {
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
  double microseconds = 0;
};

// Runs the clock over `read`, which returns the chunk's bytes in a buffer of its own.
template <typename Read>
ChunkResult Timed(Read&& read) {
  const auto before = std::chrono::steady_clock::now();
  const std::pair<const unsigned char*, std::size_t> chunk = read();
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - before;
  return {chunk.second, Checksum(chunk.first, chunk.second), taken.count()};
}

// Prints one line of JSON about chunks that `in_flight` threads or requests read at a time.
inline void PrintResults(const std::vector<ChunkResult>& results, std::size_t in_flight,
                         double seconds) {
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
  std::vector<double> latencies;
  for (const ChunkResult& result : results) {
    bytes += result.bytes;
    checksum += result.checksum;
    latencies.push_back(result.microseconds);
  }
  std::sort(latencies.begin(), latencies.end());
  const auto percentile = [&](std::size_t p) {
    return latencies[(latencies.size() - 1) * p / 100];
  };
  std::printf(
      "{\"chunks\": %zu, \"threads\": %zu, \"bytes\": %llu, \"checksum\": \"%016llx\", "
      "\"seconds\": %.6f, \"p10_us\": %.2f, \"p50_us\": %.2f, \"p99_us\": %.2f, \"max_us\": "
      "%.2f}\n",
      results.size(), in_flight, static_cast<unsigned long long>(bytes),
      static_cast<unsigned long long>(checksum), seconds, percentile(10), percentile(50),
      percentile(99), latencies.back());
}

// Reads chunks 0..count-1 with `threads` threads, each of which takes the next one when it is done,
// and prints one line of JSON. `make_reader` is called once in each thread.
using ChunkReader = std::function<ChunkResult(std::size_t)>;
inline void MeasureAndPrint(std::size_t count, unsigned threads,
                            const std::function<ChunkReader()>& make_reader) {
  std::vector<ChunkResult> results(count);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    const ChunkReader reader = make_reader();
    for (std::size_t i = next++; i < count; i = next++) results[i] = reader(i);
  };
  const auto before = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - before;
  PrintResults(results, threads, taken.count());
}

}  // namespace unshard_bench
