// How people name sources: a directory or a URL, with or without the format of the dataset, as
// CloudVolume ("precomputed://gs://bucket/a"), igneous and Neuroglancer ("gs://bucket/a|zarr3:")
// do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "store/object/object_store.h"

namespace unshard {

struct NamedSource {
  std::string place;   // a path or a URL
  std::string format;  // "precomputed", "zarr" (2 or 3), "zarr2", "zarr3" or "n5"; "": not named
  std::optional<std::string> inside_zip;  // the directory after "|zip:"; nothing: not named so
};

// Takes the format off a name, and "file://" off a directory's. Fails with kInvalidArgument where
// the name is empty, has nothing but a format, several formats, two archives, or an adapter that is
// neither a format nor "|zip:". A directory that exists under the whole name is that directory.
Result<NamedSource> ParseNamedSource(std::string_view given);

// Fails with kInvalidArgument, naming both, where the root of the store has documents of other
// formats and none of `format`. "": nothing is asked.
Status ExpectFormat(ObjectStore& store, const std::string& format, const Deadline& deadline);
// The same of one document, by its name; "zarr.json" is of the formats zarr and zarr3.
bool IsOfFormat(std::string_view document, std::string_view format);

}  // namespace unshard
