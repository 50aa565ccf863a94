// What open files, and names that the kernel remembers, keep of bytes that are nowhere else.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "store/chunks/chunk_content.h"
#include "store/spool/spool.h"

namespace unshard {

// In memory up to a limit, beyond it in files of the spool. Thread-safe; what it returns may
// outlive it.
class HeldContents {
 public:
  HeldContents(std::shared_ptr<Spool> spool, std::uint64_t max_in_memory)
      : spool_(std::move(spool)), max_in_memory_(max_in_memory) {}

  // The same bytes for as long as the result lives; what is not in memory as it is. Fails as
  // Spool::Reserve and StagedFile::Write do.
  Result<ContentPtr> Keep(ContentPtr content);

 private:
  class InMemory;

  const std::shared_ptr<Spool> spool_;
  const std::uint64_t max_in_memory_;
  const std::shared_ptr<std::atomic<std::uint64_t>> in_memory_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
};

}  // namespace unshard
