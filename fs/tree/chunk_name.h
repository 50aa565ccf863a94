// The name of a chunk of the grid.
#pragma once

#include <memory>

#include "fs/tree/name.h"
#include "store/chunks/chunk_tree.h"

namespace unshard {

class ChunkName final : public Name {
 public:
  struct Chunk {
    std::shared_ptr<ChunkTree> tree;
    ChunkRef ref;
    bool presented = true;  // false: can be written by this name, but not looked up
    [[nodiscard]] bool gzipped() const { return ref.part == ChunkPart::kStored; }
  };
  // `otherwise`: how to look the name up where there is no such chunk; null: it is absent.
  ChunkName(Superblock& superblock, std::string directory, std::string_view name, Chunk chunk,
            LookupOtherwise otherwise)
      : Name(superblock, std::move(directory), name),
        chunk_(std::move(chunk)),
        otherwise_(std::move(otherwise)) {}

  Result<Entry> Lookup(pid_t thread) override;
  Result<Created> Create(const OpenRequest& request) override;
  // EPERM: an empty file is no chunk.
  Result<Entry> MakeFile(pid_t thread, mode_t mode) override;
  Status Remove() override;
  Result<Entry> MakeDirectory(mode_t mode) override;
  Status RenameTo(Name& to, bool replace) override { return to.TakeChunk(*this, replace); }
  Status TakeScratch(const ScratchName& from, bool replace) override;
  // Commits `from` as this chunk, and removes it. EXDEV where that is no chunk of this array.
  Status TakeChunk(const ChunkName& from, bool replace) override;
  Status TakeSource(const SourceName& from, bool replace) override;
  Status LinkScratch(const std::shared_ptr<StagedInode>& staged) override;

  [[nodiscard]] const Chunk& chunk() const { return chunk_; }

 protected:
  Result<bool> Exists() override;

 private:
  // `staged` becomes the chunk.
  Status Commit(const std::shared_ptr<StagedInode>& staged);
  Status CommitRemoval();
  // From now on open files of the chunk write to that which it was renamed to; null: to nothing.
  void Detach(const Chunk* renamed) const;

  const Chunk chunk_;
  const LookupOtherwise otherwise_;
};

}  // namespace unshard
