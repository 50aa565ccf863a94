#include "fs/cli/version_text.h"

#include <vector>

#include "codec/core/library.h"
#include "fs/common/readable.h"
#include "fs/common/version.h"
#include "fs/kernel/ring_entry.h"

namespace unshard {
namespace {

// "zstd (libzstd)"
std::string MissingText(const Library& library) {
  const std::string name(library.name);
  return library.serves.empty() ? name : std::string(library.serves) + " (" + name + ")";
}

}  // namespace

std::string VersionText() {
  std::vector<const Library*> libraries = Libraries();
  libraries.push_back(&Liburing());
  std::vector<std::string> with;
  std::vector<std::string> without;
  for (const Library* library : libraries) {
    if (!library->in_build()) {
      without.push_back(MissingText(*library));
      continue;
    }
    const std::string version = library->version();
    with.push_back(std::string(library->name) + (version.empty() ? "" : " " + version));
  }
  std::string text = "unshard " + std::string(kVersion) + "\nwith: " + Joined(with, ", ");
  if (!without.empty()) text += "\nwithout: " + Joined(without, ", ");
  return text;
}

}  // namespace unshard
