// Names of chunk files of an unsharded precomputed volume, where the source passes through.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fs/tree/chunk_name.h"
#include "fs/tree/name.h"
#include "fs/tree/source_name.h"

namespace unshard {

// "<chunk>" is the file of that name. Where the source has no such file but "<chunk>.gz" or its kin
// (codec/grid/chunk_names.h), it is the decoded chunk, which is written and removed as
// that one stored file.
class PlainChunkName final : public Name {
 public:
  PlainChunkName(Superblock& superblock, const std::string& directory, std::string_view name,
                 bool opaque)
      : Name(superblock, directory, name), file_(superblock, directory, name, opaque) {}

  // Whether a name may be that of such a chunk.
  static bool MayBe(std::string_view name);

  Result<Entry> Lookup(pid_t thread) override;
  Result<Created> Create(const OpenRequest& request) override;
  Result<Entry> MakeFile(pid_t thread, mode_t mode) override;
  Status Remove() override;
  Result<Entry> MakeDirectory(mode_t mode) override;
  Status RemoveDirectory(pid_t thread) override { return file_.RemoveDirectory(thread); }
  Status RenameTo(Name& to, bool replace) override;
  Status TakeScratch(const ScratchName& from, bool replace) override;
  Status TakeChunk(const ChunkName& from, bool replace) override;
  Status TakeSource(const SourceName& from, bool replace) override;
  Result<Entry> LinkSource(const std::string& existing) override;
  Status LinkScratch(const std::shared_ptr<StagedInode>& staged) override;

 protected:
  Result<bool> Exists() override;

 private:
  // Sets chunk_. False where the grid has no chunk of this name.
  bool FindPlainChunk();
  // The chunk where it is stored with a suffix, or was committed here; else the file.
  Result<Name*> Meant();

  SourceName file_;
  std::optional<ChunkName> chunk_;
};

}  // namespace unshard
