// Replacing objects of a service over a network, S3 or GCS, on the condition that they are still
// what they were.
//
// How an object is replaced:
//
//   1. Before the first write to a bucket find out what the service does with conditions
//      (store/remote/conduct.h). Where it ignores them, only a single writer may go on.
//   2. Look at the object: its current version is the base, whose metadata stays. The pair of the
//      obsolete form is the base where the object is missing.
//   3. The caller puts the new version together (store/remote/assembled_version.h): what it writes
//      lies in a file without a name, what it copies from the base stays a reference.
//   4. Up to `parts_above`, and where the service ignores the condition with which an upload in
//      parts is completed: fetch what is referred to, and put the whole version in one request.
//      Above, or where many bytes stay as they are and the service copies ranges conditionally: put
//      the version in parts, of which those that are ranges of the base are copied in the service.
//   5. The request that makes the version is conditional on the base, marks the version with the
//      id of this attempt and the ids of those before, and is sent once. What became of it is found
//      out as store/remote/settled_write.h says.
//
// Objects are durable when they are there. A process that is killed leaves nothing behind but, at
// most, the parts of an upload that was not completed, which the next process drops by its record
// (UploadRecords).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "store/object/object_replacement.h"
#include "store/object/object_store.h"
#include "store/object/store_contact.h"
#include "store/remote/object_writer.h"

namespace unshard {

// What a removal does where the service ignores its condition, and others may write.
enum class Removals {
  kConditional,  // it is refused
  kAfterALook,   // the object is looked at right before: what is put in that moment is lost
};

struct RemoteOptions {
  // No other mount writes the objects: a service that ignores conditions will do.
  bool single_writer = false;
  Removals removals = Removals::kConditional;
  // Where new versions are put together; "": $TMPDIR, else /var/tmp.
  std::string scratch_directory;
  std::uint64_t parts_above = std::uint64_t{64} << 20;
  std::uint64_t part_bytes = std::uint64_t{16} << 20;
  // A smaller version is put in parts as well, where so many of its bytes need not be moved.
  std::uint64_t copies_from = std::uint64_t{16} << 20;
  // Asked whether the store is away, and notified of it; may be null.
  std::shared_ptr<StoreContact> contact = nullptr;
  // Between the tries of one write.
  int tries = 8;
  std::chrono::milliseconds least_delay{100};
  std::chrono::milliseconds most_delay{5000};
};

// `objects` reads the objects that `writer` writes. Keeps what ObjectReplacer promises, except:
//
// - A pair of the obsolete form that is left beside its successor stays, because looking for one
//   would cost two requests a commit: readers ask for the object first. It goes before the object
//   is removed.
// - Remove() is kNotSupported where the service ignores the condition of removals and others may
//   write, unless `removals` says otherwise. Shards are never removed (removes_atomically).
// - StartFromBase() is true only where the service will copy the bytes itself.
// - CanReplace() writes to the store, once in the life of the process. It takes ten seconds at
//   most, and succeeds where the store is away: of that nothing is known.
std::shared_ptr<ObjectReplacer> MakeRemoteReplacer(std::shared_ptr<ObjectWriter> writer,
                                                   std::shared_ptr<ObjectStore> objects,
                                                   const RemoteOptions& options);

}  // namespace unshard
