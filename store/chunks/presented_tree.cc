#include "store/chunks/presented_tree.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "codec/core/byte_range.h"
#include "codec/pyramid/chunk_files.h"
#include "store/chunks/joined_chunks.h"
#include "store/object/parallel.h"

namespace unshard {

namespace {

// Chunks that are looked for before a directory counts as one that holds some.
constexpr std::uint64_t kMostProbes = 65536;
// What is loaded at a time for a listing of a remote store: index pages, of so many names at most,
// or those of directories.
constexpr std::size_t kPagesAtOnce = 32;
constexpr std::uint64_t kNamesAtOnce = 4096;
constexpr std::uint64_t kDirectoriesAtOnce = 16;

// Chunks have the size that their encoding gives; what they hold is seen when they are decoded.
class PresentedCheck final : public ChunkCheck {
 public:
  explicit PresentedCheck(std::shared_ptr<const ChunkConversion> conversion)
      : conversion_(std::move(conversion)) {}

  [[nodiscard]] std::optional<std::uint64_t> FixedSize(
      std::span<const std::uint64_t> cell) const override {
    const ArrayDialect dialect = conversion_->array().presented.dialect;
    return conversion_->FixedSize(CellOfFile(dialect, GridCell(cell.begin(), cell.end())));
  }
  [[nodiscard]] Status Check(std::span<const std::uint64_t> /*cell*/, std::uint64_t size,
                             ByteSpan /*start*/) const override {
    if (size == 0) return RefuseEmptyChunk();
    return {};
  }

 private:
  const std::shared_ptr<const ChunkConversion> conversion_;
};

}  // namespace

// Which chunks are there: any of the stored ones is. Used by one listing: the neighbours of a chunk
// are mostly in the same index page.
class PresentedTree::Presence {
 public:
  Presence(const PresentedTree& tree, const DamageVisitor& damaged)
      : tree_(tree), damaged_(damaged) {}

  // A page that cannot be read is reported once. `unreadable`: whether its chunks, which may be
  // there, count as absent.
  bool Holds(const ChunkRef& chunk, Unreadable unreadable) {
    if (!tree_.joins()) return HoldsStored(chunk.slot, unreadable);
    const std::vector<ChunkRef> stored = tree_.StoredChunks(chunk);
    return std::any_of(stored.begin(), stored.end(),
                       [&](const ChunkRef& one) { return HoldsStored(one.slot, unreadable); });
  }

  static Result<std::shared_ptr<const IndexPage>> Load(const ShardedTree& stored,
                                                       const ShardSlot& slot) {
    UNSHARD_ASSIGN_OR_RETURN(const auto generation,
                             stored.shards().Current(slot.shard, CallerDeadline()));
    return stored.ShownPage(generation, slot.page);
  }
  // Whether that costs no request now.
  static bool IsThere(const ShardedTree& stored, const ShardSlot& slot) {
    const Deadline deadline = CallerDeadline();
    ShardSet& shards = stored.shards();
    const auto fresh = shards.Current(slot.shard, deadline, ShardSet::Trust::kFresh);
    if (!fresh || !*fresh) return false;
    const auto page = shards.Page(*fresh, slot.page, deadline, ShardSet::Ahead::kCached);
    return page && *page;
  }

 private:
  bool HoldsStored(const ShardSlot& slot, Unreadable unreadable) {
    if (!known_ || slot_.shard != slot.shard || slot_.page != slot.page) {
      known_ = true;
      slot_ = slot;
      auto page = Load(*tree_.stored(), slot);
      if (!page) damaged_(page.error(), unreadable);
      page_ = page ? *std::move(page) : nullptr;
    }
    if (!page_) return unreadable == Unreadable::kListed;
    return page_->Find(slot.slot).has_value();
  }

