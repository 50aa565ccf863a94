#include "tests/support/folders.h"

namespace unshard {

std::string SourceFolder() { return UNSHARD_SOURCE_DIR; }

std::string BuildFolder() { return UNSHARD_BUILD_DIR; }

}  // namespace unshard
