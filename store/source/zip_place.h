// How people name ZIP archives: by a file name that ends with .ozx or .zip, or by TensorStore's and
// Neuroglancer's adapter "|zip:".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/source/named_source.h"
#include "store/source/volume_options.h"
#include "store/zip/zip_store.h"

namespace unshard {

struct ZipPlace {
  std::string above;   // the directory that the archive is in; as a URL, with its secrets
  std::string key;     // the archive below that
  std::string inside;  // the directory in the archive that is the source; "": its root
};

// The archive that a source is; nothing where it is none. Of this machine it is a file, and the
// path may go on in it ("a.ozx/labels"); of a URL the last component, unless a '/' follows.
std::optional<ZipPlace> FindZip(const VolumeOptions& options);

// How archives are read in a volume of these options.
ZipStoreOptions ZipOptionsOf(const VolumeOptions& options);

// Whether a name that is to be written would be an archive: as FindZip, but a file of this machine
// need not exist.
bool NamesZip(const NamedSource& name);

}  // namespace unshard
