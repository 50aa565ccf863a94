// How much of what is freed the process keeps.
#pragma once

#include <cstddef>

namespace unshard {

// Every request, and every chunk that is copied, allocates and frees buffers of chunk size:
// returning their pages to the system and faulting them in again costs more than the decoding of
// small chunks. Buffers above `largest` bytes are mappings of their own, which are returned. Called
// before there are threads.
void KeepFreedBuffers(std::size_t largest);

}  // namespace unshard
