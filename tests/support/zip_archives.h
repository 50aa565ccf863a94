// ZIP archives for tests, made in memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace unshard {

struct ZipFile {
  std::string name;
  std::string text;
  bool is_deflated = false;
};

// With these entries in this order. Stored ones are as ZipWriter makes them.
std::string ZipOf(const std::vector<ZipFile>& files, std::string_view comment = {});

// An archive of tests/fuzz/corpus/zip_directory.
std::string ZipVector(const std::string& name);

}  // namespace unshard
