#include "packaging/sample/volume.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "codec/grid/morton.h"
#include "codec/voxel/compressed_segmentation.h"
#include "codec/zarr3/shard_writer.h"
#include "packaging/sample/labels.h"
#include "packaging/sample/layout.h"
#include "packaging/sample/texture.h"

namespace unshard {
namespace {

namespace filesystem = std::filesystem;

constexpr std::size_t kEdge = kSampleTileExtent;
constexpr unsigned kMaxThreads = 4;  // what the memory bound allows; the disk is the limit anyway

SampleExtent OriginOf(const SampleExtent& cell) {
  return {kEdge * cell[0], kEdge * cell[1], kEdge * cell[2]};
}

// The part of the chunk `cell` that lies within the volume.
SampleExtent ClippedExtent(const SampleLevel& level, const SampleExtent& cell) {
  SampleExtent extent;
  for (std::size_t d = 0; d < 3; ++d) {
    extent[d] = std::min<std::uint64_t>(kEdge, level.size[d] - kEdge * cell[d]);
  }
  return extent;
}

bool Contains(const SampleExtent& grid, const SampleExtent& cell) {
  return cell[0] < grid[0] && cell[1] < grid[1] && cell[2] < grid[2];
}

// Cell `number`, x fastest, of a cube of `edge` cells that begins at `corner`.
SampleExtent CellOfCube(const SampleExtent& corner, std::uint64_t edge, std::uint64_t number) {
  return {corner[0] + number % edge, corner[1] + number / edge % edge,
          corner[2] + number / edge / edge};
}

// The file `path` with these bytes, and its parent directories.
Status WriteFile(const std::string& path, ByteSpan bytes) {
  std::error_code error;
  filesystem::create_directories(filesystem::path(path).parent_path(), error);
  if (error) return FailErrno(error.value(), path + ": making its directory");
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (file) file.close();
  return file ? Status{} : FailErrno(errno != 0 ? errno : EIO, path + ": writing it");
}

// --- The image: each task writes one shard of level 1 and the 8 shards of level 0 below it.

std::string ImageShardPath(std::size_t level, const SampleExtent& shard) {
  return "image/" + std::to_string(level) + "/c/" + std::to_string(shard[2]) + "/" +
         std::to_string(shard[1]) + "/" + std::to_string(shard[0]);
}

constexpr std::uint64_t kSlots =
    kSampleChunksPerShard * kSampleChunksPerShard * kSampleChunksPerShard;

// What lies beyond the volume is the fill value, as other writers leave it.
void ClearBeyond(const SampleExtent& extent, ByteVector& grey) {
  for (std::size_t row = 0; row < kEdge * kEdge; ++row) {
    const bool inside = row % kEdge < extent[1] && row / kEdge < extent[2];
    const auto begin = grey.begin() + static_cast<std::ptrdiff_t>(kEdge * row);
    std::fill(begin + static_cast<std::ptrdiff_t>(inside ? extent[0] : 0),
              begin + static_cast<std::ptrdiff_t>(kEdge), std::uint8_t{0});
  }
}

// Averages 2 × 2 × 2 voxels of a fine chunk into its octant of the coarse chunk that covers it.
void AverageInto(const ByteVector& fine, const SampleExtent& fine_cell, ByteVector& coarse) {
  constexpr std::size_t kHalf = kEdge / 2;
  const std::size_t corner =
      kHalf * (fine_cell[0] % 2 + kEdge * (fine_cell[1] % 2 + kEdge * (fine_cell[2] % 2)));
  for (std::size_t row = 0; row < kHalf * kHalf; ++row) {
    const std::size_t y = row % kHalf;
    const std::size_t z = row / kHalf;
    const std::uint8_t* from = &fine[2 * kEdge * (y + kEdge * z)];
    std::uint8_t* to = &coarse[corner + kEdge * (y + kEdge * z)];
    for (std::size_t x = 0; x < kHalf; ++x) {
      unsigned sum = 4;  // rounds to the nearest
      for (const std::size_t at : {std::size_t{0}, kEdge, kEdge * kEdge, kEdge * kEdge + kEdge}) {
        sum += static_cast<unsigned>(from[2 * x + at]) + from[2 * x + at + 1];
      }
      to[x] = static_cast<std::uint8_t>(sum / 8);
    }
  }
}

class ImageTask {
 public:
  ImageTask(const std::array<SampleLevel, 2>& levels, const SampleExtent& coarse_shard)
      : levels_(levels), coarse_shard_(coarse_shard) {}

  Status Run(const std::string& output) {
    coarse_.resize(kSlots);
    for (std::uint64_t i = 0; i < 8; ++i) {
      const SampleExtent corner{2 * coarse_shard_[0], 2 * coarse_shard_[1], 2 * coarse_shard_[2]};
      const SampleExtent shard = CellOfCube(corner, 2, i);
      if (Contains(levels_[0].shard_grid(), shard)) {
        UNSHARD_RETURN_IF_ERROR(WriteFineShard(shard, output));
      }
    }
    return WriteShard(1, coarse_shard_, std::move(coarse_), output);
  }

