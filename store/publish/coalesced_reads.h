// Reading many small ranges of one object in few requests.
#pragma once

#include <cstdint>
#include <vector>

#include "store/shard/object.h"

namespace unshard {

// Used by one thread; holds one window in memory.
class CoalescedReads {
 public:
  // Ranges with at most so many bytes between them are one read: a second request takes longer.
  static constexpr std::uint64_t kMostBetween = std::uint64_t{128} << 10;
  static constexpr std::uint64_t kMostTogether = std::uint64_t{8} << 20;

  // `object` outlives this.
  explicit CoalescedReads(const ShardObject& object) : object_(object) {}

  // The ranges that are going to be read, in any order. Those that follow one another closely are
  // read together, once the first of them is.
  void Announce(std::vector<ByteRange> ranges);
  // As ShardObject::Read, of any range.
  Result<Bytes> Read(const ByteRange& range);

 private:
  const ShardObject& object_;
  std::vector<ByteRange> announced_;  // ascending
  ByteRange window_;
  Bytes bytes_;  // of it
};

}  // namespace unshard
