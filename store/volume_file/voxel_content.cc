#include "store/volume_file/voxel_content.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "codec/volume_file/body.h"

namespace unshard {
namespace {

// Voxels that are copied out of one chunk, at equal distances.
struct Run {
  std::uint64_t chunk = 0;    // the position of its cell in the grid
  std::uint64_t section = 0;  // of the chunk
  std::uint64_t from = 0;     // in bytes, in the section
  std::uint64_t stride = 0;   // in bytes, in the section
  std::uint64_t count = 0;
  std::uint64_t to = 0;  // in bytes, in the result
};

template <std::size_t item>
void CopyStrided(const std::uint8_t* from, const Run& run, std::uint8_t* to) {
  for (std::uint64_t i = 0; i < run.count; ++i) {
    std::memcpy(to + i * item, from + i * run.stride, item);
  }
}

void Copy(const Run& run, const std::uint8_t* section, std::uint64_t item, std::uint8_t* to) {
  const std::uint8_t* const from = section + run.from;
  to += run.to;
  if (run.stride == item || run.count == 1) {
    std::memcpy(to, from, run.count * item);
    return;
  }
  switch (item) {
    case 1:
      return CopyStrided<1>(from, run, to);
    case 2:
      return CopyStrided<2>(from, run, to);
    case 4:
      return CopyStrided<4>(from, run, to);
    case 8:
      return CopyStrided<8>(from, run, to);
    default:
      for (std::uint64_t i = 0; i < run.count; ++i) {
        std::memcpy(to + i * item, from + i * run.stride, item);
      }
  }
}

class VoxelContent final : public ChunkContent {
 public:
  VoxelContent(VolumeFileLayout layout, std::shared_ptr<DecodedChunks> chunks)
      : header_(std::move(layout.header)),
        order_(std::move(layout.order)),
        body_bytes_(layout.body_bytes),
        chunks_(std::move(chunks)),
        item_(chunks_->array().data_type.size),
        grid_(chunks_->grid()),
        sections_(chunks_->SectionsFor(order_)),
        fill_(FillValueOf(chunks_->array())) {}

  std::uint64_t size() const override { return header_.size() + body_bytes_; }
  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override;

 private:
  // Bytes of the body from `offset` on, which have to be there.
  Result<Bytes> ReadBody(std::uint64_t offset, std::uint64_t size);
  // Where the voxels come from, all runs of a chunk next to each other, and of a section.
  [[nodiscard]] std::vector<Run> RunsOf(std::uint64_t first, std::uint64_t count) const;
  [[nodiscard]] Run RunOf(const VolumeRun& run, std::uint64_t first) const;
  // The sections that the runs of one chunk are in.
  [[nodiscard]] DecodedChunks::Wanted WantedBy(std::span<const Run> runs) const;
  // `runs`: of one chunk.
  Status CopyRuns(const DecodedChunks::Wanted& wanted, std::span<const Run> runs, std::uint8_t* to);
  void Fill(const Run& run, std::uint8_t* to) const;

