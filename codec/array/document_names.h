// The names of the metadata documents of arrays, one table for all formats. Pure; thread-safe.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "codec/array/array.h"
#include "codec/json/json.h"

namespace unshard {

// In the order in which a directory is searched for their documents.
inline constexpr std::array kDialects = {Dialect::kPrecomputed, Dialect::kZarr3, Dialect::kZarr2,
                                         Dialect::kN5};

// The name of the document of an array, which the scales of a volume share: "info", "zarr.json",
// ".zarray", "attributes.json".
const char* ArrayDocumentName(Dialect dialect);

// The dialect whose arrays have a document of this name; nothing where there is none.
std::optional<Dialect> DialectOfDocument(std::string_view name);

// Whether a document with the name for `dialect` is that of an array, or of scales, and not that of
// a group or of something else. Whether it can be read is another question.
bool DescribesArrays(Dialect dialect, const JsonValue& document);

}  // namespace unshard