 private:
  Status WriteFineShard(const SampleExtent& shard, const std::string& output) {
    std::vector<ShardChunk> chunks(kSlots);
    SampleLabelTile labels;
    const SampleExtent corner{kSampleChunksPerShard * shard[0], kSampleChunksPerShard * shard[1],
                              kSampleChunksPerShard * shard[2]};
    for (std::uint64_t slot = 0; slot < kSlots; ++slot) {
      const SampleExtent cell = CellOfCube(corner, kSampleChunksPerShard, slot);
      if (!Contains(levels_[0].grid, cell)) continue;
      ByteVector& grey = chunks[slot].plain;
      FillSampleLabels(OriginOf(cell), labels);
      FillSampleImage(OriginOf(cell), labels, grey);
      ClearBeyond(ClippedExtent(levels_[0], cell), grey);
      ByteVector& coarse = coarse_[CoarseSlot(cell)].plain;
      coarse.resize(kSampleTileVoxels);
      AverageInto(grey, cell, coarse);
    }
    return WriteShard(0, shard, std::move(chunks), output);
  }

  static std::uint64_t CoarseSlot(const SampleExtent& fine_cell) {
    constexpr std::uint64_t kCount = kSampleChunksPerShard;
    const auto within = [&](std::size_t d) { return fine_cell[d] / 2 % kCount; };
    return within(0) + kCount * (within(1) + kCount * within(2));
  }

  // Writes a shard of chunks that are in slot order; those without bytes lie outside the volume.
  static Status WriteShard(std::size_t level, const SampleExtent& shard,
                           std::vector<ShardChunk> chunks, const std::string& output) {
    for (std::uint64_t slot = 0; slot < kSlots; ++slot) chunks[slot].slot = slot;
    std::erase_if(chunks, [](const ShardChunk& chunk) { return chunk.plain.empty(); });
    return WriteFile(output + "/" + ImageShardPath(level, shard), EncodeZarrShard(kSlots, chunks));
  }

