// The spool: committed chunks that wait for their shard, one plain file each.
//
// Layout of one spool directory (every live mount has its own):
//
//   owner                    JSON: source, its identity (store/local/source_identity.h), host,
//                            boot, process; locked while a mount uses it
//   owner.new                the same, before it is renamed
//   staging/<number>         files being written; nothing has been promised about them
//   chunks/<dataset>/…       committed chunks, "<chunk>,<seal>"; "/" in names is written "%2F"
//   chunks/<dataset>/.path   the path of the dataset below the source
//   attempts/<number>        JSON: one attempt to replace an object of the store that is under way,
//                            or whose outcome was not known when the mount ended
//   conflicts/<dataset>/…    committed chunks that replay found another version of in the store
//   damaged/<dataset>/…      files that did not match their seal when the spool was opened
//
// Other names, such as the ".nfs…" that NFS leaves of a file that was open, are ignored and never
// removed.
//
// The seal says all there is to know about the file: sequence, kind (chunk or removal), length and
// checksum (codec/core/checksum.h) of the file, length and checksum of what it replaces, and a
// digest of the layout that it was written for. A file of the source that is no chunk, and waits to
// be stored whole under its own key, is sealed in the same way, marked as one. Renaming seals. A
// file whose bytes do not match its seal was torn by a power loss before it was fsynced, or damaged
// since: which of the two is not known, so it is quarantined and reported.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/local/file_system.h"
#include "store/local/source_identity.h"
#include "store/spool/owner.h"

namespace unshard {

// What a committed chunk replaced: nothing, or plain bytes with this length and checksum.
struct ChunkFingerprint {
  static ChunkFingerprint Unknown() { return {true, 0, 0, true}; }
  bool absent = true;
  std::uint64_t size = 0;
  std::uint32_t checksum = 0;
  // Not known, since the store did not answer: whatever is there is replaced, but in strict mode.
  bool unknown = false;
  friend bool operator==(const ChunkFingerprint&, const ChunkFingerprint&) = default;
};

// What a seal says beside what the spool knows by itself.
struct SealTerms {
  // Of a whole file: its length, and the checksum of its validator in the store.
  ChunkFingerprint base;
  // The version before this one, where it was in the spool as well: the store may have that by now.
  std::optional<ChunkFingerprint> other_base = std::nullopt;
  // Of what the metadata said of how chunks are stored; seals of earlier releases have none.
  std::optional<std::uint32_t> layout = std::nullopt;
  // No chunk, but a file of the source: `dataset` is the directory that it is in.
  bool whole_file = false;
};

// One committed version of one chunk file. Immutable.
struct SpooledChunk {
  std::string dataset;         // path below the source of the directory that holds the shards
  std::string chunk;           // path of the chunk file below that: "c/0/3", "0-64_0-64_0-64"
  std::uint64_t sequence = 0;  // larger is later; never used twice in one spool
  bool removed = false;        // a removal: the file is empty
  // While it is committed together with others: the `sequence` of another version. It counts only
  // if that version is in the spool. 0: it counts alone.
  std::uint64_t only_with = 0;
  std::uint64_t size = 0;
  std::uint32_t checksum = 0;
  SealTerms terms;
  timespec committed{};
};

struct SpoolUsage {
  std::uint64_t files = 0;  // staged and sealed; not those quarantined
  std::uint64_t bytes = 0;
};

struct SpoolOptions {
  // What the chunks belong to; a spool of another source is never adopted. Without an identity only
  // the names are compared.
  std::string source;
  std::optional<SourceIdentity> identity = std::nullopt;
  // Or half of what its disk has free and the spool holds, if that is less: Spool::max_bytes().
  std::uint64_t max_bytes = std::uint64_t{4} << 30;
  std::uint64_t max_files = std::uint64_t{1} << 20;
  // Of files that Reserve() gives, each of which holds a descriptor until it is destroyed. A
  // quarter of this for sealed files, until they are synced.
  std::size_t max_descriptors = std::size_t{1} << 20;
};

// One attempt to replace an object of the store by sealed files of a spool. It is recorded before
// the store is asked, so that the next process can tell its own write from that of others.
struct SpoolAttempt {
  std::string key;                       // of the object
  std::string id;                        // ObjectReplacement::attempt()
  std::vector<std::uint64_t> sequences;  // of the sealed files that the object has if it succeeded
  // Not "": no attempt, but an upload in parts under this id, whose parts are to be dropped.
  std::string upload{};
};

// How a message ends that says of a chunk or file why it was quarantined.
inline constexpr const char* kIsQuarantined =
    "; what was written here is quarantined (unshard spool list)";

class Spool;

// A file being written. Its bytes are kept until it is sealed or destroyed. Thread-safe.
class StagedFile {
 public:
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  Result<std::size_t> Read(std::uint64_t offset, std::span<std::uint8_t> to);
  // kResourceExhausted with ENOSPC where the spool's cap is reached and must not be exceeded
  // (Spool::AskBeyondCap); kReadOnly once it is sealed. The same holds of CopyFrom and Truncate.
  Status Write(std::uint64_t offset, ByteSpan bytes);
  Status CopyFrom(File& source, const ByteRange& range, std::uint64_t offset);
  Status Truncate(std::uint64_t size);
  // Fsyncs the bytes, not the name: Spool::Sync makes a sealed chunk durable.
  Status Sync();
  [[nodiscard]] std::uint64_t size() const;
  // Of all bytes; without reading them where they were written in order.
  Result<std::uint32_t> Checksum();
  [[nodiscard]] File& file();

