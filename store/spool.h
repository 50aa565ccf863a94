// The spool: committed chunks that wait for their shard, one plain file each.
//
// Layout of one spool directory (every live mount has its own):
//
//   owner                    JSON: source, host, boot, process; locked while a mount uses it
//   staging/<number>         files being written; nobody has been promised anything about them
//   chunks/<dataset>/…       committed chunks, "<chunk>,<seal>"; "/" in names is written "%2F"
//   chunks/<dataset>/.path   the path of the dataset below the source
//   conflicts/<dataset>/…    committed chunks that replay found another version of in the store
//
// The seal says all there is to know about the file: sequence, kind (chunk or removal), length and
// crc32c of the file, length and crc32c of what it replaces. Renaming seals; a file whose bytes do
// not match its seal was torn by a power loss before anybody was told that it would last.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/file_system.h"

namespace unshard {

// What a committed chunk replaced: nothing, or plain bytes with this length and crc32c.
struct ChunkFingerprint {
  bool absent = true;
  std::uint64_t size = 0;
  std::uint32_t crc32c = 0;
  friend bool operator==(const ChunkFingerprint&, const ChunkFingerprint&) = default;
};

// One committed version of one chunk file. Immutable.
struct SpooledChunk {
  std::string dataset;         // path below the source of the directory that holds the shards
  std::string chunk;           // path of the chunk file below that: "c/0/3", "0-64_0-64_0-64"
  std::uint64_t sequence = 0;  // larger is later; never used twice in one spool
  bool removed = false;        // a removal: the file is empty
  std::uint64_t size = 0;
  std::uint32_t crc32c = 0;
  ChunkFingerprint base;
  timespec committed{};
};

struct SpoolUsage {
  std::uint64_t files = 0;  // staged and sealed
  std::uint64_t bytes = 0;
};

struct SpoolOptions {
  std::string source;  // what the chunks belong to; a spool of another source is never adopted
  std::uint64_t max_bytes = std::uint64_t{4} << 30;
  std::uint64_t max_files = std::uint64_t{1} << 20;
};

class Spool;

// A file being written. Its bytes are kept until it is sealed or destroyed. Thread-safe.
class StagedFile {
 public:
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  Result<std::size_t> Read(std::uint64_t offset, std::span<std::uint8_t> to);
  // ENOSPC where the spool's cap is reached.
  Status Write(std::uint64_t offset, ByteSpan bytes);
  Status CopyFrom(File& source, const ByteRange& range, std::uint64_t offset);
  Status Truncate(std::uint64_t size);
  Status Sync();
  [[nodiscard]] std::uint64_t size() const;
  // Of all bytes; without reading them where they were written in order.
  Result<std::uint32_t> Crc32c();
  [[nodiscard]] File& file();

 private:
  friend class Spool;
  StagedFile(Spool& spool, std::string path, std::shared_ptr<File> file);
  struct State;
  const std::unique_ptr<State> state_;
};

// Thread-safe. Outlives its staged files.
class Spool {
 public:
  // Takes the directory `files` over, which is empty or a spool of the same source that no living
  // process owns, and removes what was only staged. Fails with kUnavailable where somebody owns it,
  // and with kInvalidArgument where something else is in it or it belongs to another source.
  static Result<std::unique_ptr<Spool>> Open(std::shared_ptr<FileSystem> files,
                                             const SpoolOptions& options);
  ~Spool();

  // What stood there at Open and is whole, latest version of each chunk, in order of sequence. Torn
  // files have been removed, each with a line in the log.
  [[nodiscard]] std::vector<SpooledChunk> TakeRecovered();

  Result<std::shared_ptr<StagedFile>> Stage();
  // Commits: the staged file becomes `dataset`/`chunk`, or a removal of it where `staged` is null.
  // From return on it survives the end of this process. `staged` is sealed then: its bytes can
  // still be read through it, and never be changed. Gives sequence, crc and time.
  Result<SpooledChunk> Seal(StagedFile* staged, const std::string& dataset,
                            const std::string& chunk, const ChunkFingerprint& base);
  // Returns once these survive a power loss. Concurrent callers share the syncing of directories.
  Status Sync(const std::vector<SpooledChunk>& chunks);
  // The bytes of a sealed chunk. kNotFound where it has been discarded.
  Result<std::shared_ptr<File>> Open(const SpooledChunk& chunk);
  // Forgets a version: it has been published, or a later one has been sealed.
  Status Discard(const SpooledChunk& chunk);
  // Moves a version aside for a person to look at; it is reported and no longer replayed.
  Status SetAside(const SpooledChunk& chunk);
  [[nodiscard]] std::vector<SpooledChunk> Conflicts();

  [[nodiscard]] SpoolUsage usage() const;
  [[nodiscard]] const SpoolOptions& options() const;
  [[nodiscard]] std::string Describe(const SpooledChunk& chunk) const;

 private:
  friend class StagedFile;
  struct State;
  explicit Spool(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

// "c%2F0%2F3,s17-f4096-1a2b3c4d-b4096-5e6f7a8b" and back; nothing for any other name.
std::string SealedName(const SpooledChunk& chunk);
std::optional<SpooledChunk> ParseSealedName(std::string_view name);

// Finding spools of one source below a folder of spools: the mount makes a new one in it and adopts
// those whose owner is dead; `unshard spool` looks at all of them.
struct FoundSpool {
  std::string path;  // below the folder
  std::string source;
  std::string owner;  // "process 4711 on host", for people
  bool alive = false;
};
Result<std::vector<FoundSpool>> FindSpools(FileSystem& folder);

}  // namespace unshard
