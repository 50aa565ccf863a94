// `unshard create`: a new dataset without chunks, from a schema or like another dataset.
#pragma once

#include <string>
#include <vector>

#include "codec/pyramid/pyramid.h"
#include "fs/cli/create_options.h"
#include "store/copy/copy_places.h"
#include "store/copy/opened_dataset.h"
#include "store/dataset/dataset_creation.h"

namespace unshard {

// Whether any argument but the destination was given.
bool DescribesNewDataset(const CreateCommand& command);
// The documents of the dataset that the arguments describe. Reads the dataset that `like` names.
Result<std::vector<NewDocument>> DescribedDocuments(const CreateCommand& command);

// The same, where the arguments say nothing of shape and data type: those are of `source`, as are
// its levels, names, units, and what else the arguments leave open. For lines of the log: `path`,
// of the source in its group, and `shown`, how messages name a source that has no other dataset.
Result<std::vector<NewDocument>> DocumentsFor(const CreateCommand& command,
                                              const SourceDataset& source,
                                              const std::string& path = "",
                                              const std::string& shown = "");

// The same for all datasets of a group, each at its path, with the attributes of the groups. Those
// that the format cannot say are left out of `source`. Fails where the arguments say what cannot
// hold for all of them, a shape or levels, and where none is left.
Result<std::vector<NewDocument>> DocumentsForGroup(const CreateCommand& command,
                                                   OpenedDataset& source);

// Where the levels of these datasets are to be; none where the arguments, or what is named by
// `like`, decide that.
Result<std::vector<LevelPlace>> LevelPlacesFor(const CreateCommand& command,
                                               const OpenedDataset& source);

// Returns the exit status of the program. After a failure nothing is left at the destination.
int RunCreate(const CreateCommand& command);

}  // namespace unshard