  struct State;

 private:
  friend class Spool;
  explicit StagedFile(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

// Thread-safe. Outlives its staged files.
class Spool {
 public:
  // Takes the directory that is the root of `files` over, which is empty or a spool of the same
  // source that no living process owns, and removes what was only staged. Fails with kUnavailable
  // where a living process owns it, and with kInvalidArgument where it has no owner and something
  // else is in it or it belongs to another source.
  static Result<std::unique_ptr<Spool>> Open(std::shared_ptr<FileSystem> files,
                                             const SpoolOptions& options);
  ~Spool();

  // The chunks that Open found whole, latest version of each chunk, in order of sequence. The
  // others have been moved to damaged/, each with a line in the log.
  [[nodiscard]] std::vector<SpooledChunk> TakeRecovered();

  Result<std::shared_ptr<StagedFile>> Stage();
  // The same, for a program that opens a file for writing: EMFILE where staged files have taken all
  // descriptors. Stage() does not ask, so that what is open already can be written and committed.
  Result<std::shared_ptr<StagedFile>> Reserve();
  // Commits: the staged file becomes `dataset`/`chunk`, or a removal of it where `staged` is null.
  // From return on it survives the end of this process. `staged` is sealed then: its bytes can
  // still be read through it, and never be changed. Gives sequence, checksum and time. Fails, with
  // `staged` as it was, with kInvalidArgument and ENAMETOOLONG where the name of the chunk is too
  // long for a file name, and with ENOSPC where a removal finds the cap reached.
  Result<SpooledChunk> Seal(StagedFile* staged, const std::string& dataset,
                            const std::string& chunk, const SealTerms& terms);
  // One of several chunks of a dataset that are committed together, as in Seal().
  struct Part {
    StagedFile* staged = nullptr;
    std::string chunk;
    SealTerms terms;
  };
  // Commits all of them, or none: whatever ends the process meanwhile, the next Open() finds all or
  // none. From a power loss some may come back, unless all have been synced. Gives them in the
  // order of `parts`, of which there is one at least, in order of sequence, without any other one
  // in between. Fails as Seal() does; the staged files of several parts may be lost then.
  Result<std::vector<SpooledChunk>> SealTogether(const std::string& dataset,
                                                 const std::vector<Part>& parts);
  // Gives a sealed chunk other terms. From its seal until the return nothing else may be asked of
  // it. After a power loss it may have the former ones. Fails with the chunk as it was.
  Result<SpooledChunk> Reseal(const SpooledChunk& chunk, const SealTerms& terms);
  // One file of a move: the name that comes or goes, and its seal.
  struct MoveEnd {
    std::string chunk;
    SealTerms terms;
  };
  struct SealedMove {
    SpooledChunk copy;
    SpooledChunk removal;
  };
  // Commits both, or neither: the staged file becomes `to`, and `from` is removed. Whatever ends
  // the process or the machine meanwhile, the next Open() finds both or neither. Both survive a
  // power loss from return on. Fails as Seal() and Sync() do; `staged` may be sealed then, and
  // lost.
  Result<SealedMove> SealMove(StagedFile& staged, const std::string& dataset, const MoveEnd& to,
                              const MoveEnd& from);
  // Returns once these survive a power loss; those that have been discarded are no longer ours to
  // keep. Concurrent callers share the fsyncs. A file whose fsync fails is written once more to
  // a new file; where that fails as well the error is returned, now and each time that version is
  // asked for: the kernel would report success for bytes that never reached the disk. The chunk can
  // still be read and published, or sealed anew from a new staged file.
  Status Sync(const std::vector<SpooledChunk>& chunks);
  // To be called before these are published: afterwards no earlier version of them can come back
  // after a power loss and be published over them. Costs nothing for chunks that were sealed once;
  // the others are synced, and fail as Sync does.
  Status PrepareToPublish(const std::vector<SpooledChunk>& chunks);
  // The bytes of a sealed chunk. kNotFound where it has been discarded; kDataLoss where it has not,
  // and its file is gone nevertheless.
  Result<std::shared_ptr<File>> Open(const SpooledChunk& chunk);
  // Forgets a version: it has been published, or a later one has been sealed. Its file goes at
  // once, with two exceptions: if it survives a power loss and the later version does not, it goes
  // as soon as that does; and it goes together with an earlier version that has not been discarded
  // yet. An earlier version of a chunk never outlives the last one, not even where the power fails.
  // Nothing happens where it has been discarded before.
  Status Discard(const SpooledChunk& chunk);
  // Returns the number of the attempt once its record survives a power loss.
  Result<std::uint64_t> RecordAttempt(const SpoolAttempt& attempt);
  // Its outcome is known, and counts: the record goes.
  Status ForgetAttempt(std::uint64_t number);
  // Those that were recorded when the spool was opened, by number. Nothing the second time.
  [[nodiscard]] std::map<std::uint64_t, SpoolAttempt> TakeAttempts();
  // Quarantines a version, for a person to decide; it is reported and no longer replayed, from
  // return on. kNotFound where it has been discarded.
  Status Quarantine(const SpooledChunk& chunk);
  // Without those whose files a person has removed since (`unshard spool drop`).
  std::vector<SpooledChunk> Conflicts();
  // Quarantined at an Open, this one or an earlier one, since their bytes do not match their seal.
  // Without those that were removed since.
  std::vector<SpooledChunk> Damaged();
  // Removes the spool from its directory, where it holds no chunk, conflict or damaged file: true
  // where the directory is empty now. False where something else is in it: it is still a spool
  // then. What is only staged is lost; nothing may be staged from the call on.
  Result<bool> RemoveIfEmpty();

  // `may_exceed` decides, from now on, whether a cap may be exceeded: its failure is the reason why
  // what was to be written is not. Called without a lock. Whatever it says, the spool never gets
  // much larger than twice a cap. Null, as at first: no cap is exceeded.
  void AskBeyondCap(std::function<Status()> may_exceed);
  // How many times the spool holds more than a cap allows: 0, 1, or 2 for more than twice. Takes no
  // lock.
  [[nodiscard]] unsigned TimesOverCap() const;
  // Looks at the free space of the disk again, on which max_bytes() depends. Otherwise it is looked
  // at whenever a sixteenth of the cap has been written, 64 MiB at most.
  void LookAtDisk();
  // The cap on bytes as of the last look at the disk.
  [[nodiscard]] std::uint64_t max_bytes() const;
  [[nodiscard]] SpoolUsage usage() const;
  [[nodiscard]] const SpoolOptions& options() const;
  // The path of a version: committed, quarantined as a conflict, or as damaged.
  [[nodiscard]] std::string Describe(const SpooledChunk& chunk) const;
  [[nodiscard]] std::string DescribeConflict(const SpooledChunk& chunk) const;
  [[nodiscard]] std::string DescribeDamaged(const SpooledChunk& chunk) const;

  struct State;

 private:
  explicit Spool(std::unique_ptr<State> state);
  Result<std::shared_ptr<StagedFile>> StageFile(bool may_be_spare);
  const std::unique_ptr<State> state_;
};

// "c%2F0%2F3,s17-f4096-1a2b3c4d-b4096-5e6f7a8b-l9c0d1e2f" and back; nothing for any other name.
// "-r" means a removal, "-a" that nothing is replaced, "-u" that it is not known what is, a second
// "-b…" or "-a" the other base, "-o" a whole file, "-w18" at the end that it counts only with
// version 18. Neither dataset nor time are in the name.
std::string SealedName(const SpooledChunk& chunk);
std::optional<SpooledChunk> ParseSealedName(std::string_view name);

// Finding spools of one source below a folder of spools: the mount makes a new one in it and adopts
// those whose owner is dead; `unshard spool` reads all of them.
struct FoundSpool {
  std::string path;  // below the folder
  std::string source;
  std::string owner;   // "process 4711 on host", for people
  SpoolOwner record;   // all that its owner file says
  bool alive = false;  // a process holds its lock
};
// In order of path. What is no spool is left out; a damaged owner file is, with a line in the log.
Result<std::vector<FoundSpool>> FindSpools(FileSystem& folder);

}  // namespace unshard
