// Taking an edit of a rewritten metadata document back into the sharded original.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "codec/core/error.h"

namespace unshard {

// `original` is the stored `info` or `zarr.json`, `edited` what somebody wrote in place of its
// unsharded form. Gives the new text of the stored document: `original` with every change that does
// not concern the layout, its order and all that was not touched kept as they are; equal to
// `original` where nothing changed. Judged by meaning: spelled-out defaults, another order or
// spelling of numbers, `storage_transformers: []` and such are no change.
//
// Fails with kPermissionDenied and errno EPERM, naming the member, where the edit changes data
// type, grid, chunk key encoding, codecs, the size of a scale or anything else that says how chunks
// are stored, and with kInvalidArgument where `edited` is no such document at all. The shape of an
// array may change, as the chunks of a regular grid stay where they are.

// Whether chunks are stored, or wait to be, in a directory relative to the info's.
using HoldsChunks = std::function<Result<bool>(std::string_view directory)>;

// Scales go by their keys: what is not sharded passes through, new scales are taken as they stand,
// and a sharded scale goes where `holds_chunks` says that nothing is in it. New scales must not be
// sharded.
Result<std::string> MergeNeuroglancerInfo(std::string_view original, std::string_view edited,
                                          const HoldsChunks& holds_chunks = nullptr);

// Succeeds where an `info` that somebody writes anew, whatever it is, holds nothing sharded; else
// kPermissionDenied with EPERM.
Status CheckNewInfo(std::string_view edited);

// Where the merge learns how arrays are stored of which a group embeds a copy: gives the stored
// `zarr.json` of the node at a path below the group ("a/b"), nothing where none stands there.
using StoredNodes = std::function<Result<std::optional<std::string>>(std::string_view node_path)>;

// A copy of an array that `edited` embeds, and that the original does not hold in just that form,
// is merged into the array's own stored document by the rules above, and what comes out is
// embedded. Where that document is not sharded, or there is none, the copy is taken as it was
// written: an array without a document has no chunks, neither sharded ones nor others, that the
// copy could contradict. Without `stored_nodes` copies of arrays that the original does not hold
// are refused.
Result<std::string> MergeZarrMetadata(std::string_view original, std::string_view edited,
                                      const StoredNodes& stored_nodes = nullptr);

// The text to store for an `edited` document that takes the place of none, or of one that is shown
// as it is stored. That is `edited` itself, whatever it is, but for the copies of sharded arrays
// that a group embeds: they are merged as above, and refused for the same reasons. An array that is
// sharded itself is refused with EPERM.
Result<std::string> CompleteZarrMetadata(std::string_view edited, const StoredNodes& stored_nodes);

}  // namespace unshard
