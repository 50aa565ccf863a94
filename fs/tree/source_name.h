// Names of files and directories of the source, whether or not they exist.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "fs/tree/name.h"

namespace unshard {

class SourceName final : public Name {
 public:
  // kAsIs: as the source has it. kNeeded: a directory that a metadata document names, which need
  // not exist. kHidden: not presented, as lock files.
  enum class Presented { kAsIs, kNeeded, kHidden };
  // `opaque`: nothing below the directory is a dataset.
  SourceName(Superblock& superblock, std::string directory, std::string_view name,
             bool opaque = false, Presented presented = Presented::kAsIs)
      : Name(superblock, std::move(directory), name), opaque_(opaque), presented_(presented) {}

  Result<Entry> Lookup(pid_t thread) override;
  Result<Created> Create(const OpenRequest& request) override;
  Status Remove() override;
  Result<Entry> MakeDirectory(mode_t mode) override;
  Status RemoveDirectory(pid_t thread) override;
  Status RenameTo(Name& to, bool replace) override { return to.TakeSource(*this, replace); }
  Status TakeScratch(const ScratchName& from, bool replace) override;
  Status TakeSource(const SourceName& from, bool replace) override;
  Result<Entry> LinkSource(const std::string& existing) override;
  Status LinkScratch(const std::shared_ptr<StagedInode>& staged) override;

  // The file is moved onto a chunk or a document: `commit` commits its bytes as that, and then it
  // is removed.
  using CommitStaged = std::function<Status(const std::shared_ptr<StagedInode>&)>;
  Status BecomeBy(const CommitStaged& commit) const;

 protected:
  Result<bool> Exists() override;

 private:
  // It is the document of a dataset that is presented as it is stored.
  [[nodiscard]] bool IsPlainDocument() const;

  [[nodiscard]] Result<Entry> LookupPresented() const;
  // The answer if the source has no such name: `missing`, or ENOENT with the reason for the name of
  // a view that view=all leaves out.
  [[nodiscard]] Result<Entry> LookupNothing(const Entry& missing) const;
  // The answer while the store is away, for a name of which nothing is known.
  [[nodiscard]] Result<Entry> LookupUnknown(const Error& error) const;

  const bool opaque_;
  const Presented presented_;
};

// Renames the file or directory in the source. EBUSY for directories with a dataset that the mount
// serves.
Status RenameInSource(Superblock& superblock, const SourceName& from, Name& to, bool replace);

}  // namespace unshard
