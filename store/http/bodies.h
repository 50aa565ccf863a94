// Bodies of requests that are made of others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codec/core/byte_range.h"
#include "store/http/transport.h"

namespace unshard {

using HttpBodyPtr = std::shared_ptr<const HttpBody>;

// Bytes in memory.
HttpBodyPtr BodyOf(std::string bytes);
// One after the other.
HttpBodyPtr JoinBodies(std::vector<HttpBodyPtr> bodies);
// Requires: `range` lies within the body.
HttpBodyPtr PartOf(HttpBodyPtr body, const ByteRange& range);

}  // namespace unshard
