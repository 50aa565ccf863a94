// Answers to the kernel: attributes, entries of look-ups, and names of listings.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "fs/common/node_id.h"
#include "store/chunks/list_mode.h"
#include "store/object/object_store.h"

namespace unshard {

struct Attributes {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  timespec modified{};
  bool directory = false;
  std::uint32_t links = 1;
  bool control = false;  // belongs to .unshard and is never written
  // The permission bits in the source, of what passes through; nothing: those of the mount.
  std::optional<std::uint32_t> mode = std::nullopt;
};

// The answer to a look-up, with one reference of the kernel's to its node (nlookup), which
// functions named Refer… add. Node 0: there is no such name, and the kernel may keep a negative
// entry.
struct Entry {
  NodeId node = 0;
  Attributes attributes;
  std::uint64_t timeout_milliseconds = 0;
  // Bytes that will most likely be read next; to be prefetched once the answer is on its way.
  std::shared_ptr<ObjectVersion> next_object = nullptr;
  ByteRange next_range = {};
  // How long the kernel may keep the attributes, if not as long as the name.
  std::optional<std::uint64_t> attributes_milliseconds = std::nullopt;
  std::uint64_t generation = 0;  // of a grid directory (fs/tree/removed_directories.h)
};

// Timeout of names that never change without a notification of the kernel.
inline constexpr std::uint64_t kDayMilliseconds = std::uint64_t{86400} * 1000;

// One name of a directory. `entry` is set where attributes were asked for and cost no I/O; it then
// holds a reference of the kernel's.
struct DirectoryName {
  std::string_view name;
  std::uint64_t inode = 0;
  bool directory = false;
  std::uint64_t next_cookie = 0;
  std::optional<Entry> entry;
};

// False: the name did not fit into the answer, and the listing stops.
using DirectoryVisitor = std::function<bool(const DirectoryName&)>;

// One READDIR: names after `cookie` (0: all of them).
struct Listing {
  NodeId node;
  std::uint64_t cookie;
  bool with_attributes;
  const DirectoryVisitor& visitor;
  ListMode mode;
  bool* left_out = nullptr;  // of ListWithChunks() (fs/tree/listing.h)
};

}  // namespace unshard
