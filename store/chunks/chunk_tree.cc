#include "store/chunks/chunk_tree.h"

namespace unshard {

ChunkTree::Match ChunkTree::Resolve(const GridDirectory& in, std::string_view name) const {
  const NameMeaning meaning = names().Parse(in, name);
  Match match{meaning.kind, meaning.directory, {}};
  if (meaning.kind == NameKind::kChunk) match.chunk = RefOf(meaning.chunk);
  return match;
}

std::string ChunkTree::Path(const ChunkRef& chunk) const {
  const auto file = FileOf(chunk);
  return file ? names().Path(*file) : std::string();
}

GridDirectory ChunkTree::Parent(const ChunkRef& chunk) const {
  const auto file = depth() > 0 ? FileOf(chunk) : std::nullopt;
  return file ? names().Parent(*file) : GridDirectory{};
}

std::optional<std::uint64_t> ChunkTree::FixedSize(const ChunkRef& chunk) const {
  if (chunk.part == ChunkPart::kFragments) return std::nullopt;
  return check().FixedSize(CellOf(chunk));
}

}  // namespace unshard
