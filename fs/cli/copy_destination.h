// The destination of a copy: whether it is there, and its creation.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "fs/cli/create_command.h"
#include "store/copy/opened_dataset.h"
#include "store/source/source.h"

namespace unshard {

// The options of a source or destination that was given as an argument. Fails with kInvalidArgument
// for a URL that no store has.
Result<VolumeOptions> CopyPlaceOf(const std::string& given);

// Fails with kInvalidArgument where the destination lies in the source: a copy of a directory into
// itself would find its own files the next time.
Status ExpectApart(const VolumeOptions& source, const VolumeOptions& destination);

// Whether a document of a dataset or a group is at the destination, or at the path of a dataset of
// `source` below it. Fails where that cannot be found out.
Result<bool> IsThere(const VolumeOptions& destination, const OpenedDataset& source);

// The documents of a destination that `create` describes, without those at or below the paths
// `excluded`. Nothing is written. What the format cannot say is left out of `source`. Fails naming
// the option, or what of the source does not fit.
Result<std::vector<NewDocument>> DocumentsOfDestination(const CreateCommand& create,
                                                        OpenedDataset& source,
                                                        const std::set<std::string>& excluded);

// Leaves out of `source` what a destination that is there lacks since its format cannot say it.
Status LeaveOutOf(OpenedDataset& source, const VolumeOptions& destination);

// Whether the destination has exactly these documents: an earlier copy has created it.
Result<bool> IsCreated(const std::string& destination, const std::vector<NewDocument>& documents);

// Creates the destination, unless it has exactly these documents: an interrupted copy goes on, and
// several may begin at once. Fails as CreateDataset does, and with kNotFound where the directory
// above a local destination is missing.
Status CreateDestination(const std::string& destination, std::vector<NewDocument> documents);

}  // namespace unshard
