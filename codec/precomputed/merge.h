// Merges an edit of a presented `info`, which is unsharded, into the stored `info`.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "codec/core/error.h"

namespace unshard {

// Whether a directory, relative to that of the `info`, has chunks: stored, or committed and not yet
// published.
using HoldsChunks = std::function<Result<bool>(std::string_view directory)>;

// The new text of the stored document: `original` with every change from its unsharded form
// to `edited` that does not concern the layout. Order and spelling of what the edit does not change
// stay; the result equals `original` where nothing changed. Compared by meaning: spelled-out
// defaults and another order of members or spelling of numbers are no change.
//
// Scales are matched by `key`. A scale that is not sharded passes through, a new scale is added as
// it is. A sharded scale can be removed if `holds_chunks` says that its directory has no chunks.
//
// Fails with kPermissionDenied and EPERM, naming the member, where the edit changes data type,
// grid, encoding, `sharding` or anything else that decides how chunks are stored, or adds a sharded
// scale. Fails with kInvalidArgument where `edited` is no `info`.
Result<std::string> MergeNeuroglancerInfo(std::string_view original, std::string_view edited,
                                          const HoldsChunks& holds_chunks = nullptr);

// Fails with kPermissionDenied and EPERM where `edited` cannot be stored as a new `info`: where it
// has sharded directories.
Status CheckNewInfo(std::string_view edited);

}  // namespace unshard
