// A checksum over bytes that arrive in pieces.
#pragma once

#include "codec/core/bytes.h"

namespace unshard {

// The state of one computation; at first of no bytes. Used by one thread.
class BytesDigest {
 public:
  virtual ~BytesDigest() = default;
  // Continues with the next bytes.
  virtual void Update(ByteSpan bytes) = 0;
  // The checksum of all bytes so far, as it is stored beside them.
  [[nodiscard]] virtual ByteVector Finish() const = 0;
};

}  // namespace unshard
