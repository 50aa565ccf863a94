#include "store/dataset/dataset_index.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "store/object/key.h"
#include "store/object/keys_below.h"

namespace unshard {
namespace {

// The tree that is presented, and that which it comes from.
std::vector<std::shared_ptr<ChunkTree>> TreesOf(const ServedTree& served) {
  if (served.tree == served.stored) return {served.tree};
  return {served.tree, served.stored};
}

// The trees of exactly this directory.
template <class ByDirectory>
auto TreesIn(const ByDirectory& trees, const std::string& directory) {
  constexpr std::uint32_t kLast = std::numeric_limits<std::uint32_t>::max();
  return KeyRange(trees.lower_bound({directory, 0}), trees.upper_bound({directory, kLast}));
}

void Merge(const DirectoryOverlay& from, DirectoryOverlay& to) {
  if (from.document) to.document = from.document;
  for (const Document& document : from.computed) {
    const auto known =
        std::find_if(to.computed.begin(), to.computed.end(),
                     [&](const Document& each) { return each.name == document.name; });
    if (known == to.computed.end()) {
      to.computed.push_back(document);
    } else if (known->is_fallback && !document.is_fallback) {
      *known = document;
    }
  }
  to.hidden.insert(from.hidden.begin(), from.hidden.end());
  to.closed |= from.closed;
  to.trees.insert(to.trees.end(), from.trees.begin(), from.trees.end());
  to.virtual_children.insert(from.virtual_children.begin(), from.virtual_children.end());
  to.opaque |= from.opaque;
  to.holds_plain_chunks |= from.holds_plain_chunks;
  if (from.fault) to.fault = from.fault;
}

}  // namespace

const Document* DirectoryOverlay::FindComputed(std::string_view name) const {
  const auto found = std::find_if(computed.begin(), computed.end(),
                                  [&](const Document& each) { return each.name == name; });
  return found == computed.end() ? nullptr : &*found;
}

bool Contribution::has_fault() const {
  return std::any_of(found.begin(), found.end(),
                     [](const FoundDataset& dataset) { return dataset.fault.has_value(); });
}

void AddVirtualChildren(const std::string& path, Contribution& contribution) {
  std::vector<std::string> roots;
  for (const auto& [at, overlay] : contribution.overlays) {
    if (!overlay.trees.empty() || !overlay.computed.empty()) roots.push_back(at);
  }
  for (std::string child : roots) {
    // What is above the document exists.
    for (; !IsAtOrBelow(path, child); child = ParentPath(child)) {
      contribution.overlays[ParentPath(child)].virtual_children.insert(BaseName(child));
    }
  }
}

std::shared_ptr<const Contribution> DatasetIndex::ContributionAt(const std::string& path) const {
  const std::shared_lock lock(mutex_);
  const auto found = contributions_.find(path);
  return found == contributions_.end() ? nullptr : found->second;
}

std::shared_ptr<const DirectoryOverlay> DatasetIndex::OverlayAt(const std::string& path) const {
  const std::shared_lock lock(mutex_);
  const auto found = overlays_.find(path);
  return found == overlays_.end() ? nullptr : found->second;
}

bool DatasetIndex::IsBelowOpaque(const std::string& path) const {
  const std::shared_lock lock(mutex_);
  for (std::string at = path; !at.empty();) {
    at = ParentPath(at);
    const auto above = overlays_.find(at);
    if (above != overlays_.end() && above->second->opaque) return true;
  }
  return false;
}

bool DatasetIndex::IsInTree(const std::string& path) const {
  using Kind = ChunkTree::Match::Kind;
  const std::shared_lock lock(mutex_);
  for (std::string at = path; !at.empty();) {
    at = ParentPath(at);
    const auto above = overlays_.find(at);
    if (above == overlays_.end()) continue;
    const std::string below = path.substr(at.empty() ? 0 : at.size() + 1);
    const std::string first = below.substr(0, below.find('/'));
    for (const auto& tree : above->second->trees) {
      if (tree->Resolve({}, first).kind == Kind::kDirectory) return true;
    }
  }
  return false;
}

void DatasetIndex::Put(const std::string& path, std::shared_ptr<Contribution> contribution) {
  std::vector<std::shared_ptr<ChunkTree>> released;  // closes files after the lock is released
  const std::unique_lock lock(mutex_);
  std::set<std::string> touched;
  auto& known = contributions_[path];
  if (known) {
    for (const auto& [at, overlay] : known->overlays) {
      touched.insert(at);
      const auto contributors = contributors_.find(at);
      contributors->second.erase(path);
      if (contributors->second.empty()) contributors_.erase(contributors);
    }
  }
  for (const auto& [at, overlay] : contribution->overlays) {
    touched.insert(at);
    contributors_[at].insert(path);
  }
  const std::shared_ptr<const Contribution> before =
      std::exchange(known, std::shared_ptr<const Contribution>(std::move(contribution)));
  for (const std::string& at : touched) PutOverlay(at);
  CountArrays(*known, true);
  if (before) CountArrays(*before, false);

  std::set<std::uint32_t> served;
  for (const ServedTree& one : known->trees) {
    for (const std::shared_ptr<ChunkTree>& tree : TreesOf(one)) {
      served.insert(tree->ordinal());
      Register(tree, one, path);
    }
  }
  if (!before) return;
  for (const ServedTree& one : before->trees) {
    for (const std::shared_ptr<ChunkTree>& tree : TreesOf(one)) {
      if (!served.contains(tree->ordinal())) Drop(tree, path, released);
    }
  }
}

void DatasetIndex::CountArrays(const Contribution& contribution, bool is_added) {
  for (const FoundDataset& found : contribution.found) {
    if (found.shape.empty() || found.fault) continue;
    if (is_added) {
      ++arrays_[found.path];
    } else if (const auto array = arrays_.find(found.path); --array->second == 0) {
      arrays_.erase(array);
    }
  }
}

void DatasetIndex::Register(const std::shared_ptr<ChunkTree>& tree, const ServedTree& served,
                            const std::string& home) {
  const std::uint32_t ordinal = tree->ordinal();
  const std::string& stored_in = served.stored->directory();
  const bool presented = tree == served.tree;
  Registered& registered = trees_[ordinal];
  registered.tree = tree;
  registered.stored = served.stored;
  registered.home = home;
  registered.stored_in = stored_in;
  registered.presented =
      tree == served.tree || (registered.presented && !registered.served_by.empty());
  registered.served_by.insert(home);
  if (tree == served.stored) stored_in_.emplace(stored_in, ordinal);
  if (!presented) return;
  by_directory_.emplace(tree->directory(), ordinal);
  by_directory_.emplace(stored_in, ordinal);
}

void DatasetIndex::PutStored(const std::shared_ptr<ShardedTree>& tree, const std::string& home) {
  const std::unique_lock lock(mutex_);
  Register(tree, {nullptr, tree, {}}, home);
}

void DatasetIndex::PutOverlay(const std::string& at) {
  const auto contributors = contributors_.find(at);
  if (contributors == contributors_.end()) {
    overlays_.erase(at);
    return;
  }
  if (contributors->second.size() == 1) {
    const auto& only = contributions_.at(*contributors->second.begin());
    overlays_[at] = std::shared_ptr<const DirectoryOverlay>(only, &only->overlays.at(at));
    return;
  }
  auto merged = std::make_shared<DirectoryOverlay>();
  for (const std::string& path : contributors->second) {
    Merge(contributions_.at(path)->overlays.at(at), *merged);
  }
  overlays_[at] = std::move(merged);
}

void DatasetIndex::Drop(const std::shared_ptr<ChunkTree>& tree, const std::string& path,
                        std::vector<std::shared_ptr<ChunkTree>>& released) {
  const auto found = trees_.find(tree->ordinal());
  if (found == trees_.end()) return;
  Registered& registered = found->second;
  registered.served_by.erase(path);
  if (registered.served_by.empty()) return Retire(tree, released);
  registered.home = *registered.served_by.begin();
}

void DatasetIndex::Retire(const std::shared_ptr<ChunkTree>& tree,
                          std::vector<std::shared_ptr<ChunkTree>>& released) {
  tree->Retire();
  retired_.push_back(tree->ordinal());
  if (retired_.size() <= kRetiredTrees) return;
  const auto oldest = trees_.find(retired_.front());
  retired_.pop_front();
  by_directory_.erase({oldest->second.tree->directory(), oldest->first});
  by_directory_.erase({oldest->second.stored_in, oldest->first});
  stored_in_.erase({oldest->second.stored_in, oldest->first});
  released.push_back(std::move(oldest->second.tree));
  released.push_back(std::move(oldest->second.stored));
  trees_.erase(oldest);
}

std::vector<std::string> DatasetIndex::examined() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> paths;
  paths.reserve(contributions_.size());
  for (const auto& [path, contribution] : contributions_) paths.push_back(path);
  return paths;
}

