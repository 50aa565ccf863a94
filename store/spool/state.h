// What a spool knows of its files. Only for sources of this folder.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/spool/spool.h"

namespace unshard {

inline constexpr const char* kStagingDirectory = "staging";
inline constexpr const char* kChunksDirectory = "chunks";
inline constexpr const char* kConflictsDirectory = "conflicts";
inline constexpr const char* kDamagedDirectory = "damaged";
inline constexpr const char* kAttemptsDirectory = "attempts";
inline constexpr const char* kDatasetPathFile = ".path";
inline constexpr const char* kNewDatasetPathFile = ".path.new";

// How far one version of a chunk has come on its way to the disk.
enum class Durability : std::uint8_t {
  kUnsynced,
  kSyncing,     // one thread fsyncs the file; others wait
  kFileSynced,  // the bytes are durable, their name may not be
  kDurable,
  kLost,  // fsync(2) failed: nothing is ever acknowledged about it
};

struct SpoolVersion {
  std::uint64_t sequence = 0;
  Durability durability = Durability::kUnsynced;
  // A program may have been acknowledged that it survives a power loss: by this process, or, where
  // it was here at Open, by the one before.
  bool acknowledged = false;
  // Discarded, and kept only until a later version is durable or an earlier one is discarded.
  bool superseded = false;
  // A copy is held by each open file through which its bytes can still be read.
  std::shared_ptr<const char> readers = std::make_shared<const char>();
};

// Versions of a commit that failed which could not be removed.
struct UnwantedVersions {
  std::uint64_t last = 0;  // the sequence of the one without which the others do not count
  bool in_order = false;   // the others are not removed before its removal is fsynced
  std::vector<SpooledChunk> chunks;  // of one dataset; the last one first, where it was sealed
};

// One directory of sealed chunks.
struct SpoolDirectory {
  std::string path;     // "chunks/<dataset>"
  bool made = false;    // it and its `.path` are there to stay
  bool making = false;  // one thread makes it; others wait

  // Every version of every chunk, the earliest first. Nearly always one.
  std::unordered_map<std::string, std::vector<SpoolVersion>> chunks;

  // Rounds of fsyncing this directory: a change of names is durable once a round that began after
  // it has succeeded.
  std::uint64_t round_begun = 0;
  std::uint64_t round_done = 0;  // the last that succeeded
  bool round_running = false;
  // Versions below this whose names were not durable when a round failed never will be.
  std::uint64_t doubtful_below = 0;
  // Chunks of which a file was removed, and the round after which that is durable.
  std::unordered_map<std::string, std::uint64_t> removed;
};

struct Spool::State {
  State(std::shared_ptr<FileSystem> the_files, SpoolOptions the_options)
      : files(std::move(the_files)), options(std::move(the_options)), cap(options.max_bytes) {}

  const std::shared_ptr<FileSystem> files;
  const SpoolOptions options;
  std::shared_ptr<File> owner;  // holds the lock

  // Never held across I/O.
  mutable std::mutex mutex;
  // Held while a directory of conflicts/ is made: two publishes would write one `.path.new`.
  std::mutex making_conflicts;
  std::condition_variable changed;       // durability, making, round_running
  SpoolUsage usage;                      // Counted() follows each change
  std::uint64_t cap;                     // on bytes
  std::uint64_t since_look = 0;          // bytes that were charged since the disk was looked at
  std::atomic<unsigned> times_over = 0;  // TimesOverCap()
  std::function<Status()> may_exceed;    // AskBeyondCap()
  std::size_t staged_files = 0;  // that are there, sealed ones included: each has a descriptor
  std::uint64_t next_sequence = 1;
  std::uint64_t next_staged = 1;
  std::map<std::string, SpoolDirectory> directories;           // by dataset; never removed
  std::unordered_map<std::uint64_t, SpooledChunk> superseded;  // by sequence
  std::vector<SpooledChunk> recovered;
  std::map<std::uint64_t, SpoolAttempt> attempts;  // recovered ones
  std::uint64_t next_attempt = 1;
  std::vector<SpooledChunk> conflicts;
  std::vector<SpooledChunk> damaged;
  // Files of the latest sealed versions, open until they are synced: an error of writing is
  // reported to descriptors of that time only. At most kMaxHeld: a million chunks need no more.
  std::unordered_map<std::uint64_t, std::shared_ptr<File>> held;
  std::deque<std::uint64_t> held_order;
  // Empty files in staging/ that discarded versions have left, to be written again: making and
  // removing a file costs a file system more than both of these.
  std::vector<std::string> spare_files;
  // All are superseded: they are in the way of no other version.
  std::vector<UnwantedVersions> unwanted;

  // Counts files and bytes up; ENOSPC where a cap does not allow it, nor `may_exceed`.
  Status Charge(std::uint64_t more_files, std::uint64_t more_bytes);
  // Both require the mutex. Fits: ENOSPC where so much more is beyond a cap, or, with `beyond`,
  // beyond what no writer may exceed.
  [[nodiscard]] Status Fits(std::uint64_t more_files, std::uint64_t more_bytes, bool beyond) const;
  void Counted();
  void LookAtDisk();
  // The quarantined files of `list`, a member, that are still there; it forgets the others.
  std::vector<SpooledChunk> Kept(const char* top, std::vector<SpooledChunk>& list);
  void Discharge(std::uint64_t fewer_files, std::uint64_t fewer_bytes);
  std::string NextStagedPath();
  void Hold(std::uint64_t sequence, std::shared_ptr<File> file);  // requires the mutex

  // The directory of a dataset, made to stay where it is not there yet.
  Result<SpoolDirectory*> DirectoryOf(const std::string& dataset);
  // Requires the mutex; null where it is unknown.
  SpoolDirectory* FindDirectory(const std::string& dataset);
  SpoolVersion* FindVersion(const SpooledChunk& chunk);
  // True where it was known; it no longer counts then.
  bool ForgetVersion(SpoolDirectory& directory, const SpooledChunk& chunk);

  // Waits for a round of fsyncing that begins after the call; makes it where no other thread does.
  Status SyncRound(SpoolDirectory& directory);
  // A staged file that was a spare one; null where there is none to be had.
  std::unique_ptr<StagedFile::State> StageSpare();
  // A staged file that is newly made.
  Result<std::unique_ptr<StagedFile::State>> StageNew();
  // The failure of a call on a path of the spool. If it says that the path is missing: a failure
  // that says why instead, since the program that writes has made no mistake.
  [[nodiscard]] Error AsRemoved(Error error) const;
  // Gives a staged file, whose mutex the caller holds, the name of its seal; `sealed` says all but
  // what the file says itself.
  Status SealAs(SpoolDirectory& directory, StagedFile::State& from, SpooledChunk& sealed);
  // Makes the file of a version that has no readers any more a spare one. False where that is not
  // possible; the file is as it was then.
  bool Recycle(const SpooledChunk& chunk);
};
// The path of a sealed chunk below the spool.
std::string SealedPath(const char* top, const SpooledChunk& chunk);
// Whether a call failed since a directory of the spool, or all of it, was removed. Programs that
// clean up remove directories that have been empty for long.
bool IsGone(const Error& error);
// Makes `<top>/<dataset>` with its `.path` where they are missing, and returns once they are
// durable.
Status MakeDatasetDirectory(FileSystem& files, const char* top, const std::string& dataset);

// Fails with kInvalidArgument or ENAMETOOLONG where no sealed file can have these names.
Status CheckSealNames(const std::string& dataset, const std::string& chunk);

}  // namespace unshard
