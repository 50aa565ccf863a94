#include "fs/common/allocator.h"

#include <malloc.h>

namespace unshard {

void KeepFreedBuffers(std::size_t largest) {
  const int kept = static_cast<int>(largest);
  // Few arenas: caches and limits decide how much memory is used, not the number of threads.
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, kept);
  mallopt(M_MMAP_THRESHOLD, kept);
}

}  // namespace unshard
