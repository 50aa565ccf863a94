#include "codec/core/checksum.h"

#include <isa-l/crc.h>

namespace unshard {

std::uint32_t ExtendChecksum(std::uint32_t sum, ByteSpan bytes) {
  return crc32_ieee(sum, bytes.data(), bytes.size());
}

std::uint32_t Checksum(ByteSpan bytes) { return ExtendChecksum(0, bytes); }

}  // namespace unshard
