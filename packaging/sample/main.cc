// unshard-sample: a synthetic dataset of neural tissue, to try unshard on and to test with.
//
//   segmentation/  a Neuroglancer precomputed volume of uint64 labels: two scales,
//                  compressed_segmentation, sharded (identity hash, gzip)
//   image/         an OME-Zarr 0.5 group with the matching uint8 image: arrays "0" and "1",
//                  sharding_indexed
//
// Every byte follows from the size alone. The metadata are written last; a failure removes again
// what was written.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "codec/core/escaped_text.h"
#include "codec/core/text.h"
#include "codec/precomputed/access.h"
#include "codec/precomputed/info.h"
#include "codec/zarr3/document.h"
#include "packaging/sample/chunks.h"

namespace unshard::sample {
namespace {

namespace filesystem = std::filesystem;

constexpr std::uint64_t kMaxMegabytes = 100'000;
constexpr const char* kUsage =
    "Usage: unshard-sample DIR [--megabytes N]\n"
    "\n"
    "Writes a sharded segmentation (precomputed) and a sharded image (Zarr v3) into DIR, which is\n"
    "new or empty: about N megabytes, 1 to 100000; 20 without --megabytes.\n";

// One array of the sample. Immutable once made; used by all threads.
struct Array {
  std::string directory;
  Position grid{};
  bool x_is_last = false;  // the order of the coordinates that `locator` takes
  std::shared_ptr<const ShardFormat> format;
  std::shared_ptr<const ShardKeys> keys;
  std::shared_ptr<const ChunkLocator> locator;
  std::function<Result<ByteVector>(const Position&)> chunk;
};

// Shards are written as the documents of the sample say.
Result<std::vector<Array>> MakeArrays(const std::string& directory, const Levels& levels) {
  std::vector<Array> arrays;
  for (std::size_t number = 0; number < levels.size(); ++number) {
    UNSHARD_ASSIGN_OR_RETURN(const ZarrNode node, ParseZarrMetadata(ArrayDocument(levels[number])));
    arrays.push_back({directory + "/image/" + std::to_string(number), levels[number].grid(), true,
                      node.sharded->format, node.sharded->keys, node.sharded->locator,
                      [=](const Position& cell) { return ImageChunk(levels, number, cell); }});
  }
  UNSHARD_ASSIGN_OR_RETURN(const NeuroglancerInfo info,
                           ParseNeuroglancerInfo(InfoDocument(levels)));
  for (std::size_t number = 0; number < levels.size(); ++number) {
    const ShardedDirectory& scale = info.sharded[number];
    UNSHARD_ASSIGN_OR_RETURN(ShardedDirectoryAccess access,
                             MakeAccess(scale, MortonRule::kStandard));
    arrays.push_back({directory + "/segmentation/" + scale.directory, levels[number].grid(), false,
                      access.format, access.keys, access.locator,
                      [=](const Position& cell) { return LabelChunk(levels, number, cell); }});
  }
  return arrays;
}

// One shard to write: its chunks, and where each chunk is in the volume.
struct Shard {
  const Array* array = nullptr;
  std::uint64_t number = 0;
  std::vector<AssembledChunk> chunks;
  std::vector<Position> cells;
};

std::vector<Shard> ShardsOf(const Array& array) {
  std::map<std::uint64_t, Shard> shards;
  for (std::uint64_t i = 0; i < array.grid[0] * array.grid[1] * array.grid[2]; ++i) {
    const Position cell{i % array.grid[0], i / array.grid[0] % array.grid[1],
                        i / array.grid[0] / array.grid[1]};
    Position place = cell;
    if (array.x_is_last) std::reverse(place.begin(), place.end());
    const ShardSlot at = array.locator->Locate(place);
    Shard& shard = shards[at.shard];
    shard.array = &array;
    shard.number = at.shard;
    shard.chunks.push_back({at.page, at.slot, std::nullopt});
    shard.cells.push_back(cell);
  }
  std::vector<Shard> list;
  for (auto& [number, shard] : shards) list.push_back(std::move(shard));
  return list;
}

// A new file. Whoever writes it closes it, which can fail too.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path) : path_(path) {
    std::error_code ignored;  // what cannot be made is found by writing
    filesystem::create_directories(filesystem::path(path).parent_path(), ignored);
    stream_.open(path, std::ios::binary);
  }
  Status WriteAt(std::uint64_t at, ByteSpan bytes) {
    const std::string_view text = AsText(bytes);
    stream_.seekp(static_cast<std::streamoff>(at));
    stream_.write(text.data(), static_cast<std::streamsize>(text.size()));
    return Check();
  }
  Status Close() {
    stream_.close();
    return Check();
  }

 private:
  [[nodiscard]] Status Check() const {
    if (!stream_) return FailErrno(errno, path_ + ": writing");
    return {};
  }

  const std::string path_;
  std::ofstream stream_;
};

