#include "store/chunks/presented_tree.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "codec/core/byte_range.h"
#include "codec/pyramid/chunk_files.h"
#include "store/chunks/joined_chunks.h"

namespace unshard {

namespace {

// What is remembered for listings that go on: so many names of so many directories.
constexpr std::size_t kMostNames = std::size_t{1} << 16;
constexpr std::size_t kMostListings = 4;

// Chunks have the size that their encoding gives; what they hold is seen when they are decoded.
class PresentedCheck final : public ChunkCheck {
 public:
  explicit PresentedCheck(std::shared_ptr<const ChunkMapping> mapping)
      : mapping_(std::move(mapping)) {}

  [[nodiscard]] std::optional<std::uint64_t> FixedSize(
      std::span<const std::uint64_t> cell) const override {
    const Dialect dialect = mapping_->to().dialect;
    return mapping_->EncodedSize(CellOfFile(dialect, GridCell(cell.begin(), cell.end())));
  }
  [[nodiscard]] Status Check(std::span<const std::uint64_t> /*cell*/, std::uint64_t size,
                             ByteSpan /*start*/) const override {
    if (size == 0) return RefuseEmptyChunk();
    return {};
  }

 private:
  const std::shared_ptr<const ChunkMapping> mapping_;
};

}  // namespace

Result<std::shared_ptr<PresentedTree>> PresentedTree::Make(Parts parts) {
  UNSHARD_ASSIGN_OR_RETURN(ChunkGrid grid, FileGridOf(parts.mapping->to()));
  UNSHARD_ASSIGN_OR_RETURN(ChunkGrid stored_grid, FileGridOf(parts.mapping->from()));
  return std::shared_ptr<PresentedTree>(
      new PresentedTree(std::move(parts), std::move(grid), std::move(stored_grid)));
}

std::unique_ptr<PresentedChunks> PresentedTree::MakeChunks(const Parts& parts) {
  PresentedChunks::Parts chunks{parts.stored, parts.mapping, parts.cache, parts.max_chunk_bytes};
  if (parts.mapping->same_grid()) return std::make_unique<TranscodedChunks>(std::move(chunks));
  return std::make_unique<JoinedChunks>(std::move(chunks), parts.written);
}

PresentedTree::PresentedTree(Parts parts, ChunkGrid grid, ChunkGrid stored_grid)
    : ChunkTree(parts.ordinal, parts.directory),
      stored_(parts.stored),
      mapping_(parts.mapping),
      grid_(std::move(grid)),
      stored_grid_(std::move(stored_grid)),
      names_(ChunkNamesOf(mapping_->to(), grid_)),
      nested_(names_->depth() > 0 ? dynamic_cast<const ZarrNames*>(names_.get()) : nullptr),
      chunks_(MakeChunks(parts)),
      transcoded_(dynamic_cast<TranscodedChunks*>(chunks_.get())),
      stored_axes_(StoredAxes()),
      lists_all_(!parts.store.lists || mapping_->writes_absent()),
      remote_(!parts.store.keeps_replaced_versions),
      lossy_(parts.lossy),
      check_(std::make_shared<PresentedCheck>(mapping_)) {
  std::uint64_t next = grid_.cell_count();
  for (unsigned level = 0; level <= names_->depth(); ++level) {
    first_of_level_.push_back(next);
    std::uint64_t count = 1;
    const std::size_t indices = nested_ ? nested_->IndexCount({level, 0}) : 0;
    for (std::size_t d = 0; d < indices; ++d) count *= grid_.grid_shape()[d];
    // Node numbers end far below: what does not fit is numbered when it is looked up.
    constexpr std::uint64_t kEnd = std::uint64_t{1} << 62;
    next = next < kEnd && count < kEnd ? next + count : kEnd;
  }
}

Status PresentedTree::CanStore() const {
  const Status encodes = mapping_->CanRestore();
  if (!encodes) {
    return Fail(ErrorCode::kReadOnly, "chunks cannot be written: ", encodes.error().message);
  }
  if (!mapping_->is_lossy() || lossy_) return {};
  return Fail(ErrorCode::kReadOnly, "chunks are stored as ", mapping_->from().codec->text(),
              ", which is lossy: mount with lossy=yes to write them");
}

// As CloudVolume writes the files of a local volume.
bool PresentedTree::TakesGzipNames() const {
  return mapping_->to().dialect == Dialect::kPrecomputed;
}

ChunkRef PresentedTree::RefOf(const ChunkFile& file) const {
  return chunks_->RefOf(CellOfFile(mapping_->to().dialect, file.cell));
}

std::optional<ChunkFile> PresentedTree::FileOf(const ChunkRef& chunk) const {
  const auto cell = chunks_->CellOf(chunk);
  if (!cell) return std::nullopt;
  return ChunkFile{FileCellOf(mapping_->to().dialect, *cell)};
}

std::uint64_t PresentedTree::NameCount(const GridDirectory& in) const {
  if (nested_ == nullptr) return grid_.cell_count();
  return nested_->HoldsPrefix(in) ? 1 : grid_.grid_shape()[nested_->IndexCount(in)];
}

ChunkTree::Match PresentedTree::NameAt(const GridDirectory& in, std::uint64_t number) const {
  NameMeaning meaning{NameKind::kDirectory, {1, 0}};
  if (nested_ == nullptr) {
    ChunkFile chunk{GridCell(grid_.rank())};
    CellOfLinearIndex(grid_.grid_shape(), number, chunk.cell);
    meaning = {NameKind::kChunk, {}, std::move(chunk)};
  } else if (!nested_->HoldsPrefix(in)) {
    meaning = nested_->Child(in, number);
  }
  Match match{meaning.kind, meaning.directory, {}};
  if (meaning.kind == NameKind::kChunk) match.chunk = RefOf(meaning.chunk);
  return match;
}

// Marks each axis of the view's files by a number and looks where it is in a stored cell.
std::vector<std::optional<std::size_t>> PresentedTree::StoredAxes() const {
  GridCell marks(grid_.rank());
  for (std::size_t d = 0; d < marks.size(); ++d) marks[d] = d + 1;
  const AxisMap inverse = InverseMap(mapping_->axes(), mapping_->from().rank());
  const GridCell presented = CellOfFile(mapping_->to().dialect, marks);
  const GridCell stored =
      FileCellOf(mapping_->from().dialect, MapList<std::uint64_t>(inverse, presented, 0));
  std::vector<std::optional<std::size_t>> axes(grid_.rank());
  for (std::size_t d = 0; d < stored.size(); ++d) {
    if (stored[d] != 0) axes[stored[d] - 1] = d;
  }
  return axes;
}

ViewDirectory PresentedTree::DirectoryOf(const GridDirectory& in) const {
  ViewDirectory directory;
  directory.below = {GridCell(stored_grid_.rank()), stored_grid_.grid_shape()};
  directory.count = NameCount(in);
  directory.holds_directories = in.level < names_->depth();
  if (nested_->HoldsPrefix(in)) return directory;
  const GridCell indices = nested_->Indices(in);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const auto stored = stored_axes_[d];
    if (!stored) continue;
    const ViewAxis axis{stored_grid_.axis(*stored), grid_.axis(d)};
    directory.below.begin[*stored] = axis.StoredBegin(indices[d]);
    directory.below.end[*stored] = axis.StoredBegin(indices[d] + 1);
  }
  directory.axis = stored_axes_[indices.size()];
  if (directory.axis) {
    directory.names = {stored_grid_.axis(*directory.axis), grid_.axis(indices.size())};
  }
  return directory;
}

