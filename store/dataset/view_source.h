// What a view that presents datasets otherwise than they are stored has to know of one: the
// documents of its directory, and of its levels.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codec/precomputed/info.h"
#include "codec/pyramid/ome_version.h"
#include "codec/pyramid/pyramid.h"
#include "codec/zarr3/document.h"
#include "store/dataset/directory_documents.h"
#include "store/object/object_store.h"
#include "store/source/catalog_store.h"

namespace unshard {

struct ViewSource {
  // One of SourceDataset::levels as it is stored. With neither of the two: a chunk is an object.
  struct Level {
    std::string directory;  // in the store
    std::optional<ShardedDirectory> precomputed_shards;
    std::optional<ZarrShardedArray> zarr_shards;
    // JSON: while that means the same, so do the chunks.
    std::string layout;
    // The part of it that says how chunks are stored, the same in all views.
    std::string stored_layout;
  };
  SourceDataset dataset;
  std::string document;  // which document says what the directory is: "info", ".zarray"
  ObjectInfo info;       // of that document
  std::vector<Level> levels;
  // All documents that were read, by their paths below the directory.
  std::map<std::string, ObjectInfo> documents;
  std::string text;  // all of their texts
  // Whether names of the source beside what the view presents are hidden, and otherwise which.
  bool closed = false;
  std::set<std::string> hidden;
};

// The format of the dataset that has a document in a directory; nothing where none has.
std::optional<Dialect> DialectOf(DirectoryDocuments& documents);

// Whether the documents are those of a group with OME-Zarr metadata of the format of `version`, and
// of another version. False where that is null.
bool HasOtherOmeVersion(DirectoryDocuments& documents, const OmeVersion* version);

// Which arrays a dataset may have.
enum class Arrays {
  kVoxels,  // those that ForVoxels accepts
  kChunks,  // those that ForPassing accepts
};

// Reads the dataset in the directory of these documents. Nothing where there is no dataset with
// arrays, or groups of them: precomputed meshes, files of other programs. Fails with kDataLoss or
// kNotSupported, naming document and field.
Result<std::optional<ViewSource>> ReadViewSource(DirectoryDocuments& here,
                                                 Arrays arrays = Arrays::kVoxels);
// The same of a directory whose documents are not read yet. `catalog`: null where the store lists.
Result<std::optional<ViewSource>> ReadViewSource(ObjectStore& store, const std::string& path,
                                                 CatalogStore* catalog,
                                                 Arrays arrays = Arrays::kVoxels);

}  // namespace unshard