std::shared_ptr<ChunkTree> DatasetIndex::TreeAt(std::uint32_t ordinal) const {
  const std::shared_lock lock(mutex_);
  const auto found = trees_.find(ordinal);
  return found == trees_.end() ? nullptr : found->second.tree;
}

std::vector<std::shared_ptr<ChunkTree>> DatasetIndex::trees() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<ChunkTree>> all;
  all.reserve(trees_.size());
  for (const auto& [ordinal, registered] : trees_) {
    if (registered.presented) all.push_back(registered.tree);
  }
  return all;
}

std::vector<std::shared_ptr<ShardedTree>> DatasetIndex::StoredIn(
    const std::string& directory) const {
  std::vector<std::shared_ptr<ShardedTree>> stored;
  const std::shared_lock lock(mutex_);
  for (const auto& [in, ordinal] : TreesIn(stored_in_, directory)) {
    const auto& tree = trees_.at(ordinal).tree;
    if (!tree->retired()) stored.push_back(std::dynamic_pointer_cast<ShardedTree>(tree));
  }
  return stored;
}

std::vector<std::shared_ptr<ChunkTree>> DatasetIndex::TreesNear(const std::string& key) const {
  std::vector<std::shared_ptr<ChunkTree>> near;
  const std::shared_lock lock(mutex_);
  const auto take = [&](const std::string& directory) {
    for (const auto& [in, ordinal] : TreesIn(by_directory_, directory)) {
      near.push_back(trees_.at(ordinal).tree);
    }
  };
  for (std::string above = key; !above.empty();) {
    above = ParentPath(above);
    take(above);
  }
  take(key);
  const std::string prefix = key.empty() ? std::string() : key + "/";
  for (auto at = by_directory_.lower_bound({prefix, 0});
       at != by_directory_.end() && at->first.starts_with(prefix); ++at) {
    if (at->first != key) near.push_back(trees_.at(at->second).tree);
  }
  return near;
}

