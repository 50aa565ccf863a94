#include "fs/tree/control_files.h"

#include "fs/tree/superblock.h"

namespace unshard {
namespace {

const std::vector<ControlFileKind>& ControlFiles() {
  static const std::vector<ControlFileKind> files = [] {
    std::vector<ControlFileKind> all;
#define UNSHARD_ADD_CONTROL_FILE(file) all.push_back(file())
    UNSHARD_EACH_CONTROL_FILE(UNSHARD_ADD_CONTROL_FILE);
#undef UNSHARD_ADD_CONTROL_FILE
    return all;
  }();
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
