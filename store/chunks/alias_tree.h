// A stored tree under another directory: how several views present the same chunks as they are
// stored.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/chunks/sharded_tree.h"

namespace unshard {

// Everything but the directory is that of the stored tree. Thread-safe.
class AliasTree final : public ChunkTree {
 public:
  AliasTree(std::uint32_t ordinal, std::string directory, std::shared_ptr<ShardedTree> stored)
      : ChunkTree(ordinal, std::move(directory)), stored_(std::move(stored)) {}

  [[nodiscard]] std::uint32_t stored_ordinal() const override { return stored_->ordinal(); }
  [[nodiscard]] std::shared_ptr<ShardedTree> stored_elsewhere() const override { return stored_; }
  [[nodiscard]] ChunkStore& chunks() override { return stored_->chunks(); }
  [[nodiscard]] std::uint32_t layout_digest() const override { return stored_->layout_digest(); }
  [[nodiscard]] const ChunkNames& names() const override { return stored_->names(); }
  [[nodiscard]] ChunkRef RefOf(const ChunkFile& file) const override {
    return stored_->RefOf(file);
  }
  [[nodiscard]] std::optional<ChunkFile> FileOf(const ChunkRef& chunk) const override {
    return stored_->FileOf(chunk);
  }
  [[nodiscard]] std::string StoreDirectory(const GridDirectory& in) const override {
    return stored_->StoreDirectory(in);
  }
  [[nodiscard]] bool IsStoreDirectory(const GridDirectory& in) const override {
    return stored_->IsStoreDirectory(in);
  }
  [[nodiscard]] bool IsShardKey(std::string_view key) const override {
    return stored_->IsShardKey(key);
  }
  Status List(const GridDirectory& in, std::uint64_t cookie, ListMode mode,
              const ListVisitor& visitor, const DamageVisitor& damaged,
              const std::vector<GridDirectory>& others) override {
    return stored_->List(in, cookie, mode, visitor, damaged, others);
  }
  Result<std::optional<timespec>> Modified(const GridDirectory& in) override {
    return stored_->Modified(in);
  }
  void ForgetListings() override { stored_->ForgetListings(); }
  void ForEachDirectory(std::uint64_t shard,
                        const std::function<void(const GridDirectory&)>& visitor) const override {
    stored_->ForEachDirectory(shard, visitor);
  }
  void ForEachDirectoryAt(std::string_view key,
                          const std::function<void(const GridDirectory&)>& visitor) const override {
    stored_->ForEachDirectoryAt(key, visitor);
  }
  [[nodiscard]] std::optional<std::uint64_t> Position(const ChunkRef& chunk) const override {
    return stored_->Position(chunk);
  }
  [[nodiscard]] std::optional<std::uint64_t> Position(
      const GridDirectory& directory) const override {
    return stored_->Position(directory);
  }
  [[nodiscard]] Match AtPosition(std::uint64_t position) const override {
    return stored_->AtPosition(position);
  }
  [[nodiscard]] bool HoldsScratch() const override { return stored_->HoldsScratch(); }
  [[nodiscard]] bool TakesGzipNames() const override { return stored_->TakesGzipNames(); }
  [[nodiscard]] const ChunkCheck& check() const override { return stored_->check(); }

 private:
  const std::shared_ptr<ShardedTree> stored_;
};

}  // namespace unshard
