// A copy whose destination is a ZIP archive: what it may be, and what is packed.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fs/cli/copy_command.h"
#include "store/copy/opened_dataset.h"
#include "store/copy/zip_output.h"
#include "store/dataset/dataset_creation.h"

namespace unshard {

// Whether the name of the destination is that of an archive (store/source/zip_place.h).
bool IsZipDestination(const CopyCommand& command);

// Fails with kInvalidArgument where an archive cannot be written there: behind a URL, in another
// archive, or where something is there that is not to be replaced.
Status CheckZipDestination(const CopyCommand& command);

// The format of the dataset: an .ozx archive is Zarr v3 where nothing else is said. "": as the
// arguments say, or like the source.
std::string FormatInZip(const CopyCommand& command, const OpenedDataset& source);

// Fails with kInvalidArgument where an .ozx archive would have no zarr.json at its root. A line of
// the log says where that is no OME-Zarr.
Status CheckZipDocuments(const CopyCommand& command, const std::vector<NewDocument>& documents);

// The same source and documents are the same work.
Result<std::unique_ptr<ZipOutput>> BeginZip(const CopyCommand& command, const OpenedDataset& source,
                                            const std::set<std::string>& excluded,
                                            const std::vector<NewDocument>& documents);

}  // namespace unshard