// A cookie is the number of the next name.
Status PresentedTree::ListAll(const GridDirectory& in, std::uint64_t cookie,
                              const ListVisitor& visitor) const {
  const std::uint64_t count = NameCount(in);
  for (std::uint64_t number = cookie; number < count; ++number) {
    if (!Give(in, number, visitor)) return {};
  }
  return {};
}

bool PresentedTree::Give(const GridDirectory& in, std::uint64_t number,
                         const ListVisitor& visitor) const {
  const Match match = NameAt(in, number);
  const std::string path =
      match.kind == Match::Kind::kChunk ? Path(match.chunk) : Path(match.directory);
  return visitor({std::string_view(path).substr(path.rfind('/') + 1), match, number + 1});
}

// In the order of the stored chunks, and with their cookies.
Status PresentedTree::ListFlat(std::uint64_t cookie, const ListVisitor& visitor,
                               const DamageVisitor& damaged) {
  ChunkPresence presence(*stored_, damaged);
  const Dialect dialect = mapping_->from().dialect;
  const auto visit = [&](const ChunkRef& stored, const ChunkFile& file) -> Result<bool> {
    const ChunkRef chunk = chunks_->RefOf(mapping_->TargetCell(CellOfFile(dialect, file.cell)));
    if (joins()) {
      // A chunk is listed once: at the first of its stored chunks that exists.
      for (const ChunkRef& part : StoredChunks(chunk)) {
        if (part.slot == stored.slot) break;
        if (presence.Holds(part.slot, Unreadable::kLeftOut)) return true;
      }
    }
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t next, stored_->Cookie(stored));
    return visitor({Path(chunk), {Match::Kind::kChunk, {}, chunk}, next});
  };
  return stored_->ListChunks(cookie, visit, damaged);
}

