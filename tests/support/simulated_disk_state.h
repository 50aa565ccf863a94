// The content of a simulated disk. Only for simulated_disk*.cc.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "tests/support/simulated_disk.h"

namespace unshard {

// One change of a file since its last Sync.
struct FileChange {
  bool truncates = false;
  std::uint64_t offset = 0;  // of a write; where `truncates`, the new length
  ByteVector bytes;
  std::uint64_t size_after = 0;
  bool lost = false;  // a failed Sync has dropped it: it will never reach the disk
};

struct DiskNode {
  bool directory = false;
  ByteVector now;                              // what processes see
  ByteVector durable;                          // what a power loss leaves at least
  std::vector<FileChange> changes;             // between the two
  std::map<std::string, std::uint64_t> names;  // of a directory, as processes see them
  std::uint64_t links = 0;
  std::uint64_t modified = 0;
  std::uint32_t mode = 0666;
  const void* locked_by = nullptr;
};

struct DiskName {
  std::uint64_t directory = 0;
  std::string name;
  auto operator<=>(const DiskName&) const = default;
};

// One change of names: removes `gone`, makes `made` (a name of `node`), or both at once.
struct NameChange {
  std::optional<DiskName> gone;
  std::optional<DiskName> made;
  std::uint64_t node = 0;

  [[nodiscard]] bool Touches(const DiskName& name) const { return gone == name || made == name; }
  [[nodiscard]] bool Shares(const NameChange& other) const {
    return (gone && other.Touches(*gone)) || (made && other.Touches(*made));
  }
};

struct SimulatedDisk::State {
  static constexpr std::uint64_t kRoot = 1;

  mutable std::mutex mutex;
  std::condition_variable unlocked;
  std::function<void()> before_sync;  // set before other threads come
  SimulatedDiskOptions options;
  std::mt19937_64 random;
  std::map<std::uint64_t, DiskNode> nodes;
  std::map<DiskName, std::uint64_t> durable_names;
  std::vector<NameChange> name_changes;
  std::uint64_t last_node = kRoot;
  std::uint64_t ticks = 0;

  std::uint64_t operations = 0;
  std::uint64_t crash_at = 0, fail_at = 0;
  int fail_errno = 0;
  bool fail_lasts = false;
  static constexpr int kThrows = -1;  // in place of an errno
  std::map<DiskOperation, int> failing;
  bool crashed = false;

  // Counts an operation. Returns the errno with which it has to fail, or 0.
  int Begin(DiskOperation operation);
  Status Check(DiskOperation operation, const std::string& path);

  [[nodiscard]] std::uint64_t Find(std::string_view path) const;  // 0: nothing there
  // The directory and last name of a path; directory 0 where the directory does not exist.
  [[nodiscard]] DiskName Locate(const std::string& path) const;
  std::uint64_t Make(const DiskName& name, bool directory);
  void Change(NameChange change);
  [[nodiscard]] std::uint64_t UsedBytes() const;

  Status Write(std::uint64_t node, std::uint64_t offset, ByteSpan bytes);
  void Resize(DiskNode& node, std::uint64_t size);
  Status SyncFile(std::uint64_t node);
  void SyncNames(std::uint64_t directory);
};

// Applies one change to the durable names.
void ApplyNameChange(const NameChange& change, std::map<DiskName, std::uint64_t>& names);
// Applies one change of a file whole.
void ApplyFileChange(const FileChange& change, ByteVector& bytes);
// What a power loss leaves of a file.
ByteVector SurvivingBytes(const DiskNode& node, Survival survival, std::mt19937_64& random);

}  // namespace unshard
