// Shards of all formats that can be written, and publishing random chunks into them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codec/shard/format.h"
#include "store/publish/publisher.h"

namespace unshard {

using PlacedAt = std::pair<std::uint64_t, std::uint64_t>;  // page, slot
using ShardContent = std::map<PlacedAt, std::string>;      // plain bytes

struct WritableFormat {
  std::string name;
  std::shared_ptr<const ShardFormat> format;
  std::vector<PlacedAt> places;  // of all chunks that shard 0 can have
  bool appends = false;
};

// Precomputed raw and gzip; Zarr with the index at the end and at the start, nested, and with outer
// codecs.
const std::vector<WritableFormat>& WritableFormats();
const WritableFormat& FormatNamed(const std::string& name);

// All chunks of a stored shard, read through its index. Fails where one of them cannot be read.
Result<ShardContent> ContentOf(const ShardFormat& format, std::string_view stored,
                               std::uint64_t shard = 0);
// The shard with this content.
std::string Assembled(const ShardFormat& format, const ShardContent& content);
// A mesh manifest of one level with these fragment sizes.
std::string MeshManifest(const std::vector<std::uint32_t>& fragment_sizes);
// Bytes that compress badly. The same arguments give the same bytes.
std::string ChunkText(std::uint64_t seed, std::size_t size);

ChunkFingerprint FingerprintOf(const ShardContent& content, const PlacedAt& place);

// Makes changes whose bytes are in files of `spool`.
class ChangeMaker {
 public:
  explicit ChangeMaker(std::shared_ptr<FileSystem> spool) : spool_(std::move(spool)) {}
  // A change that expects the chunk to be as `seen` has it.
  ShardChange Put(const PlacedAt& place, const std::string& text, const ShardContent& seen);
  ShardChange Remove(const PlacedAt& place, const ShardContent& seen) const;
  std::function<Result<std::shared_ptr<File>>()> Source(const std::string& text);
  // About `count` changes that replace, add and remove chunks; applies them to `content`.
  std::vector<ShardChange> Random(const WritableFormat& format, ShardContent& content,
                                  std::size_t count, std::mt19937& random);

 private:
  const std::shared_ptr<FileSystem> spool_;
  std::uint64_t last_file_ = 0;
};

PublishRequest RequestFor(const WritableFormat& format, const std::string& key,
                          std::vector<ShardChange> changes);

}  // namespace unshard
