// A version whose bytes are read ahead and kept for a while: the index of a shard is read in many
// small pieces, twice.
#pragma once

#include <cstdint>
#include <memory>

#include "store/object/object_store.h"

namespace unshard {

struct ReadAheadOptions {
  // A read asks for so many bytes at least; for twice as many as the one before where it is near
  // behind it, up to the most. All in all so many are kept.
  std::uint64_t least = std::uint64_t{32} << 10;
  std::uint64_t most = std::uint64_t{4} << 20;
  std::uint64_t kept = std::uint64_t{16} << 20;
};

// `version`, with such reads. What is kept is read also after the object was replaced.
std::shared_ptr<ObjectVersion> MakeRememberedVersion(std::shared_ptr<ObjectVersion> version,
                                                     const ReadAheadOptions& options = {});

}  // namespace unshard
