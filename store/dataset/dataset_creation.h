// Creating a dataset: its metadata documents, without any chunk, in a directory or under a URL.
#pragma once

#include <string>
#include <vector>

#include "codec/core/error.h"
#include "store/object/object_store.h"

namespace unshard {

struct NewDocument {
  std::string path;  // below the dataset: "0/zarr.json"
  std::string text;
};

// Writes the documents durably below `destination`, which is made where it is missing. The document
// that readers open first is written last, so that no reader sees a part of the dataset. Fails,
// with nothing left that it has made and nothing removed that others have, where there is a dataset
// at `destination` already (kInvalidArgument, naming what differs), where another process creates
// another one (kConflict), or the store cannot be written to. The documents may be in any order.
// Blocks.
Status CreateDataset(const std::string& destination, std::vector<NewDocument> documents);
// The failure of CreateDataset where there is a dataset at `destination` already. Writes nothing.
Status CheckNoDataset(const std::string& destination, const std::vector<NewDocument>& documents);

// The documents of every array, scale and group of a store, as they are there, and of the meshes,
// skeletons, annotations and segment properties beside the scales of a volume. Members are listed;
// where the store does not list, they are those that the documents mention, and the labels of
// OME-Zarr. Fails where there is no dataset at the root, and with kResourceExhausted where there
// are more documents, or they lie deeper, than in any dataset.
Result<std::vector<NewDocument>> ReadDocuments(ObjectStore& store, const Deadline& deadline);

}  // namespace unshard
