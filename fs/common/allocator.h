// How much freed memory the process keeps instead of returning it to the system.
#pragma once

#include <cstddef>

namespace unshard {

// Every request, and every chunk that is copied, allocates and frees buffers of chunk size:
// returning their pages to the system and faulting them in again costs more than the decoding of
// small chunks. Buffers above `largest` bytes are mappings of their own, which are returned. Call
// it before threads are started.
void KeepFreedBuffers(std::size_t largest);

}  // namespace unshard
