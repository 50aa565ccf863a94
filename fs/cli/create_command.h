// `unshard create`: a new dataset without chunks, from a schema or like another dataset.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "codec/pyramid/pyramid.h"
#include "store/copy/copy_places.h"
#include "store/copy/opened_dataset.h"
#include "store/dataset/dataset_creation.h"

namespace unshard {

// The arguments as they were given; empty: not given.
struct CreateCommand {
  std::string destination;
  std::string format;
  std::string schema;  // a file that exists, or JSON
  std::string like;
  std::vector<std::string> shape;
  std::vector<std::string> offset;
  std::string dtype;
  std::vector<std::string> chunk;
  std::vector<std::string> shard;
  std::string codec;
  std::string fill;
  std::vector<std::string> axes;
  std::vector<std::string> resolution;
  std::size_t scales = 1;
  std::vector<std::string> factors;  // "2,2,1", one a step
};

// Whether any argument but the destination was given.
bool DescribesNewDataset(const CreateCommand& command);
// The documents of the dataset that the arguments describe. Reads the one that is named by `like`.
Result<std::vector<NewDocument>> DescribedDocuments(const CreateCommand& command);

// The same, where the arguments say nothing of shape and data type: those are of `source`, as are
// its levels, names, units, and what else the arguments leave open. `path`: of the source in its
// group, for lines of the log.
Result<std::vector<NewDocument>> DocumentsFor(const CreateCommand& command,
                                              const SourceDataset& source,
                                              const std::string& path = "");

// The same for all datasets of a group, each at its path, with the attributes of the groups. Fails
// where the arguments say what cannot hold for all of them: a shape, levels.
Result<std::vector<NewDocument>> DocumentsForGroup(const CreateCommand& command,
                                                   const OpenedDataset& source);

// Where the levels of these datasets are to be; none where the arguments, or what is named by
// `like`, decide that.
Result<std::vector<LevelPlace>> LevelPlacesFor(const CreateCommand& command,
                                               const OpenedDataset& source);

// Returns the exit status of the program. After a failure nothing is left at the destination.
int RunCreate(const CreateCommand& command);

}  // namespace unshard
