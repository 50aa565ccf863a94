// One page of the answer to objects.list. A pure function on untrusted text.
//
// https://cloud.google.com/storage/docs/json_api/v1/objects/list
#pragma once

#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "store/object/paged_listings.h"

namespace unshard {

// `below` is the prefix that was asked for: what the names of the page begin with. Names that are
// no component of a path (the directory itself, "", "..", with NUL, of more than 255 bytes) or lie
// elsewhere are left out, and so is a directory of the name of an object, which cannot be reached.
// kDataLoss where the text is no such answer.
Result<ListedPage> ParseGcsListPage(std::string_view text, std::string_view below);

}  // namespace unshard
