// Replay: taking up the committed chunks that earlier mounts left in the spools.
//
// A chunk that its shard has already is discarded, once the shard is durable. A chunk that replaced
// what the shard still has, or whose shard cannot be read, becomes the latest version and waits to
// be published; if an attempt names it whose request may still arrive, a version committed over it
// expects either. A chunk of an attempt of the earlier mount that succeeded is discarded as
// well, whatever other hosts have put in its place since. Every other one is quarantined and
// reported: another process has changed the chunk, or the metadata say by now that chunks are
// stored otherwise. So is a chunk that another process changes while it waits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/chunks/current_chunks.h"
#include "store/dataset/chunk_in_tree.h"
#include "store/object/object_replacement.h"
#include "store/publish/attempt_records.h"
#include "store/volume/commit_checks.h"
#include "store/volume/spooled_versions.h"

namespace unshard {

// All parts outlive it. Used once, before readers and writers come. What becomes of each chunk is
// found out for several at a time.
class SpoolReplay {
 public:
  // Takes up a file that is no chunk. Null where the source has no such files: they are
  // quarantined.
  using ReplayFile = std::function<void(const std::shared_ptr<Spool>&, const SpooledChunk&)>;
  // `root`: as in CommittedTo::root.
  SpoolReplay(ObjectReplacer& replacer, DatasetTree& datasets, const CommitChecks& checks,
              const CurrentChunks& current, SpooledVersions& versions, AttemptRecords& attempts,
              ReplayFile replay_file, std::string root = {})
      : replacer_(replacer),
        datasets_(datasets),
        checks_(checks),
        current_(current),
        versions_(versions),
        attempts_(attempts),
        replay_file_(std::move(replay_file)),
        root_(std::move(root)) {}

  // Logs what fails: each chunk by itself.
  void Run(const std::vector<std::shared_ptr<Spool>>& spools);

 private:
  // What is to become of one chunk.
  struct Fate {
    enum class Kind { kPublished, kWaits, kQuarantined };
    Kind kind = Kind::kWaits;
    std::string why;  // kQuarantined
    // Unless quarantined:
    ChunkInTree place{};
    // What it replaces; nothing where that is not known.
    std::optional<StoredChunkPrint> stored = std::nullopt;
  };
  void RemoveLeftLocks(const std::set<std::string>& shards);
  // The directory of the mounted trees that has its dataset.
  [[nodiscard]] std::string DirectoryOf(const SpooledChunk& chunk) const;
  // The key of its object in the source.
  [[nodiscard]] std::string AttemptKey(const ChunkInTree& place) const;
  Fate FateOf(const CommittedVersions::Spooled& spooled);
  [[nodiscard]] bool WasPut(const std::string& key, const CommittedVersions::Spooled& spooled);
  Status CheckBytes(const CommittedVersions::Spooled& spooled, const ChunkInTree& place) const;

  ObjectReplacer& replacer_;
  DatasetTree& datasets_;
  const CommitChecks& checks_;
  const CurrentChunks& current_;
  SpooledVersions& versions_;
  AttemptRecords& attempts_;
  const ReplayFile replay_file_;
  const std::string root_;
};

}  // namespace unshard
