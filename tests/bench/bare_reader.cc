// The least that a program can do to read chunks of a sharded dataset at random: look the chunk up
// in an index (kept once read), pread its bytes, inflate them. Prints latencies as JSON:
//
//   bench_bare_reader zarr|precomputed INDEX DATA PAGE LIST COUNT THREADS SEED
//
// INDEX and DATA are raw or gzip. PAGE is the number of inner chunks of a Zarr shard (index of u64
// pairs and a crc32c at its end), or of minishards of a precomputed shard. Each line of LIST has,
// tab-separated: name, shard file, minishard (0 for Zarr), chunk id (position in the Zarr index).
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <unordered_map>

#include "tests/bench/measure.h"

namespace unshard_bench {
namespace {

using Buffer = std::vector<unsigned char>;

struct Range {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct Chunk {
  std::string shard;
  std::uint64_t minishard = 0;
  std::uint64_t id = 0;
};

struct Format {
  bool zarr = false;
  bool gzip_index = false;
  bool gzip_data = false;
  std::uint64_t page = 0;
};

void ReadAt(int file, const Range& range, Buffer& buffer) {
  if (buffer.size() < range.size) buffer.resize(range.size);
  std::size_t done = 0;
  while (done < range.size) {
    const ssize_t got = pread(file, buffer.data() + done, range.size - done,
                              static_cast<off_t>(range.offset + done));
    if (got <= 0) Fail("cannot read a shard");
    done += static_cast<std::size_t>(got);
  }
}

// Inflates one gzip member into `plain`, which grows as needed; returns the plain size.
std::size_t Inflate(Buffer& stored, std::size_t size, Buffer& plain) {
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_GZIP;
  state.next_in = stored.data();
  state.avail_in = static_cast<std::uint32_t>(size);
  std::size_t done = 0;
  do {
    if (done == plain.size()) plain.resize(std::max(std::size_t{1} << 16, 2 * plain.size()));
    state.next_out = plain.data() + done;
    state.avail_out = static_cast<std::uint32_t>(plain.size() - done);
    if (isal_inflate(&state) != ISAL_DECOMP_OK) Fail("a chunk is not gzip");
    done = plain.size() - state.avail_out;
  } while (state.block_state != ISAL_BLOCK_FINISH);
  return done;
}

std::uint64_t Word(const Buffer& bytes, std::size_t index) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + 8 * index, 8);
  return word;
}

using Index = std::unordered_map<std::uint64_t, Range>;

Index ReadZarrIndex(int file, const Format& format) {
  struct stat attributes {};
  if (fstat(file, &attributes) != 0) Fail("cannot stat a shard");
  const std::uint64_t size = 16 * format.page + 4;
  Buffer bytes;
  ReadAt(file, {static_cast<std::uint64_t>(attributes.st_size) - size, size}, bytes);
  Index index;
  for (std::size_t i = 0; i < format.page; ++i) {
    if (Word(bytes, 2 * i) != ~std::uint64_t{0}) {
      index[i] = {Word(bytes, 2 * i), Word(bytes, 2 * i + 1)};
    }
  }
  return index;
}

Index ReadMinishardIndex(int file, const Format& format, std::uint64_t minishard) {
  const std::uint64_t base = 16 * format.page;  // offsets count from the end of the shard index
  Buffer bytes;
  ReadAt(file, {16 * minishard, 16}, bytes);
  const Range range{base + Word(bytes, 0), Word(bytes, 1) - Word(bytes, 0)};
  ReadAt(file, range, bytes);
  std::size_t size = range.size;
  if (format.gzip_index) {
    Buffer plain;
    size = Inflate(bytes, size, plain);
    bytes = std::move(plain);
  }
  const std::size_t count = size / 24;
  Index index;
  std::uint64_t id = 0;
  std::uint64_t offset = base;
  for (std::size_t i = 0; i < count; ++i) {  // ids and gaps are stored as differences
    id += Word(bytes, i);
    offset += Word(bytes, count + i);
    index[id] = {offset, Word(bytes, 2 * count + i)};
    offset += index[id].size;
  }
  return index;
}

// Shard files and their indexes, kept once read.
class Shards {
 public:
  explicit Shards(const Format& format) : format_(format) {}

  std::pair<int, Range> Locate(const Chunk& chunk) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [file, opened] = files_.try_emplace(chunk.shard, -1);
    if (opened) {
      file->second = open(chunk.shard.c_str(), O_RDONLY | O_CLOEXEC);
      if (file->second < 0) Fail("cannot open " + chunk.shard);
      // Read-ahead between random chunks would only cost.
      posix_fadvise(file->second, 0, 0, POSIX_FADV_RANDOM);
    }
    const auto [index, read] = indexes_.try_emplace({file->second, chunk.minishard});
    if (read) {
      index->second = format_.zarr ? ReadZarrIndex(file->second, format_)
                                   : ReadMinishardIndex(file->second, format_, chunk.minishard);
    }
    const auto range = index->second.find(chunk.id);
    if (range == index->second.end()) Fail("a chunk is not in " + chunk.shard);
    return {file->second, range->second};
  }

 private:
  const Format format_;
  std::mutex mutex_;
  std::unordered_map<std::string, int> files_;
  std::map<std::pair<int, std::uint64_t>, Index> indexes_;
};

std::vector<Chunk> ParseChunks(const std::vector<std::string>& lines) {
  std::vector<Chunk> chunks;
  for (const std::string& line : lines) {
    std::istringstream fields(line);
    std::string name;
    Chunk chunk;
    std::getline(fields, name, '\t');
    std::getline(fields, chunk.shard, '\t');
    if (!(fields >> chunk.minishard >> chunk.id)) Fail("a line of the list lacks a field: " + line);
    chunks.push_back(chunk);
  }
  return chunks;
}

int Run(char** arguments) {
  const Format format{std::string(arguments[1]) == "zarr", std::string(arguments[2]) == "gzip",
                      std::string(arguments[3]) == "gzip", std::stoul(arguments[4])};
  const std::vector<Chunk> chunks =
      ParseChunks(ChooseLines(arguments[5], std::stoul(arguments[6]), std::stoul(arguments[8])));
  Shards shards(format);
  MeasureAndPrint(chunks.size(), static_cast<unsigned>(std::stoul(arguments[7])), [&] {
    auto stored = std::make_shared<Buffer>(std::size_t{1} << 20);
    auto plain = std::make_shared<Buffer>(std::size_t{1} << 20);
    return [&, stored, plain](std::size_t i) {
      return Timed([&] {
        const auto [file, range] = shards.Locate(chunks[i]);
        ReadAt(file, range, *stored);
        if (!format.gzip_data)
          return std::pair<const unsigned char*, std::size_t>(stored->data(), range.size);
        const std::size_t size = Inflate(*stored, range.size, *plain);
        return std::pair<const unsigned char*, std::size_t>(plain->data(), size);
      });
    };
  });
  return 0;
}

}  // namespace
}  // namespace unshard_bench

int main(int argc, char** argv) {
  if (argc != 9) {
    unshard_bench::Fail(
        "usage: bench_bare_reader zarr|precomputed INDEX DATA PAGE LIST COUNT THREADS SEED");
  }
  return unshard_bench::Run(argv);
}
