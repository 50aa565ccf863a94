// Merges an edit of a presented `zarr.json`, which is unsharded, into the stored `zarr.json`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "codec/core/error.h"

namespace unshard {

// The stored `zarr.json` of the node at a path below a group ("a/b"); nothing where there is none.
using StoredNodes = std::function<Result<std::optional<std::string>>(std::string_view node_path)>;

// The new text of the stored document: `original` with every change from its unsharded form
// to `edited` that does not concern the layout. Order and spelling of what the edit does not change
// stay; the result equals `original` where nothing changed. Compared by meaning: short-hand names,
// spelled-out defaults, null members, and another order of members or spelling of numbers are no
// change.
//
// The shape of an array may change, because the chunks of a regular grid keep their positions.
// Fails with kPermissionDenied and EPERM, naming the member, where the edit changes data type,
// chunk grid, chunk key encoding, fill value or codecs, and with kInvalidArgument where `edited` is
// no Zarr v3 metadata.
//
// A group can embed copies of its arrays (consolidated metadata). A copy that `edited` changes or
// adds is merged by the same rules into the stored document that `stored_nodes` gives for the
// array, and the result is embedded; where that document is not sharded, or there is none, the copy
// is embedded as it is: an array without a document has no chunks that the copy could contradict.
// Without `stored_nodes`, copies of arrays that the original does not embed are refused.
Result<std::string> MergeZarrMetadata(std::string_view original, std::string_view edited,
                                      const StoredNodes& stored_nodes = nullptr);

// The text to store for an `edited` document that replaces no document, or a document that is
// presented as it is stored. That is `edited` itself, except for the copies of sharded arrays that
// a group embeds: these are merged as above, with the same failures. An array that is itself
// sharded is refused with kPermissionDenied and EPERM.
Result<std::string> CompleteZarrMetadata(std::string_view edited, const StoredNodes& stored_nodes);

}  // namespace unshard
