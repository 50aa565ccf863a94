// The validated options of a mount; plain values without behaviour.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "store/chunks/list_mode.h"
#include "store/source/volume_options.h"

namespace unshard {

struct MountOptions : VolumeOptions {
  std::string mount_point;
  ListMode list = ListMode::kPresent;
  // Formats (codec/volume_file/volume_file.h) in which each array is presented as one file.
  std::vector<std::string> files;
  // "rw" was asked for: fail where the source can only be read. mount(8) adds "rw" by itself.
  bool must_write = false;
  std::optional<uid_t> user;
  std::optional<gid_t> group;
  // Permissions that are removed: from all, from files, from directories. Without these all may
  // read and the owner may write.
  std::optional<mode_t> umask;
  std::optional<mode_t> file_mask;       // where given, instead of `umask`
  std::optional<mode_t> directory_mask;  // likewise
  bool allow_other = false;
  bool no_io_uring = false;  // requests are read from /dev/fuse, whatever the kernel offers
  bool foreground = false;
  bool verbose = false;
  // Options for the kernel and fusermount3, passed on as they are: "nosuid", "nodev", …
  std::vector<std::string> kernel_options;
};

// Applies one comma-separated `-o` list. Words that mount(8), fstab and systemd add are accepted
// and ignored. Fails with kInvalidArgument naming an option that is unknown or has a bad value.
Status ApplyOptionList(std::string_view list, MountOptions& options);

// Whether umask=, fmask= or dmask= says the permissions of all files.
bool HasMasks(const MountOptions& options);
// The permissions that a mount presents for files, or directories.
mode_t PresentedMode(const MountOptions& options, bool directory, bool writable);

// "512M", "1G", "65536": a number of bytes with an optional binary suffix.
std::optional<std::uint64_t> ParseByteCount(std::string_view text);

// The options as one JSON object (for .unshard/config.json).
std::string DescribeOptions(const MountOptions& options);

}  // namespace unshard
