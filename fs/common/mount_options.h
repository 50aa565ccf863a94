// What a mount was asked for, validated; plain values without behaviour.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/error.h"

namespace unshard {

enum class ListMode { kPresent, kGrid, kNone };
enum class MortonChoice { kDetect, kStandard, kLegacy };
enum class WatchMode { kAutomatic, kOff };
// What fsync waits for: that the chunk lasts in the spool, or that it stands in its shard.
enum class SyncMode { kSpool, kStore };

struct MountOptions {
  std::string source;
  std::string mount_point;
  ListMode list = ListMode::kPresent;
  MortonChoice morton = MortonChoice::kDetect;
  WatchMode watch = WatchMode::kAutomatic;
  std::uint64_t ttl_milliseconds = 1000;
  bool immutable = false;  // implies read_only
  bool read_only = false;
  // "rw" was asked for: a mount that can only be read is a failure. mount(8) says it unasked.
  bool must_write = false;
  // The folder in which each writable mount has a spool of its own; "": DefaultSpoolFolder().
  std::string spool;
  std::uint64_t spool_bytes = std::uint64_t{4} << 30;
  std::uint64_t spool_files = std::uint64_t{1} << 17;  // each takes a few hundred bytes of memory
  std::uint64_t publish_after_milliseconds = 5000;
  unsigned publish_threads = 2;
  SyncMode sync = SyncMode::kSpool;
  // A chunk that another host has written meanwhile is refused; else the last publisher wins.
  bool strict = false;
  // No other host writes the source: locks between hosts are not needed.
  bool single_writer = false;
  std::uint64_t memory_bytes = std::uint64_t{512} << 20;
  std::optional<uid_t> user;
  std::optional<gid_t> group;
  // Permissions that are taken away: from all, from files, from directories. Where none is given
  // everybody may read and the owner may write.
  std::optional<mode_t> umask;
  std::optional<mode_t> file_mask;       // where given, instead of `umask`
  std::optional<mode_t> directory_mask;  // likewise
  bool allow_other = false;
  bool foreground = false;
  bool verbose = false;
  // Options for the kernel and fusermount3, passed on as they are: "nosuid", "nodev", …
  std::vector<std::string> kernel_options;
};

// Applies one comma-separated `-o` list. Words that mount(8), fstab and systemd add are accepted
// and ignored. Fails with kInvalidArgument naming an option that is unknown or has a bad value.
Status ApplyOptionList(std::string_view list, MountOptions& options);

// The permissions that files, or directories, of a mount show.
mode_t ShownMode(const MountOptions& options, bool directory, bool writable);

// "512M", "1G", "65536": a number of bytes with an optional binary suffix.
std::optional<std::uint64_t> ParseByteCount(std::string_view text);

// Where spools are by default: below the user's folder for state that outlives a restart
// ($XDG_STATE_HOME, else ~/.local/state), and below /var/lib where there is no home.
std::string DefaultSpoolFolder();

// The options as one JSON object (for .unshard/config.json).
std::string DescribeOptions(const MountOptions& options);

}  // namespace unshard
