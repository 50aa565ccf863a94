// What is in a spool, read without taking it over: its mount may be alive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "store/spool/spool.h"

namespace unshard {

// One sealed chunk. `chunk.committed` is the time at which its file was last written.
struct SpoolFile {
  SpooledChunk chunk;
  std::string path;  // below the spool
  bool conflict = false;
  bool damaged = false;  // its bytes are not those of its seal
};

struct SpoolContents {
  std::vector<SpoolFile> chunks;     // the latest version of each, by dataset and name
  std::vector<SpoolFile> conflicts;  // all that were quarantined as conflicts
  std::vector<SpoolFile> damaged;    // all that were quarantined
  std::uint64_t bytes = 0;           // of the chunks
};

// The contents of the spool that is the root of `files`, or in the directory `path`. Chunks that
// are published meanwhile may or may not be there. Files with names that are no seals are left out.
Result<SpoolContents> ReadSpool(FileSystem& files);
Result<SpoolContents> ReadSpool(const std::string& path);

// Removes quarantined files of the spool that is the root of `files` for good: returns the number.
// Its mount, if it is alive, no longer counts them.
Result<std::uint64_t> DropQuarantined(FileSystem& files, const std::vector<SpoolFile>& dropped);

struct ExportReport {
  std::uint64_t chunks = 0, bytes = 0, removals = 0, conflicts = 0, damaged = 0;
  std::vector<std::string> problems;  // one line for each chunk that could not be copied
};

// Copies the chunks of `contents`, which are in `spool`, to plain files `<dataset>/<chunk>` below
// the root of `to`, those in conflict to `CONFLICTS/<dataset>/<chunk>,<sequence>`, and damaged
// ones, as they are, to `DAMAGED/<dataset>/<chunk>,<sequence>`. Names of removed chunks are
// added to the file `REMOVED`. Nothing is overwritten; each other copy is compared with its seal.
// Fails only where `to` itself cannot be written. After a success all of these are durable.
Status ExportSpool(FileSystem& spool, const SpoolContents& contents, FileSystem& to,
                   ExportReport& report);

}  // namespace unshard
