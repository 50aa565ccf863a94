#include "codec/core/library.h"

namespace unshard {

tl::unexpected<Error> NotInBuild(const Library& library, std::string_view subject) {
  return Fail(ErrorCode::kNotSupported, subject, " is not in this build (", library.name, ")");
}

std::vector<const Library*> Libraries() {
#define UNSHARD_LIBRARY(name) &name(),
  return {UNSHARD_EACH_LIBRARY(UNSHARD_LIBRARY)};
#undef UNSHARD_LIBRARY
}

}  // namespace unshard
