#include "fs/tree/control_files.h"

#include "fs/tree/superblock.h"

namespace unshard {
namespace {

const std::vector<ControlFileKind>& ControlFiles() {
#define UNSHARD_VALUE_OF(file) file(),
  static const std::vector<ControlFileKind> files{UNSHARD_EACH_CONTROL_FILE(UNSHARD_VALUE_OF)};
#undef UNSHARD_VALUE_OF
  return files;
}

}  // namespace

ControlFileKind ConfigFile() {
  return {"config.json", [](Superblock& of) { return DescribeOptions(of.options); }};
}

ControlFileKind ErrorsFile() {
  return {"errors", [](Superblock& of) { return of.errors.Text(); }};
}

std::vector<std::string> ControlFileNames() {
  std::vector<std::string> names;
  for (const ControlFileKind& file : ControlFiles()) names.emplace_back(file.name);
  return names;
}

std::optional<std::string> ControlFileText(Superblock& superblock, std::string_view name) {
  for (const ControlFileKind& file : ControlFiles()) {
    if (file.name == name) return file.text(superblock);
  }
  return std::nullopt;
}

ChunkStoreCounters CountersOfStores(const Superblock& superblock) {
  ChunkStoreCounters totals;
  for (const auto& tree : superblock.parts.datasets->trees()) {
    const ChunkStoreCounters counters = tree->chunks().counters();
    totals.opens += counters.opens;
    totals.index_reads += counters.index_reads;
    totals.open_objects += counters.open_objects;
  }
  return totals;
}

}  // namespace unshard
