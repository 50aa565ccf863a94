// The texts of the files in .unshard, which report the state of the mount.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/chunks/chunk_store.h"

namespace unshard {

struct Superblock;

inline constexpr std::string_view kControlDirectory = ".unshard";

struct ControlFileKind {
  std::string_view name;
  // The present text. Thread-safe.
  std::string (*text)(Superblock& superblock);
};

// The control files, by name. Each is a function of this list, `ControlFileKind StatusFile()`,
// which a source of this folder defines.
#define UNSHARD_EACH_CONTROL_FILE(file) \
  file(ConfigFile) file(ErrorsFile) file(MetricsFile) file(StatusFile)

#define UNSHARD_DECLARE_CONTROL_FILE(file) ControlFileKind file();
UNSHARD_EACH_CONTROL_FILE(UNSHARD_DECLARE_CONTROL_FILE)
#undef UNSHARD_DECLARE_CONTROL_FILE

// The names of the control files, for listings.
std::vector<std::string> ControlFileNames();
// The present text of a control file; nothing for other names. Thread-safe.
std::optional<std::string> ControlFileText(Superblock& superblock, std::string_view name);

// What the chunks of all trees have cost so far.
ChunkStoreCounters CountersOfStores(const Superblock& superblock);

}  // namespace unshard
