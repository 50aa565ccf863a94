// A VolumeFs over a temporary directory, called as the kernel calls it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fs/volume_fs.h"
#include "tests/support/counting_store.h"
#include "tests/support/sharded_source.h"
#include "tests/support/temporary_directory.h"

namespace unshard {

// Records the notifications that the kernel would get.
class RecordingNotifier final : public KernelNotifier {
 public:
  void InvalidateEntry(NodeId parent, const std::string& name) override {
    entries.emplace(parent, name);
  }
  void InvalidateInode(NodeId node) override { inodes.insert(node); }

  std::multiset<std::pair<NodeId, std::string>> entries;
  std::set<NodeId> inodes;

  // The names invalidated in one directory, each once.
  [[nodiscard]] std::set<std::string> NamesIn(NodeId parent) const;
};

class MountedVolume : public testing::Test {
 protected:
  // Mounts the source. It is not watched: the volume hears of a change by Changed() alone.
  void Mount();
  Status TryMount();

  // Writes metadata and shards of a dataset at `path`. Shards are renamed into place.
  void Write(const std::string& path, const ShardedSource& source,
             const std::map<std::uint64_t, std::string>& chunks);

  // Walks `path` by look-ups. Every reference is kept until the test ends.
  Result<Entry> Find(const std::string& path);
  // The bytes that a program gets that opens `path` and reads it to its end, or the name of the
  // errno ("ENOENT") with which that fails.
  std::string Text(const std::string& path);
  Result<std::string> ReadAt(NodeId node, std::uint64_t offset, std::uint64_t size);
  // Names without "." and "..", in the order of the listing, read `piece` names at a time.
  std::vector<std::string> Names(const std::string& path, std::size_t piece = 1000);
  // The names of a directory, sorted.
  std::set<std::string> NameSet(const std::string& path);
  // Empties the notifier, then tells the volume that something has changed under a store key.
  void Changed(const std::string& key);

  TemporaryDirectory source_;
  MountOptions options_;
  std::shared_ptr<CountingStore> store_;
  std::unique_ptr<VolumeFs> fs_;
  RecordingNotifier notifier_;
};

}  // namespace unshard
