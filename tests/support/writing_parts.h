// All that commits, publishes and replays chunks, each part to be tested by itself: above a store
// in memory, with the spool on a simulated disk, and without threads.
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

// What was announced as dirty, as PublishQueue::Add gets it.
struct AddedDirty {
  DirtyShard shard;
  std::int64_t chunks = 0, bytes = 0;
  bool complete = false;
};

class WritingParts : public testing::Test {
 protected:
  // The source:
  //   a  an array of eight chunks of one byte, "0" to "7", in shards of four; "0" is "a", "1" "b"
  //   w  the same, each shard in gzip, without a chunk
  //   m  meshes, none yet
  WritingParts();

  // Kills what stands for one process and starts the next, with the same store and disk. What is in
  // the spool waits to be replayed.
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
  // What readers see, and what the shard has: "-" where there is no such chunk; the name of the
  // failure.
  std::string Current(const std::string& path);
  std::string Stored(const std::string& path);
  // All chunk files in the spool, and in its conflicts, by name: "a/0 a/1".
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
  // For Restart().
  PublisherOptions limits_;
  bool strict_ = false;
  std::unique_ptr<Parts> parts_;

 private:
  [[nodiscard]] std::string FilesIn(const std::string& folder) const;
};

}  // namespace unshard
