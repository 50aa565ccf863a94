// Opens, reads and closes files of a tree in random order, and prints latencies as JSON:
//
//   bench_chunk_reader ROOT LIST COUNT THREADS SEED
//
// LIST has a chunk's name below ROOT as the first tab-separated field of each line.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "tests/bench/measure.h"

namespace unshard_bench {
namespace {

// One whole file as most programs read it: open, fstat, read of st_size bytes, close.
std::size_t ReadFile(int root, const std::string& name, std::vector<unsigned char>& buffer) {
  const int file = openat(root, name.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) Fail("cannot open " + name + ": " + std::strerror(errno));
  struct stat attributes {};
  if (fstat(file, &attributes) != 0) Fail("cannot stat " + name);
  const auto size = static_cast<std::size_t>(attributes.st_size);
  if (buffer.size() < size) buffer.resize(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = read(file, buffer.data() + done, size - done);
    if (got < 0) Fail("cannot read " + name + ": " + std::strerror(errno));
    if (got == 0) Fail(name + " ends before its size");
    done += static_cast<std::size_t>(got);
  }
  close(file);
  return size;
}

int Run(char** arguments) {
  const int root = open(arguments[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) Fail(std::string("cannot open the directory ") + arguments[1]);
  std::vector<std::string> names =
      ChooseLines(arguments[2], std::stoul(arguments[3]), std::stoul(arguments[5]));
  for (std::string& name : names) name.resize(std::min(name.size(), name.find('\t')));
  MeasureAndPrint(names.size(), static_cast<unsigned>(std::stoul(arguments[4])), [&] {
    // Large and touched once, so that no page fault of ours is measured.
    auto buffer = std::make_shared<std::vector<unsigned char>>(std::size_t{1} << 20);
    return [&names, root, buffer](std::size_t i) {
      return Timed([&] {
        const std::size_t size = ReadFile(root, names[i], *buffer);
        return std::pair<const unsigned char*, std::size_t>(buffer->data(), size);
      });
    };
  });
  return 0;
}

}  // namespace
}  // namespace unshard_bench

int main(int argc, char** argv) {
  if (argc != 6) unshard_bench::Fail("usage: bench_chunk_reader ROOT LIST COUNT THREADS SEED");
  return unshard_bench::Run(argv);
}
