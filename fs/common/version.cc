#include "fs/common/version.h"

namespace unshard {

const std::string_view kVersion = UNSHARD_VERSION;

}  // namespace unshard
