// Names in chunk directories that are not names of chunks: scratch files and directories.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fs/tree/name.h"
#include "fs/write/scratch_files.h"

namespace unshard {

class ScratchName final : public Name {
 public:
  // `absence`: the time to live of a negative entry.
  ScratchName(Superblock& superblock, std::string directory, std::string_view name,
              std::uint64_t absence)
      : Name(superblock, std::move(directory), name), absence_(absence) {}

  Result<Entry> Lookup(pid_t thread) override;
  Result<Created> Create(const OpenRequest& request) override;
  Status Remove() override;
  Result<Entry> MakeDirectory(mode_t mode) override;
  Status RemoveDirectory(pid_t thread) override;
  Status RenameTo(Name& to, bool replace) override;
  Status TakeScratch(const ScratchName& from, bool replace) override;
  // Refused with EPERM: the mount would take the only copy with it. After EXDEV mv(1) would copy
  // and remove the original, which is the same.
  Status TakeChunk(const ChunkName& from, bool replace) override;
  Status TakeGridDirectory(const std::string& from) override;
  // Only within one directory, where the name passes through.
  Status TakeSource(const SourceName& from, bool replace) override;
  Status LinkScratch(const std::shared_ptr<StagedInode>& staged) override;

  // The scratch file or directory of this name now.
  [[nodiscard]] ScratchFiles::Found Find() const;
  // The scratch file becomes `to`, a chunk or a document: EXDEV for directories. Ends the scratch
  // name where `commit` succeeds.
  Status BecomeBy(const std::function<Status(const std::shared_ptr<StagedInode>&)>& commit,
                  const Name& to) const;

 protected:
  Result<bool> Exists() override { return static_cast<bool>(Find()); }

 private:
  const std::uint64_t absence_;
};

// The entry of a scratch file or directory; nothing where there is none.
std::optional<Entry> LookupScratch(Superblock& superblock, const std::string& directory,
                                   std::string_view name);

}  // namespace unshard
