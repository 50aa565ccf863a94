// base64 (RFC 4648, section 4). Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/core/bytes.h"

namespace unshard {

std::string EncodeBase64(ByteSpan bytes);
// Nothing unless `text` is base64 with its padding.
std::optional<ByteVector> DecodeBase64(std::string_view text);

}  // namespace unshard
