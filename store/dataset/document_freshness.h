// For how long what was read of the metadata documents in a directory is good:
//
// 1. Look() begins to watch the directory, where that is asked for and possible, and looks at it.
//    Only then its documents are read, and Note() takes the versions that were found.
// 2. As long as the directory is watched they are good: each change gives an event, at which they
//    are read again. Where nothing announces changes they are good for the ttl.
// 3. Then IsUpToDate() compares: whether the documents still have the versions that were read, and
//    whether others have come. None has come into a directory with the time that it had in step 1,
//    unless that time was so recent that a later change could have left it the same.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "store/object/change_watcher.h"
#include "store/object/object_store.h"
#include "store/shard/set.h"

namespace unshard {

// Whether a document fails in this way for as long as it has the bytes that it has. Other failures,
// such as those of a disk, may be over at any time.
bool IsOfVersion(const Error& error);

// By path below one directory: the versions of documents that were read.
using DocumentVersions = std::map<std::string, ObjectInfo>;

// Whether the document `key` is the version `read` as before; not where it is gone, or a directory
// has its name. Fails where the store does.
Result<bool> IsVersion(ObjectStore& store, const std::string& key, const ObjectInfo& read);
// The same of all these documents below a directory.
Result<bool> AreVersions(ObjectStore& store, const std::string& directory,
                         const DocumentVersions& read);

// Thread-safe. Never waits for I/O with its lock held.
class DocumentFreshness {
 public:
  // `watcher` null: the caller is notified of every change. `options`: the ttl, its clock, and
  // whether the source never changes. A store that keeps no replaced versions is not followed:
  // what was read there is good for as long as the mount lives.
  DocumentFreshness(std::shared_ptr<ObjectStore> store, std::shared_ptr<ChangeWatcher> watcher,
                    const ShardSetOptions& options);

  struct Seen {
    Generation directory;  // "" where it may have changed unseen
    bool watched = false;
    std::chrono::steady_clock::time_point when;
  };
  // Before the documents of a directory are read. `watch`: begins to watch it.
  [[nodiscard]] Seen Look(const std::string& directory, bool watch) const;
  // The documents were read after `seen`.
  void Note(const std::string& directory, Seen seen, DocumentVersions documents);
  // They have to be read again: they could not be read, or may be other ones.
  void Forget(const std::string& directory);

  // Whether the documents could be read, or need not be read again.
  [[nodiscard]] bool IsRead(const std::string& directory) const;
  // Whether what was read is good without another look. Sends no request to the store.
  [[nodiscard]] bool IsGood(const std::string& directory) const;
  // Looks at the directory, and at its documents of these names. What is found to be up to date is
  // good from then on. Fails where the store does.
  Result<bool> IsUpToDate(const std::string& directory, std::span<const std::string_view> names);

 private:
  struct Read {
    Seen seen;
    DocumentVersions documents;
  };
  [[nodiscard]] bool follows() const;

  const std::shared_ptr<ObjectStore> store_;
  const std::shared_ptr<ChangeWatcher> watcher_;
  const ShardSetOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string, Read> read_;  // by directory; guarded by mutex_
};

}  // namespace unshard
