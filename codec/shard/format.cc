#include "codec/shard/format.h"

#include <algorithm>

namespace unshard {

IndexPage::IndexPage(std::vector<IndexEntry> entries, std::uint64_t left_out)
    : entries_(std::move(entries)), left_out_(left_out) {
  const auto by_slot = [](const IndexEntry& a, const IndexEntry& b) { return a.slot < b.slot; };
  const auto same_slot = [](const IndexEntry& a, const IndexEntry& b) { return a.slot == b.slot; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), by_slot)) {
    std::stable_sort(entries_.begin(), entries_.end(), by_slot);
  }
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same_slot), entries_.end());
  entries_.shrink_to_fit();
}

std::size_t IndexPage::LowerBound(std::uint64_t slot) const {
  const auto found = std::lower_bound(
      entries_.begin(), entries_.end(), slot,
      [](const IndexEntry& entry, std::uint64_t value) { return entry.slot < value; });
  return static_cast<std::size_t>(found - entries_.begin());
}

std::optional<ByteRange> IndexPage::Find(std::uint64_t slot) const {
  const std::size_t at = LowerBound(slot);
  if (at == entries_.size() || entries_[at].slot != slot) return std::nullopt;
  return entries_[at].range;
}

std::size_t IndexPage::memory_bytes() const {
  return sizeof(IndexPage) + entries_.capacity() * sizeof(IndexEntry);
}

}  // namespace unshard