  const Bytes header_;
  const std::vector<std::size_t> order_;
  const std::uint64_t body_bytes_;
  const std::shared_ptr<DecodedChunks> chunks_;
  const std::uint64_t item_;
  const ChunkGrid grid_;
  const DecodedChunks::Sections sections_;
  const ByteVector fill_;
};

Result<FilePiece> VoxelContent::Read(std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t begin = std::min(offset, this->size());
  const std::uint64_t wanted = std::min(size, this->size() - begin);
  if (begin >= header_.size()) {
    UNSHARD_ASSIGN_OR_RETURN(Bytes bytes, ReadBody(begin - header_.size(), wanted));
    return FilePiece(std::move(bytes));
  }
  const std::uint64_t of_header = std::min<std::uint64_t>(wanted, header_.size() - begin);
  const Bytes start = header_.Slice(begin, of_header);
  if (of_header == wanted) return FilePiece(start);
  UNSHARD_ASSIGN_OR_RETURN(const Bytes body, ReadBody(0, wanted - of_header));
  ByteVector both(start.span().begin(), start.span().end());
  both.insert(both.end(), body.span().begin(), body.span().end());
  return FilePiece(Bytes(std::move(both)));
}

Result<Bytes> VoxelContent::ReadBody(std::uint64_t offset, std::uint64_t size) {
  if (size == 0) return Bytes();
  // A range may begin and end inside of voxels.
  const std::uint64_t first = offset / item_;
  const std::uint64_t count = (offset + size - 1) / item_ + 1 - first;
  ByteVector voxels(count * item_);
  const std::vector<Run> runs = RunsOf(first, count);
  std::vector<std::span<const Run>> chunks;
  std::vector<DecodedChunks::Wanted> wanted;
  for (std::size_t begin = 0; begin < runs.size();) {
    std::size_t end = begin + 1;
    while (end < runs.size() && runs[end].chunk == runs[begin].chunk) ++end;
    chunks.emplace_back(&runs[begin], end - begin);
    wanted.push_back(WantedBy(chunks.back()));
    begin = end;
  }
  chunks_->Prefetch(wanted, sections_);
  // The kernel reads ahead: reads of neighbouring lines, which have the same chunks, come at the
  // same time. Each begins with another chunk, so that they need not wait for each other.
  const std::size_t start = offset / size % chunks.size();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    UNSHARD_RETURN_IF_ERROR(CallerDeadline().Check("decoding chunks"));
    const std::size_t at = (start + i) % chunks.size();
    UNSHARD_RETURN_IF_ERROR(CopyRuns(wanted[at], chunks[at], voxels.data()));
  }
  return Bytes(std::move(voxels)).Slice(offset - first * item_, size);
}

std::vector<Run> VoxelContent::RunsOf(std::uint64_t first, std::uint64_t count) const {
  std::vector<Run> runs;
  const Status visited =
      ForEachRun(grid_, order_, first, count, [&](const VolumeRun& run) -> Status {
        runs.push_back(RunOf(run, first));
        return {};
      });
  static_cast<void>(visited);  // the visitor does not fail
  std::stable_sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return std::pair(a.chunk, a.section) < std::pair(b.chunk, b.section);
  });
  return runs;
}

Run VoxelContent::RunOf(const VolumeRun& run, std::uint64_t first) const {
  const std::vector<std::uint64_t>& cells = chunks_->grid().grid_shape();
  const bool cut = sections_.cut.cut();
  Run made;
  made.section = cut ? sections_.cut.NumberOf(run.position) : 0;
  made.count = run.count;
  made.to = (run.at - first) * item_;
  made.stride = item_;
  for (std::size_t axis = 0; axis < cells.size(); ++axis) {
    ChunkSections::Interval box{0, chunks_->ExtentOf(run.cell[axis], axis)};
    if (cut) box = sections_.cut.IntervalOf(made.section, axis, box.extent);
    made.chunk = made.chunk * cells[axis] + run.cell[axis];
    made.from = made.from * box.extent + run.position[axis] - box.begin;
    if (axis > run.axis) made.stride *= box.extent;
  }
  made.from *= item_;
  return made;
}

DecodedChunks::Wanted VoxelContent::WantedBy(std::span<const Run> runs) const {
  DecodedChunks::Wanted wanted{GridCell(grid_.rank()), {}};
  CellOfLinearIndex(chunks_->grid().grid_shape(), runs.front().chunk, wanted.cell);
  for (const Run& run : runs) {
    if (wanted.sections.empty() || wanted.sections.back() != run.section) {
      wanted.sections.push_back(run.section);
    }
  }
  return wanted;
}

Status VoxelContent::CopyRuns(const DecodedChunks::Wanted& wanted, std::span<const Run> runs,
                              std::uint8_t* to) {
  UNSHARD_ASSIGN_OR_RETURN(const auto pieces, chunks_->Get(wanted, sections_));
  std::size_t at = 0;
  for (const Run& run : runs) {
    while (wanted.sections[at] != run.section) ++at;
    if (pieces[at]->empty()) {
      Fill(run, to);
    } else {
      Copy(run, pieces[at]->data(), item_, to);
    }
  }
  return {};
}

void VoxelContent::Fill(const Run& run, std::uint8_t* to) const {
  for (std::uint64_t i = 0; i < run.count; ++i) {
    std::memcpy(to + run.to + i * item_, fill_.data(), item_);
  }
}

}  // namespace

ContentPtr MakeVoxelContent(VolumeFileLayout layout, std::shared_ptr<DecodedChunks> chunks) {
  return std::make_shared<VoxelContent>(std::move(layout), std::move(chunks));
}

}  // namespace unshard
