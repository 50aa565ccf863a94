// Changes of the metadata documents, `info` and `zarr.json`, through a writable mount: what was
// written is merged into what is stored, and refused where it contradicts how chunks are stored.
#pragma once

#include <ctime>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "codec/zarr3/merge.h"
#include "codec/zarr3/shard_template.h"
#include "store/dataset/dataset_tree.h"
#include "store/volume/dataset_changes.h"

namespace unshard {

// A metadata document that is being edited.
struct EditedDocument {
  std::string directory;
  std::string name;
  bool plain = false;  // a group's that was shown as it is stored, or a new one
};

// Thread-safe: one document is changed at a time. What another process stores meanwhile is not
// replaced: the edit is checked, and merged, against that as well. Paths are keys of the store.
// What is refused, and with which errno, says codec/precomputed/merge.h and codec/zarr3/merge.h;
// EFBIG beyond kMaxDocumentBytes. After a failure what was stored before stays, except where
// CompleteInPlace fails.
class MetadataDocuments {
 public:
  // Asks for a refresh of a key: what the mount shows of it may have changed. Must not wait.
  using Refresh = std::function<void(const std::string& key)>;
  // All references outlive this object; `refresh` may be null. New arrays get these `shards`.
  MetadataDocuments(ObjectStore& store, FileSystem& files, DatasetTree& datasets,
                    ObjectReplacer& replacer, WritePipeline& writes,
                    std::optional<ShardTemplate> shards, Refresh refresh)
      : store_(store),
        files_(files),
        replacer_(replacer),
        datasets_(datasets),
        changes_(store, files, datasets, writes),
        shards_(std::move(shards)),
        refresh_(std::move(refresh)) {}

  // Stores `bytes` as the document. If it is shown as it is stored, it gets the time `modified`.
  // EPERM where a document that is shown rewritten is gone from the source, and where `bytes` say
  // something else than a view that computes the document.
  Status Commit(const EditedDocument& document, StagedFile& bytes, const timespec& modified);
  // Removes a document that is shown rewritten; EPERM where one of its chunks is stored, or a view
  // computes it.
  Status Remove(const std::string& path);
  // Whether the file at `path` can become the document `to`, which is shown as it is stored, with
  // its bytes unchanged. True where there is no such file.
  Result<bool> IsComplete(const std::string& path, const std::string& to) const;
  // After `file` at `path` was written in place: where that is a new document, stores what it has
  // to hold, and removes it where it is refused. Does nothing where `path` leads elsewhere by now.
  Status CompleteInPlace(const std::string& path, File& file);

 private:
  // Whether a document is new, or takes the place of a stored document.
  enum class Replaces { kNothing, kStored };
  Result<std::string> Complete(const std::string& path, const std::string& text,
                               Replaces replaces) const;
  Result<std::string> InShards(const std::string& path, std::string text) const;
  // These three give false where another process has replaced what was stored.
  Result<bool> CommitOver(const std::optional<WholeObject>& stored, const EditedDocument& document,
                          const std::string& text, const timespec& modified);
  Result<bool> Merge(const std::string& path, const WholeObject& stored, const std::string& text);
  Result<bool> Store(const std::string& path, const std::string& text,
                     const std::optional<WholeObject>& stored,
                     const std::optional<timespec>& modified);
  void Reload(const std::string& path);
  // Nothing where this document can be changed.
  [[nodiscard]] std::optional<std::string> ComputedText(const std::string& path) const;
  [[nodiscard]] StoredNodes NodesBelow(const std::string& directory) const;

  ObjectStore& store_;
  FileSystem& files_;
  ObjectReplacer& replacer_;
  DatasetTree& datasets_;
  DatasetChanges changes_;
  const std::optional<ShardTemplate> shards_;
  const Refresh refresh_;
  std::mutex mutex_;  // held while a document is changed
};

}  // namespace unshard
