// Taking an edit of a rewritten metadata document back into the sharded original.
#pragma once

#include <string>
#include <string_view>

#include "codec/error.h"

namespace unshard {

// `original` is the stored `info` or `zarr.json`, `edited` what somebody wrote in place of its
// unsharded form. Gives the new text of the stored document: `original` with every change that does
// not concern the layout, its order and all that was not touched kept as they are; equal to
// `original` where nothing changed. Judged by meaning: spelled-out defaults, another order or
// spelling of numbers, `storage_transformers: []` and such are no change.
//
// Fails with kPermissionDenied and errno EPERM, naming the member, where the edit changes shape,
// data type, grid, chunk key encoding, codecs, scales or anything else that says how chunks are
// stored, and with kInvalidArgument where `edited` is no such document at all.
Result<std::string> MergeNeuroglancerInfo(std::string_view original, std::string_view edited);
Result<std::string> MergeZarrMetadata(std::string_view original, std::string_view edited);

}  // namespace unshard
