// How much tests repeat: what is drawn with many seeds is drawn with few of them where UNSHARD_LONG
// is 0, as it is for every change (tests/run).
#pragma once

#include <cstdlib>
#include <string_view>

namespace unshard {

inline bool IsFullRun() {
  const char* const value = std::getenv("UNSHARD_LONG");
  return value == nullptr || std::string_view(value) != "0";
}

template <class Number>
Number InFullRun(Number all, Number otherwise) {
  return IsFullRun() ? all : otherwise;
}

}  // namespace unshard
