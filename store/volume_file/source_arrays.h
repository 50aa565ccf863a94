// The arrays of a source, each as what files of all its voxels are made of.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codec/volume_file/volume_file.h"
#include "store/dataset/document_freshness.h"
#include "store/dataset/view_source.h"
#include "store/volume/volume.h"
#include "store/volume_file/decoded_chunks.h"

namespace unshard {

// One array, or scale, as its metadata describe it now. Immutable.
struct SourceArray {
  std::uint64_t serial = 0;  // differs where the metadata have changed
  VolumeFileSource described;
  timespec modified{};  // of the document that describes it
  std::shared_ptr<DecodedChunks> chunks;
  // Where it is presented: it has retired once the metadata say that chunks are stored otherwise.
  // Null for unsharded arrays that are passed through.
  std::shared_ptr<const ChunkTree> served;
};
using SourceArrayPtr = std::shared_ptr<const SourceArray>;

// Thread-safe; no lock is held across I/O.
class SourceArrays {
 public:
  // `parts`: those of an open volume. `options`: the same as of the volume.
  SourceArrays(const VolumeParts& parts, const VolumeOptions& options);

  // The paths below the source of all arrays and scales that have been found so far in a directory
  // of it, and below; "": the source is one.
  [[nodiscard]] std::vector<std::string> FoundIn(const std::string& directory) const;
  // Whether datasets are known in, or below, a directory of the source. Reads its metadata where
  // they have not been read yet.
  bool HasDatasets(const std::string& directory);
  // The array at a path below the source. Null where there is none. What is known is taken for
  // up to date within the ttl. Fails, naming document and field, where its metadata cannot be read
  // or its chunks cannot be decoded.
  Result<SourceArrayPtr> Find(const std::string& path);
  // Chunks that were decoded for files.
  [[nodiscard]] std::uint64_t chunks_decoded() const { return decoded_->load(); }

 private:
  using Clock = std::chrono::steady_clock;
  // What was read of one array, by the path of the store.
  struct Known {
    SourceArrayPtr array;
    DocumentVersions documents;               // by key
    std::shared_ptr<const std::string> text;  // of all of them
    Clock::time_point checked;
  };
  // What the documents of a directory describe.
  struct Described {
    ViewSource source;
    DocumentVersions documents;               // by key
    std::shared_ptr<const std::string> text;  // of all of them
    // The levels by directory; of several in one directory the first, which `shared` has as well.
    std::map<std::string, std::size_t> levels;
    std::set<std::string> shared;
  };
  using DescribedPtr = std::shared_ptr<const Described>;
  // An array among the levels of the dataset that a directory describes.
  struct Place {
    std::string dataset;
    DescribedPtr described;
    std::size_t level = 0;
  };

  [[nodiscard]] std::string KeyOf(const std::string& path) const;
  [[nodiscard]] bool IsFresh(const Known& known) const;
  // Nothing where no document describes an array at `key`.
  Result<std::optional<Place>> Locate(const std::string& key) const;
  Result<std::optional<Place>> LocateIn(const std::string& dataset, const std::string& key) const;
  // What a directory describes; null where it describes nothing. The last few are kept while their
  // documents stay as they are: levels of one are asked for one after the other, and of arrays in
  // a group, group and array in turn.
  Result<DescribedPtr> Read(const std::string& dataset) const;
  [[nodiscard]] DescribedPtr ReadBefore(const std::string& dataset) const;
  void Remember(const std::string& dataset, DescribedPtr described) const;
  Result<SourceArrayPtr> Open(const std::string& key, const Place& place);
  Result<std::shared_ptr<ShardedTree>> OpenPlain(const std::string& directory, const Array& array);

  const VolumeParts& parts_;
  const VolumeOptions options_;
  const std::string root_;  // of the view whose trees are read, where there are several
  const std::shared_ptr<std::atomic<std::uint64_t>> decoded_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::atomic<std::uint32_t> next_ordinal_;  // of trees that only files read
  std::atomic<std::uint64_t> last_serial_{0};
  mutable std::mutex mutex_;
  std::map<std::string, Known> known_;  // guarded by mutex_
  // By dataset, the latest first. Guarded by mutex_.
  mutable std::list<std::pair<std::string, DescribedPtr>> last_read_;
};

}  // namespace unshard