  const PresentedTree& tree_;
  const DamageVisitor& damaged_;
  bool known_ = false;
  ShardSlot slot_;
  std::shared_ptr<const IndexPage> page_;  // null: it cannot be read
};

Result<std::shared_ptr<PresentedTree>> PresentedTree::Make(Parts parts) {
  UNSHARD_ASSIGN_OR_RETURN(ChunkGrid grid, FileGridOf(parts.conversion->array().presented));
  return std::shared_ptr<PresentedTree>(new PresentedTree(std::move(parts), std::move(grid)));
}

std::unique_ptr<PresentedChunks> PresentedTree::MakeChunks(const Parts& parts) {
  PresentedChunks::Parts chunks{parts.stored, parts.conversion, parts.cache, parts.max_chunk_bytes};
  if (!parts.conversion->joins()) return std::make_unique<TranscodedChunks>(std::move(chunks));
  return std::make_unique<JoinedChunks>(std::move(chunks), parts.written);
}

PresentedTree::PresentedTree(Parts parts, ChunkGrid grid)
    : ChunkTree(parts.ordinal, parts.directory),
      stored_(parts.stored),
      conversion_(parts.conversion),
      grid_(std::move(grid)),
      names_(ChunkNamesOf(conversion_->array().presented, grid_)),
      nested_(names_->depth() > 0 ? dynamic_cast<const ZarrNames*>(names_.get()) : nullptr),
      chunks_(MakeChunks(parts)),
      transcoded_(dynamic_cast<TranscodedChunks*>(chunks_.get())),
      lists_all_(!parts.store.lists || conversion_->presents_absent()),
      remote_(!parts.store.keeps_replaced_versions),
      writable_(parts.written != nullptr),
      lossy_(parts.lossy),
      check_(std::make_shared<PresentedCheck>(conversion_)) {
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
  const Status encodes = conversion_->CanRestore();
  if (!encodes) {
    return Fail(ErrorCode::kReadOnly, "chunks are not stored: " + encodes.error().message);
  }
  if (!conversion_->is_lossy() || lossy_) return {};
  return Fail(ErrorCode::kReadOnly, "chunks are stored as " +
                                        conversion_->array().stored.codec->encoding().items +
                                        ", which loses: mount with lossy=yes to write them");
}

// As CloudVolume writes the files of a local volume.
bool PresentedTree::TakesGzipNames() const {
  return conversion_->array().presented.dialect == ArrayDialect::kPrecomputed;
}

ChunkRef PresentedTree::RefOf(const ChunkFile& file) const {
  return chunks_->RefOf(CellOfFile(conversion_->array().presented.dialect, file.cell));
}

std::optional<ChunkFile> PresentedTree::FileOf(const ChunkRef& chunk) const {
  const auto cell = chunks_->CellOf(chunk);
  if (!cell) return std::nullopt;
  return ChunkFile{FileCellOf(conversion_->array().presented.dialect, *cell)};
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

bool PresentedTree::HoldsAny(const GridDirectory& in, Presence& presence,
                             std::uint64_t& probes) const {
  const std::uint64_t count = NameCount(in);
  for (std::uint64_t number = 0; number < count; ++number) {
    if (probes == 0) return true;
    const Match match = NameAt(in, number);
    const bool is_chunk = match.kind == Match::Kind::kChunk;
    if (is_chunk) --probes;
    const bool holds = is_chunk ? presence.Holds(match.chunk, Unreadable::kListed)
                                : HoldsAny(match.directory, presence, probes);
    if (holds) return true;
  }
  return false;
}

// The listing meets the failures again.
std::uint64_t PresentedTree::LoadPagesFrom(const GridDirectory& in, std::uint64_t first,
                                           std::uint64_t count) const {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::vector<ShardSlot> missing;
  std::uint64_t number = first;
  for (; number < count && number - first < kNamesAtOnce && missing.size() < kPagesAtOnce;
       ++number) {
    // Of a chunk that joins several stored ones, the first.
    const ShardSlot slot = NameAt(in, number).chunk.slot;
    if (!seen.emplace(slot.shard, slot.page).second) continue;
    if (!Presence::IsThere(*stored_, slot)) missing.push_back(slot);
  }
  if (missing.size() > 1) {
    ForEachInParallel(missing.size(), kPagesAtOnce, [&](std::size_t i) {
      static_cast<void>(Presence::Load(*stored_, missing[i]));
    });
  }
  return number;
}

std::uint64_t PresentedTree::LoadFrom(const GridDirectory& in, std::uint64_t first,
                                      std::uint64_t count) const {
  if (!remote_) return count;
  if (NameAt(in, first).kind == Match::Kind::kChunk) return LoadPagesFrom(in, first, count);
  if (!writable_) return count;  // all are listed
  const std::uint64_t end = std::min(count, first + kDirectoriesAtOnce);
  if (end - first > 1) {
    ForEachInParallel(end - first, kDirectoriesAtOnce, [&](std::size_t i) {
      const DamageVisitor ignored = [](auto&&...) {};
      Presence presence(*this, ignored);
      std::uint64_t probes = kMostProbes;
      HoldsAny(NameAt(in, first + i).directory, presence, probes);
    });
  }
  return end;
}

// A cookie is the number of the next name.
Status PresentedTree::List(const GridDirectory& in, std::uint64_t cookie, ListMode mode,
                           const ListVisitor& visitor, const DamageVisitor& damaged,
                           const std::vector<GridDirectory>& others) {
  if (mode == ListMode::kNone) return {};
  const bool all = lists_all_ || mode == ListMode::kGrid;
  Presence presence(*this, damaged);
  const std::uint64_t count = grid_.cell_count() == 0 ? 0 : NameCount(in);
  std::uint64_t loaded = cookie;
  for (std::uint64_t number = cookie; number < count; ++number) {
    if (!all && number == loaded) loaded = LoadFrom(in, number, count);
    const Match match = NameAt(in, number);
    const bool is_chunk = match.kind == Match::Kind::kChunk;
    if (is_chunk && !all && !presence.Holds(match.chunk, Unreadable::kLeftOut)) continue;
    if (!is_chunk && !all && writable_) {
      std::uint64_t probes = kMostProbes;
      const bool listed = std::find(others.begin(), others.end(), match.directory) != others.end();
      if (!listed && !HoldsAny(match.directory, presence, probes)) continue;
    }
    const std::string path = is_chunk ? Path(match.chunk) : Path(match.directory);
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    if (!visitor({name, match, number + 1})) return {};
  }
  return {};
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