  const std::array<SampleLevel, 2>& levels_;
  const SampleExtent coarse_shard_;
  std::vector<ShardChunk> coarse_;  // by slot
};

// --- The segmentation: each task writes one shard.

// Labels of a chunk of level 1: of every voxel at an even position of the finest level.
void FillCoarseLabels(const SampleExtent& cell, std::vector<std::uint64_t>& labels) {
  SampleLabelTile tile;
  labels.resize(kSampleTileVoxels);
  for (std::uint64_t octant = 0; octant < 8; ++octant) {
    const SampleExtent within = CellOfCube({0, 0, 0}, 2, octant);
    FillSampleLabels(OriginOf(CellOfCube({2 * cell[0], 2 * cell[1], 2 * cell[2]}, 2, octant)),
                     tile);
    constexpr std::size_t kHalf = kEdge / 2;
    for (std::size_t i = 0; i < kHalf * kHalf * kHalf; ++i) {
      const SampleExtent at = CellOfCube({0, 0, 0}, kHalf, i);
      const std::size_t from = 2 * (at[0] + kEdge * (at[1] + kEdge * at[2]));
      const std::size_t to =
          kHalf * within[0] + at[0] +
          kEdge * (kHalf * within[1] + at[1] + kEdge * (kHalf * within[2] + at[2]));
      labels[to] = tile.labels[from];
    }
  }
}

// The labels of a whole chunk without what lies beyond the volume.
std::vector<std::uint64_t> Clip(const std::vector<std::uint64_t>& labels,
                                const SampleExtent& extent) {
  std::vector<std::uint64_t> clipped;
  clipped.reserve(extent[0] * extent[1] * extent[2]);
  for (std::uint64_t z = 0; z < extent[2]; ++z) {
    for (std::uint64_t y = 0; y < extent[1]; ++y) {
      const auto row = labels.begin() + static_cast<std::ptrdiff_t>(kEdge * (y + kEdge * z));
      clipped.insert(clipped.end(), row, row + static_cast<std::ptrdiff_t>(extent[0]));
    }
  }
  return clipped;
}

Result<ByteVector> EncodeLabelChunk(const std::array<SampleLevel, 2>& levels, std::size_t level,
                                    const SampleExtent& cell) {
  SampleLabelTile tile;
  if (level == 0) {
    FillSampleLabels(OriginOf(cell), tile);
  } else {
    FillCoarseLabels(cell, tile.labels);
  }
  const SampleExtent extent = ClippedExtent(levels[level], cell);
  return EncodeCompressedSegmentation(Clip(tile.labels, extent), extent, {8, 8, 8});
}

// The chunk ids that a shard covers: the Morton code is split into consecutive runs.
unsigned BitsWithinShard(const SampleLevel& level) {
  return level.sharding.preshift_bits + level.sharding.minishard_bits;
}

Status WriteLabelShard(const std::array<SampleLevel, 2>& levels, std::size_t level,
                       const CompressedMorton& morton, std::uint64_t shard,
                       const std::string& output) {
  const unsigned bits = BitsWithinShard(levels[level]);
  std::vector<ShardChunk> chunks;
  for (std::uint64_t id = shard << bits; id < (shard + 1) << bits; ++id) {
    SampleExtent cell;
    if (!morton.Decode(id, cell)) continue;
    UNSHARD_ASSIGN_OR_RETURN(ByteVector encoded, EncodeLabelChunk(levels, level, cell));
    chunks.push_back({id, std::move(encoded)});
  }
  const ShardingSpec& sharding = levels[level].sharding;
  return WriteFile(
      output + "/segmentation/" + levels[level].scale_key() + "/" + ShardFileName(sharding, shard),
      EncodeNeuroglancerShard(sharding, std::move(chunks)));
}

// --- All of it.

using Task = std::function<Status(const std::string& output)>;

struct Plan {
  std::array<SampleLevel, 2> levels;
  std::vector<Task> tasks;  // they refer to `levels`
};

void PlanImage(Plan& plan) {
  const SampleExtent coarse = plan.levels[1].shard_grid();
  for (std::uint64_t i = 0; i < coarse[0] * coarse[1] * coarse[2]; ++i) {
    const SampleExtent shard{i % coarse[0], i / coarse[0] % coarse[1], i / coarse[0] / coarse[1]};
    plan.tasks.emplace_back([&levels = plan.levels, shard](const std::string& output) {
      return ImageTask(levels, shard).Run(output);
    });
  }
}

Status PlanSegmentation(Plan& plan) {
  for (std::size_t level = 0; level < plan.levels.size(); ++level) {
    UNSHARD_ASSIGN_OR_RETURN(const auto morton, CompressedMorton::Make(plan.levels[level].grid));
    const unsigned bits = BitsWithinShard(plan.levels[level]);
    const std::uint64_t shards = std::uint64_t{1} << plan.levels[level].sharding.shard_bits;
    for (std::uint64_t shard = 0; shard < shards; ++shard) {
      // A shard's first id is its lowest corner: where that lies outside, all of it does.
      SampleExtent corner;
      if (!morton.Decode(shard << bits, corner)) continue;
      plan.tasks.emplace_back(
          [&levels = plan.levels, level, morton, shard](const std::string& output) {
            return WriteLabelShard(levels, level, morton, shard, output);
          });
    }
  }
  return {};
}

// Runs all tasks, the first ones first; after a failure none is started any more.
Status RunTasks(const std::vector<Task>& tasks, unsigned thread_count, const std::string& output) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  Status result;  // guarded by mutex
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) {
      Status status = tasks[i](output);
      if (status) continue;
      next = tasks.size();
      const std::lock_guard lock(mutex);
      if (result) result = std::move(status);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < thread_count; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return result;
}

Status PrepareDirectory(const std::string& directory) {
  std::error_code error;
  filesystem::create_directories(directory, error);
  if (error) return FailErrno(error.value(), directory + ": making the directory");
  const bool empty = filesystem::is_empty(directory, error);
  if (error) return FailErrno(error.value(), directory + ": reading the directory");
  if (!empty) {
    return Fail(ErrorCode::kInvalidArgument,
                directory + ": is not empty; name a new or an empty directory for the sample");
  }
  return {};
}

Status WriteEverything(const Plan& plan, unsigned thread_count, const std::string& output) {
  UNSHARD_RETURN_IF_ERROR(RunTasks(plan.tasks, thread_count, output));
  for (const SampleDocument& document : MakeSampleDocuments(plan.levels)) {
    UNSHARD_RETURN_IF_ERROR(WriteFile(output + "/" + document.path, AsBytes(document.text)));
  }
  return {};
}

}  // namespace

Status WriteSample(const std::string& directory, std::uint64_t megabytes) {
  UNSHARD_RETURN_IF_ERROR(PrepareDirectory(directory));
  Plan plan;
  plan.levels = MakeSampleLevels(megabytes);
  PlanImage(plan);  // first, because its tasks take longest
  UNSHARD_RETURN_IF_ERROR(PlanSegmentation(plan));
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
  Status status = WriteEverything(plan, std::min(kMaxThreads, processors), directory);
  if (!status) {
    // The directory was empty when we came: what stands there is ours, and half of a sample.
    std::error_code ignored;
    for (const char* part : {"/segmentation", "/image"}) {
      filesystem::remove_all(directory + part, ignored);
    }
  }
  return status;
}

}  // namespace unshard
