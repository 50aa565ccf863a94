// A disk in memory on which operations fail and which loses unsynced changes with the power.
//
// The disk keeps what processes see apart from what would survive a power loss. Of a file, bytes
// and length written since its last Sync may survive whole, torn at sectors, or not at all, in any
// combination. Of names, each making, linking, removing and renaming since SyncDirectory may
// survive or not (a rename survives as a whole); only changes of the same name keep their order.
// Every journaling file system promises more, so what survives here survives there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/local/file_system.h"

namespace unshard {

struct SimulatedDiskOptions {
  bool clones = false;                  // CloneFrom works
  bool counts_reads = false;            // Read, Stat and List are operations that can fail as well
  std::uint64_t capacity = UINT64_MAX;  // of all files together; beyond it writes fail (ENOSPC)
  bool failed_sync_evicts = false;      // after a failed Sync the lost bytes cannot be read either
  bool clock_stands = false;            // all changes get the same modification time
  std::uint64_t seed = 1;               // of the choice of what is torn and what is lost
};

enum class DiskOperation {
  kOpen,  // only with `create`, of a name that did not exist
  kWrite,
  kTruncate,
  kClone,
  kSync,
  kRename,
  kLink,
  kRemove,
  kMakeDirectory,
  kSyncDirectory,
  kRead,
  kStat,
  kList,
};

// What a power loss leaves of all that was not synced.
enum class Survival { kNothing, kEverything, kRandom };

// Thread-safe. Open files keep their disk alive.
class SimulatedDisk final : public FileSystem {
 public:
  explicit SimulatedDisk(const SimulatedDiskOptions& options = {});
  ~SimulatedDisk() override;

  Result<std::shared_ptr<File>> Open(const std::string& path, const OpenFlags& flags) override;
  Result<std::optional<FileStatus>> Stat(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Link(const std::string& from, const std::string& to) override;
  Result<bool> Remove(const std::string& path) override;
  using FileSystem::MakeDirectory;
  Result<bool> MakeDirectory(const std::string& path, std::uint32_t mode) override;
  Status SyncDirectory(const std::string& path) override;
  Status SyncAll() override;
  Status List(const std::string& path,
              const std::function<bool(std::string_view name)>& visitor) override;
  Result<std::uint64_t> FreeBytes() override;
  [[nodiscard]] std::string Describe(const std::string& path) const override;

  // Operations begun since the disk was made, or since ResetCount.
  [[nodiscard]] std::uint64_t operations() const;
  void ResetCount();
  // The n-th operation (from 1) and, if `lasting`, all later ones fail. A write that fails may
  // have written a part; after a Sync that fails any unsynced bytes may be lost, and later calls do
  // not report it.
  void FailAt(std::uint64_t n, int system_errno, bool lasting);
  // Every operation of this kind fails until ClearFaults.
  void FailEvery(DiskOperation operation, int system_errno);
  // Every operation of this kind throws std::bad_alloc, as where memory runs out, until
  // ClearFaults.
  void ThrowEvery(DiskOperation operation);
  void ClearFaults();
  // Called before each Sync of a file, without a lock; null: nothing is.
  void BeforeEachSync(std::function<void()> call);
  // The process is gone at the n-th operation: neither it nor a later one happens (a write may
  // happen in part), and all fail with EIO.
  void CrashAt(std::uint64_t n);
  [[nodiscard]] bool crashed() const;

  // The disk as the next process finds it when the machine has lost its power. Equal seeds give
  // equal disks. No fault is set on it, no lock held, and the count starts at 0.
  [[nodiscard]] std::shared_ptr<SimulatedDisk> AfterPowerLoss(Survival survival,
                                                              std::uint64_t seed) const;
  // The same when only the process has died: nothing is lost, and what was not synced still is not.
  [[nodiscard]] std::shared_ptr<SimulatedDisk> AfterKill() const;

  // None of these three is counted or fails. Text: the bytes of a file as processes see them;
  // nothing where it is missing. Put: makes a file that survives. Paths: the paths of all files.
  [[nodiscard]] std::optional<std::string> Text(const std::string& path) const;
  void Put(const std::string& path, std::string_view text);
  [[nodiscard]] std::vector<std::string> Paths() const;

  struct State;

 private:
  explicit SimulatedDisk(std::shared_ptr<State> state);
  const std::shared_ptr<State> state_;
};

}  // namespace unshard