std::optional<ServedTree> DatasetIndex::ServedIn(const std::string& directory) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [in, ordinal] : TreesIn(by_directory_, directory)) {
    const Registered& registered = trees_.at(ordinal);
    if (registered.tree->retired() || !registered.presented) continue;
    if (registered.stored_in == directory) {
      return ServedTree{registered.tree, registered.stored, {}};
    }
  }
  return std::nullopt;
}

bool DatasetIndex::ServesTreesIn(const std::string& path) const {
  const auto near = TreesNear(path);
  return std::any_of(near.begin(), near.end(), [&](const auto& tree) {
    return !tree->retired() && IsAtOrBelow(tree->directory(), path);
  });
}

std::optional<std::string> DatasetIndex::HomeOf(const ChunkTree& tree) const {
  const std::shared_lock lock(mutex_);
  const auto found = trees_.find(tree.ordinal());
  if (found == trees_.end()) return std::nullopt;
  return found->second.home;
}

std::shared_ptr<ChunkTree> DatasetIndex::SuccessorOf(const ChunkTree& tree) const {
  const std::shared_lock lock(mutex_);
  const auto old = trees_.find(tree.ordinal());
  if (old == trees_.end()) return nullptr;
  const auto home = contributions_.find(old->second.home);
  if (home == contributions_.end()) return nullptr;
  for (const ServedTree& now : home->second->trees) {
    for (const std::shared_ptr<ChunkTree>& one : TreesOf(now)) {
      // Which of the two it takes the place of: they may have one directory.
      const bool same_role =
          (one == now.stored) == (dynamic_cast<const ShardedTree*>(&tree) != nullptr);
      if (!same_role || one->directory() != tree.directory()) continue;
      if (one->layout_digest() == tree.layout_digest()) return one;
    }
  }
  return nullptr;
}

std::vector<FoundDataset> DatasetIndex::found() const {
  const std::shared_lock lock(mutex_);
  std::vector<FoundDataset> all;
  for (const auto& [path, contribution] : contributions_) {
    all.insert(all.end(), contribution->found.begin(), contribution->found.end());
  }
  return all;
}

std::vector<std::string> DatasetIndex::ArraysIn(const std::string& directory) const {
  std::vector<std::string> paths;
  const std::shared_lock lock(mutex_);
  if (arrays_.contains(directory)) paths.push_back(directory);
  for (const auto& [path, count] : KeysBelow(arrays_, directory)) paths.push_back(path);
  return paths;
}

bool DatasetIndex::HasArray(const std::string& path) const {
  const std::shared_lock lock(mutex_);
  return arrays_.contains(path);
}

bool DatasetIndex::HasArraysBelow(const std::string& directory) const {
  const std::shared_lock lock(mutex_);
  return !KeysBelow(arrays_, directory).empty();
}

}  // namespace unshard
