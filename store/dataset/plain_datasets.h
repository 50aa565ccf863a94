// Datasets without shards, which the native view passes through: what is known of them.
#pragma once

#include <string>

#include "codec/core/error.h"
#include "store/dataset/dataset_index.h"
#include "store/dataset/directory_documents.h"

namespace unshard {

// Adds what the `info` of meshes with a file for each fragment, or of properties of segments,
// describes; nothing where it is that of another program. Fails if the `info` of the source itself,
// the path "", is no JSON object.
Status AddOtherInfo(const std::string& path, const std::string& text, Contribution& to);

// Adds the array or group of Zarr v2 or N5 that the documents of a directory describe, if they do.
void AddPlainDataset(const std::string& path, DirectoryDocuments& documents, Contribution& to);

}  // namespace unshard