// Of a listing that goes on: what was found when it began will do.
Result<PresentedTree::KnownNames> PresentedTree::NamesFrom(const GridDirectory& in,
                                                           std::uint64_t from,
                                                           const DamageVisitor& damaged) {
  const auto holds = [&](const KnownNames& known) {
    return known.in == in && known.from <= from && from < known.end;
  };
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(recent_.begin(), recent_.end(), holds);
    if (from != 0 && found != recent_.end()) return *found;
  }
  ChildCollector collector(*stored_, remote_, DirectoryOf(in), from, kMostNames, damaged);
  UNSHARD_RETURN_IF_ERROR(collector.Run(from == 0));
  const auto& names = collector.found();
  KnownNames known{in, from, collector.end(),
                   std::make_shared<const std::vector<std::uint64_t>>(names.begin(), names.end())};
  const std::lock_guard lock(mutex_);
  std::erase_if(recent_, [&](const KnownNames& each) { return each.in == in; });
  recent_.push_back(known);
  if (recent_.size() > kMostListings) recent_.erase(recent_.begin());
  return known;
}

void PresentedTree::ForgetNames(const GridDirectory& in) {
  const std::lock_guard lock(mutex_);
  std::erase_if(recent_, [&](const KnownNames& each) { return each.in == in; });
}

// A cookie is the number of the next name.
Status PresentedTree::ListNested(const GridDirectory& in, std::uint64_t cookie,
                                 const ListVisitor& visitor, const DamageVisitor& damaged,
                                 const std::vector<GridDirectory>& others) {
  std::set<std::uint64_t> also;
  for (const GridDirectory& other : others) {
    also.insert(nested_->HoldsPrefix(in) ? 0 : nested_->Indices(other).back());
  }
  for (const std::uint64_t count = NameCount(in); cookie < count;) {
    UNSHARD_ASSIGN_OR_RETURN(const KnownNames known, NamesFrom(in, cookie, damaged));
    std::vector<std::uint64_t> numbers;
    std::set_union(std::lower_bound(known.numbers->begin(), known.numbers->end(), cookie),
                   known.numbers->end(), also.lower_bound(cookie), also.lower_bound(known.end),
                   std::back_inserter(numbers));
    for (const std::uint64_t number : numbers) {
      if (!Give(in, number, visitor)) return {};
    }
    cookie = known.end;
  }
  ForgetNames(in);
  return {};
}

Status PresentedTree::List(const GridDirectory& in, std::uint64_t cookie, ListMode mode,
                           const ListVisitor& visitor, const DamageVisitor& damaged,
                           const std::vector<GridDirectory>& others) {
  if (mode == ListMode::kNone || grid_.cell_count() == 0) return {};
  const bool grid = mode == ListMode::kGrid && in.level < names_->depth();
  if (lists_all_ || grid) return ListAll(in, cookie, visitor);
  if (nested_ == nullptr) return ListFlat(cookie, visitor, damaged);
  return ListNested(in, cookie, visitor, damaged, others);
}

std::optional<std::uint64_t> PresentedTree::Position(const ChunkRef& chunk) const {
  // The numbers of generations of joined chunks are too large for those of nodes.
  if (chunk.part != ChunkPart::kPlain || joins()) return std::nullopt;
  const auto file = FileOf(chunk);
  if (!file) return std::nullopt;
  return LinearIndex(grid_.grid_shape(), file->cell);
}

std::optional<std::uint64_t> PresentedTree::Position(const GridDirectory& directory) const {
  if (nested_ == nullptr) return std::nullopt;
  return first_of_level_[directory.level] + directory.prefix;
}

ChunkTree::Match PresentedTree::AtPosition(std::uint64_t position) const {
  if (position < grid_.cell_count()) {
    ChunkFile chunk{GridCell(grid_.rank())};
    CellOfLinearIndex(grid_.grid_shape(), position, chunk.cell);
    return {Match::Kind::kChunk, {}, RefOf(chunk)};
  }
  unsigned level = names_->depth();
  while (level > 0 && position < first_of_level_[level]) --level;
  return {Match::Kind::kDirectory, {level, position - first_of_level_[level]}, {}};
}

}  // namespace unshard