Status WriteShard(const Shard& shard) {
  const Array& array = *shard.array;
  const std::string path = array.directory + "/" + array.keys->Key(shard.number);
  OutputFile file(path);
  const auto assembly = array.format->Assemble(shard.number, shard.chunks);
  PutChunk put;
  for (;;) {
    UNSHARD_ASSIGN_OR_RETURN(const AssemblyStep step, assembly->Next(std::exchange(put, {})));
    switch (step.kind) {
      case AssemblyStep::Kind::kChunk: {
        UNSHARD_ASSIGN_OR_RETURN(ByteVector plain, array.chunk(shard.cells[step.chunk]));
        UNSHARD_ASSIGN_OR_RETURN(const Bytes entry,
                                 array.format->EncodeEntry(Bytes(std::move(plain))));
        UNSHARD_RETURN_IF_ERROR(file.WriteAt(step.at, entry.span()));
        put.stored = entry.size();
        break;
      }
      case AssemblyStep::Kind::kBytes:
        UNSHARD_RETURN_IF_ERROR(file.WriteAt(step.at, step.bytes));
        break;
      case AssemblyStep::Kind::kChecksum:
        return Fail(ErrorCode::kInternal, path + ": a codec around shards, which no array has");
      case AssemblyStep::Kind::kDone:
        return file.Close();
    }
  }
}

// Writes the shards with as many threads as there are processors; after a failure none is begun.
Status WriteShards(const std::vector<Shard>& shards) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t done = 0;  // guarded by mutex
  Status result;         // guarded by mutex
  const auto work = [&] {
    for (std::size_t i = next++; i < shards.size(); i = next++) {
      Status status = WriteShard(shards[i]);
      const std::lock_guard lock(mutex);
      if (!status) {
        next = shards.size();
        result = std::move(status);
      } else if (terminal) {
        std::cerr << "\r" << ++done * 100 / shards.size() << " %" << std::flush;
      }
    }
  };
  std::vector<std::jthread> threads(std::max(1U, std::thread::hardware_concurrency()));
  for (std::jthread& thread : threads) thread = std::jthread(work);
  for (std::jthread& thread : threads) thread.join();
  if (terminal) std::cerr << "\r";
  return result;
}

Status WriteDocument(const std::string& path, const std::string& text) {
  OutputFile file(path);
  UNSHARD_RETURN_IF_ERROR(file.WriteAt(0, AsBytes(text)));
  return file.Close();
}

Status WriteEverything(const std::string& directory, const Levels& levels) {
  UNSHARD_ASSIGN_OR_RETURN(const std::vector<Array> arrays, MakeArrays(directory, levels));
  std::vector<Shard> shards;
  for (const Array& array : arrays) {
    for (Shard& shard : ShardsOf(array)) shards.push_back(std::move(shard));
  }
  UNSHARD_RETURN_IF_ERROR(WriteShards(shards));
  UNSHARD_RETURN_IF_ERROR(WriteDocument(directory + "/segmentation/info", InfoDocument(levels)));
  UNSHARD_RETURN_IF_ERROR(
      WriteDocument(directory + "/image/0/zarr.json", ArrayDocument(levels[0])));
  UNSHARD_RETURN_IF_ERROR(
      WriteDocument(directory + "/image/1/zarr.json", ArrayDocument(levels[1])));
  return WriteDocument(directory + "/image/zarr.json", GroupDocument(levels));
}

Status WriteSample(const std::string& directory, std::uint64_t megabytes) {
  std::error_code error;
  filesystem::create_directories(directory, error);
  if (error) return FailErrno(error.value(), directory + ": making the directory");
  const bool empty = filesystem::is_empty(directory, error);
  if (error) return FailErrno(error.value(), directory + ": reading the directory");
  if (!empty) {
    return Fail(ErrorCode::kInvalidArgument,
                directory + ": is not empty; name a new or an empty directory for the sample");
  }
  Status status = WriteEverything(directory, MakeLevels(megabytes));
  if (!status) {
    // The directory was empty: all that it holds now is half of a sample.
    filesystem::remove_all(directory + "/segmentation", error);
    filesystem::remove_all(directory + "/image", error);
  }
  return status;
}

struct Arguments {
  std::string directory;
  std::uint64_t megabytes = 20;
};

// Nothing where the arguments are wrong.
std::optional<Arguments> Parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--megabytes" && i + 1 < words.size()) {
      arguments.megabytes = ParseNumber<std::uint64_t>(words[++i]).value_or(0);
      if (arguments.megabytes < 1 || arguments.megabytes > kMaxMegabytes) return std::nullopt;
    } else if (words[i].empty() || words[i].front() == '-' || !arguments.directory.empty()) {
      return std::nullopt;
    } else {
      arguments.directory = words[i];
    }
  }
  if (arguments.directory.empty()) return std::nullopt;
  return arguments;
}

int Run(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--help"}) {
    std::cout << kUsage;
    return 0;
  }
  const auto arguments = Parse(words);
  if (!arguments) {
    std::cerr << kUsage;
    return 2;
  }
  const Status written = WriteSample(arguments->directory, arguments->megabytes);
  if (!written) {
    std::cerr << "unshard-sample: " << Printable(written.error().message) << "\n";
    return 1;
  }
  std::cout << arguments->directory
            << ": a sharded segmentation (precomputed) and image (Zarr v3)\n";
  return 0;
}

}  // namespace
}  // namespace unshard::sample

int main(int count, char** words) { return unshard::sample::Run({words + 1, words + count}); }
