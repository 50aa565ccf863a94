#include "store/copy/chunk_source.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "codec/pyramid/chunk_files.h"
#include "store/copy/try_each.h"
#include "store/object/key.h"

namespace unshard {
namespace {

// Bytes between two chunks that are read with them rather than left out.
constexpr std::uint64_t kMostGap = std::uint64_t{16} << 10;
// Cells that one thread looks up at a time: they share index pages.
constexpr std::size_t kLookedUp = 64;

// Chunks that are read at once.
struct Run {
  ShardGenerationPtr generation;
  ByteRange range;
  std::vector<std::size_t> chunks;
};

std::vector<Run> RunsOf(std::span<const ChunkSource::Chunk> chunks, std::uint64_t most_bytes) {
  std::vector<std::size_t> order(chunks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto place = [&](std::size_t i) {
    return std::make_tuple(chunks[i].generation->serial, chunks[i].range.begin);
  };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  std::vector<Run> runs;
  for (const std::size_t i : order) {
    const ByteRange& range = chunks[i].range;
    if (!runs.empty() && runs.back().generation == chunks[i].generation) {
      Run& last = runs.back();
      const std::uint64_t end = std::max(last.range.end(), range.end());
      if (range.begin <= last.range.end() + kMostGap && end - last.range.begin <= most_bytes) {
        last.range.size = end - last.range.begin;
        last.chunks.push_back(i);
        continue;
      }
    }
    runs.push_back({chunks[i].generation, range, {i}});
  }
  return runs;
}

}  // namespace

std::string_view ChunkSource::RoleName() const {
  return role_ == Role::kSource ? "source" : "destination";
}

tl::unexpected<Error> ChunkSource::InShard(Error error) const {
  if (error.code == ErrorCode::kConflict) {
    error.message += ": another process is changing the " + std::string(RoleName()) +
                     "; copy again once it has finished";
  } else if (error.code == ErrorCode::kDataLoss) {
    error.message += role_ == Role::kSource
                         ? "; replace this shard of the source with an intact copy"
                         : kRemoveDamagedShard;
  }
  return tl::unexpected<Error>(std::move(error));
}

ChunkRef ChunkSource::RefOf(const GridCell& cell) const {
  return stored_.tree->RefOf(ChunkFile{FileCellOf(stored_.array.dialect, cell)});
}

std::string ChunkSource::FileOf(const GridCell& cell) const {
  const ChunkRef chunk = RefOf(cell);
  const std::string path = stored_.tree->Path(chunk);
  if (!stored_.sharded) return JoinPath(stored_.path, path);
  const std::string shard = stored_.tree->shards().keys().Key(chunk.slot.shard);
  return JoinPath(stored_.path, shard) + " (shard), chunk " + path;
}

tl::unexpected<Error> ChunkSource::In(const GridCell& cell, Error error) const {
  return Forward(std::move(error), FileOf(cell) + ": chunk of the " + std::string(RoleName()));
}

Result<std::vector<std::optional<ChunkSource::Chunk>>> ChunkSource::Find(
    std::span<const GridCell> cells) const {
  std::vector<std::optional<Chunk>> found(cells.size());
  ShardSet& shards = stored_.tree->shards();
  const auto find = [&](std::size_t part) -> Status {
    ShardGenerationPtr generation;
    std::shared_ptr<const IndexPage> page;
    ShardSlot of_page;
    const std::size_t end = std::min(cells.size(), (part + 1) * kLookedUp);
    for (std::size_t i = part * kLookedUp; i < end; ++i) {
      const ShardSlot slot = RefOf(cells[i]).slot;
      if (!generation || generation->shard != slot.shard) {
        auto current = shards.Current(slot.shard, CallerDeadline());
        if (!current) return InShard(std::move(current).error());
        generation = *std::move(current);
        page = nullptr;
      }
      if (!generation->object) continue;
      if (!page || of_page.page != slot.page) {
        auto loaded = shards.Page(generation, slot.page, CallerDeadline());
        if (!loaded) return InShard(std::move(loaded).error());
        page = *std::move(loaded);
        of_page = slot;
      }
      const auto range = page->Find(slot.slot);
      if (!range) continue;
      if (*range == kDamagedRange) {
        return In(cells[i], {ErrorCode::kDataLoss, "its index entry reaches beyond the end", 0});
      }
      found[i] = Chunk{cells[i], generation, *range};
    }
    return {};
  };
  const std::size_t parts = (cells.size() + kLookedUp - 1) / kLookedUp;
  UNSHARD_RETURN_IF_ERROR(TryEachInParallel(parts, limits_.reading_threads, find));
  return found;
}

Result<std::vector<Bytes>> ChunkSource::Read(std::span<const Chunk> chunks) const {
  std::vector<Bytes> bytes(chunks.size());
  const std::vector<Run> runs = RunsOf(chunks, limits_.batch_bytes);
  const auto read = [&](std::size_t i) -> Status {
    const Run& run = runs[i];
    if (run.range.size == 0) return {};
    auto piece = stored_.tree->shards().ReadStored(run.generation, run.range, CallerDeadline());
    if (!piece) return InShard(std::move(piece).error());
    for (const std::size_t chunk : run.chunks) {
      const ByteRange& range = chunks[chunk].range;
      bytes[chunk] = piece->Slice(range.begin - run.range.begin, range.size);
    }
    return {};
  };
  UNSHARD_RETURN_IF_ERROR(TryEachInParallel(runs.size(), limits_.reading_threads, read));
  return bytes;
}

Result<Bytes> ChunkSource::Plain(const GridCell& cell, Bytes stored) const {
  auto plain = stored_.tree->shards().format().DecodeEntry(std::move(stored), limits_.chunk_bytes);
  if (!plain) return In(cell, std::move(plain).error());
  return plain;
}

}  // namespace unshard
