// A file of the spool that is being written. Only for sources of this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "store/spool/spool.h"

namespace unshard {

// One staged file. The mutex is held across I/O: writes to one file are made one after another, as
// the kernel does, so that length, checksum and cap belong to the same bytes.
struct StagedFile::State {
  State(Spool::State& the_spool, std::string the_path, std::shared_ptr<File> the_file)
      : spool(the_spool), path(std::move(the_path)), file(std::move(the_file)) {}

  Spool::State& spool;
  const std::string path;
  const std::shared_ptr<File> file;

  mutable std::mutex mutex;
  bool sealed = false;
  std::shared_ptr<const char> reader;  // of the version that it is sealed as
  std::uint64_t size = 0;
  // The length of the beginning whose checksum is known.
  std::uint64_t summed = 0;
  std::uint32_t sum = 0;

  Status CheckUnsealed() const;
  // Before bytes up to `end` are written; after that failed.
  Status Grow(std::uint64_t end);
  void Recount();
  void ForgetSumFrom(std::uint64_t offset);
  Result<std::uint32_t> Checksum();
};

}  // namespace unshard
