// A library that decodes and encodes for unshard. A build may lack it (-DUNSHARD_<NAME>=OFF); then
// what it serves is refused, and nothing else changes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"

namespace unshard {

struct Library {
  std::string_view serves;  // what a build without it lacks: "zstd"; "": nothing but speed
  std::string_view name;    // "libzstd"
  // Its version; "" where it does not say it. Null: not in this build.
  std::string (*version)() = nullptr;

  [[nodiscard]] bool in_build() const { return version != nullptr; }
};

// kNotSupported: `subject is not in this build (libzstd)`.
tl::unexpected<Error> NotInBuild(const Library& library, std::string_view subject);

// The libraries of codec/: the file of each one's codec defines its function.
#define UNSHARD_EACH_LIBRARY(each)                                                              \
  each(Zlib) each(Isal) each(Libdeflate) each(Libzstd) each(Libblosc) each(Liblz4) each(Libbz2) \
      each(Liblzma) each(Libbrotli) each(Libpng) each(Libjxl) each(Libzfp)
#define UNSHARD_DECLARE(name) const Library& name();
UNSHARD_EACH_LIBRARY(UNSHARD_DECLARE)
#undef UNSHARD_DECLARE

// In that order, those that this build lacks included.
std::vector<const Library*> Libraries();

}  // namespace unshard
