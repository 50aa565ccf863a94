// The text of a JSON tree.
#pragma once

#include <string>

#include "codec/json/json.h"
#include "codec/json/parser.h"

namespace unshard {

// The text of a value, with `indent` spaces a level (0: on one line), without a newline at its end.
std::string WriteJson(const JsonValue& value, int indent = 2);
// The same for a document that has to be parsed again: where its text would exceed
// limits.max_bytes it is written without white space, and is then no longer than the text that the
// tree was parsed from.
std::string WriteDocument(const JsonValue& document, int indent = 2, const JsonLimits& limits = {});

}  // namespace unshard
