// The encoded chunks of one shard, until all of them are there.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "codec/core/byte_range.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "store/remote/scratch_file.h"

namespace unshard {

// In memory, and above `most_bytes` in a file without a name, which goes with the process. Used by
// one thread.
class StagedChunks {
 public:
  explicit StagedChunks(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  Status Add(const Bytes& chunk);
  // The chunk that was added as number `number`.
  [[nodiscard]] Result<Bytes> Get(std::size_t number) const;
  [[nodiscard]] std::uint64_t SizeOf(std::size_t number) const { return chunks_[number].size; }
  [[nodiscard]] std::size_t count() const { return chunks_.size(); }

 private:
  struct Chunk {
    Bytes bytes;           // where it is in memory
    bool in_file = false;  // else
    std::uint64_t at = 0;  // in the file
    std::uint64_t size = 0;
  };
  const std::uint64_t most_bytes_;
  std::vector<Chunk> chunks_;
  std::uint64_t bytes_ = 0;  // in memory
  std::shared_ptr<ScratchFile> file_;
  std::uint64_t file_end_ = 0;
};

}  // namespace unshard
