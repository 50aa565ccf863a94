// Where the chunks of an unsharded array are written, one object each.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "store/local/file_system.h"
#include "store/object/object_replacement.h"

namespace unshard {

// Keys are those of the destination. Used by one thread; Has, Put and Remove may be called by
// several threads if the implementation says so.
class ChunkFiles {
 public:
  virtual ~ChunkFiles() = default;
  // What a chunk that is kept is like.
  struct Wanted {
    std::optional<std::uint64_t> size;  // nothing: any
    timespec no_earlier{};              // when it was written
  };
  virtual Result<bool> Has(const std::string& key, const Wanted& wanted) = 0;
  // Readers see the whole chunk, or none; at the latest once Finish has returned they see it, and
  // it is durable.
  virtual Status Put(const std::string& key, const Bytes& chunk) = 0;
  virtual Status Remove(const std::string& key) = 0;
  virtual Status Finish() = 0;
};

// The name of a CopyScratch begins so.
inline constexpr std::string_view kCopyScratchPrefix = ".unshard-copy-";

// A directory of this machine in which files are written before they get their names. It stands at
// the root, and is locked as long as this object lives; its destructor removes it. Thread-safe.
class CopyScratch {
 public:
  // Removes what processes that have ended left of theirs.
  static Result<std::shared_ptr<CopyScratch>> Make(std::shared_ptr<FileSystem> files);
  ~CopyScratch();
  CopyScratch(const CopyScratch&) = delete;
  CopyScratch& operator=(const CopyScratch&) = delete;

  // A name that no file has yet.
  std::string NewName();
  [[nodiscard]] FileSystem& files() const { return *files_; }

 private:
  CopyScratch(std::shared_ptr<FileSystem> files, std::string directory, std::shared_ptr<File> lock);
  struct Names;
  const std::shared_ptr<FileSystem> files_;
  const std::string directory_;
  std::shared_ptr<File> lock_;
  const std::unique_ptr<Names> names_;
};

// Files of this machine. Many are written to the disk at once, and get their names then.
std::unique_ptr<ChunkFiles> MakeLocalChunkFiles(std::shared_ptr<CopyScratch> scratch);
// Objects of a service. Thread-safe: several are put at a time.
std::unique_ptr<ChunkFiles> MakeRemoteChunkFiles(std::shared_ptr<ObjectStore> store,
                                                 std::shared_ptr<ObjectReplacer> replacer);

}  // namespace unshard
