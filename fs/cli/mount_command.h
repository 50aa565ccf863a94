// `unshard mount` and the mount(8) helper; what all commands share.
#pragma once

#include <string>
#include <vector>

#include "codec/core/error.h"
#include "fs/common/mount_options.h"

namespace unshard {

// The text of `unshard mount --help` below its arguments.
std::string MountFooter();

// kMountProgram: mount(8) adds "rw" by itself, so that "rw" from it does not make read-only sources
// fail.
enum class RunBy { kPerson, kMountProgram };
// Applies the `-o` lists and mounts: in the background, unless the options say otherwise. Returns
// the exit status of the program, after its messages have been printed.
int RunMount(MountOptions options, const std::vector<std::string>& lists, RunBy run_by);

// Notes umount.unshard as the helper of a new mount, where umount(8) looks for it. Of an absolute
// path umount(8) otherwise asks the kernel for the type, which is "fuse" for all file systems of
// FUSE, and so finds no helper. A mount without the note lacks nothing else: failures are ignored.
void NoteUmountHelper(const std::string& source, const std::string& mount_point);

// The absolute form of a path: the daemon leaves the directory that it was started in.
std::string AbsolutePath(const std::string& path);

// Sets the source of `options` from an argument: the absolute form of a path, or a URL; and the
// format that the argument names. Fails like ParseNamedSource, and where no store has the URL's
// scheme.
Status NameSource(const std::string& given, VolumeOptions& options);
// The same for messages: a URL without what may be secret.
std::string ShownSource(const std::string& given);

// Exit status for arguments that no command takes; nothing was tried then.
constexpr int kWrongArguments = 2;

// Prints "unshard: message" and returns 1.
int ReportFailure(const Error& error);

}  // namespace unshard
