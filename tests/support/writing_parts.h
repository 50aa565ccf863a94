// The objects that commit, publish and replay chunks, so that a test can call each object by
// itself: over a store in memory, with the spool on a simulated disk, without threads.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/volume/chunk_committer.h"
#include "store/volume/shard_publishing.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_replacer.h"
#include "tests/support/simulated_disk.h"

namespace unshard {

// A dirty shard as it is announced: the arguments of PublishQueue::Add.
struct AddedDirty {
  DirtyShard shard;
  std::int64_t chunks = 0, bytes = 0;
  bool complete = false;
};

class WritingParts : public testing::Test {
 protected:
  // The source:
  //   a  an array of eight chunks of one byte, "0" to "7", in shards of four; "0" is "a", "1" "b"
  //   w  such an array, each shard compressed whole with gzip, without a chunk
  //   m  a directory of meshes, empty
  WritingParts();

  // Replaces the objects as if the process had been killed and started again, with the same store
  // and disk. What is in the spool waits to be replayed.
  void Restart();
  // Another process replaces the first shard of "a".
  void PutShard(const std::map<std::uint64_t, std::string>& chunks);

  // `path` is below the root: "a/0".
  ChunkInTree Chunk(const std::string& path);
  Result<std::shared_ptr<StagedFile>> Staged(std::string_view text);
  Result<WrittenVersionPtr> Commit(const std::string& path, std::string_view text);
  Result<WrittenVersionPtr> Remove(const std::string& path);
  [[nodiscard]] DirtyShard ShardOf(const std::string& path);
  Result<PublishQueue::Done> Publish(const std::string& path) {
    return parts_->publishing.Publish(ShardOf(path));
  }
  // The chunk as readers see it, and as its shard has it: its text, "-" where it is missing, or the
  // name of the failure.
  std::string Current(const std::string& path);
  std::string Stored(const std::string& path);
  // The names of all chunk files in the spool, and of those in its conflicts: "a/0 a/1".
  [[nodiscard]] std::string Spooled() const { return FilesIn("chunks/"); }
  [[nodiscard]] std::string Quarantined() const { return FilesIn("conflicts/"); }

  struct Parts {
    Parts(const WritingParts& test, std::unique_ptr<Spool> opened);
    ~Parts() { written->Clear(); }

    const std::shared_ptr<CommittedVersions> written = std::make_shared<CommittedVersions>();
    const std::shared_ptr<DatasetTree> datasets;
    const std::shared_ptr<Spool> spool;
    std::vector<AddedDirty> dirty;
    std::vector<std::string> renewed;
    const CommitChecks checks;
    const CurrentChunks current;
    SpooledVersions versions;
    ChunkCommitter committer;
    const std::shared_ptr<AttemptRecords> attempts;
    ShardPublishing publishing;
  };

  const std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>();
  const std::shared_ptr<CountingStore> store_ = std::make_shared<CountingStore>(memory_);
  const std::shared_ptr<MemoryReplacer> replacer_ = std::make_shared<MemoryReplacer>(memory_);
  std::shared_ptr<SimulatedDisk> disk_ = std::make_shared<SimulatedDisk>();
  // Used by the next Restart().
  PublisherOptions limits_;
  bool strict_ = false;
  std::size_t remembered_ = 1000;  // published versions
  std::unique_ptr<Parts> parts_;

 private:
  [[nodiscard]] std::string FilesIn(const std::string& folder) const;
};

}  // namespace unshard
