// A checksum over bytes that arrive in pieces.
#pragma once

#include "codec/core/bytes.h"

namespace unshard {

// Used by one thread.
class BytesDigest {
 public:
  virtual ~BytesDigest() = default;
  virtual void Update(ByteSpan bytes) = 0;
  // The checksum of all bytes so far, in its stored form.
  [[nodiscard]] virtual ByteVector Finish() const = 0;
};

}  // namespace unshard
