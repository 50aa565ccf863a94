#include "fs/mount/mount.h"

#include <chrono>
#include <string>
#include <utility>

#include "fs/mount/mount_status.h"
#include "fs/tree/volume_files.h"
#include "store/object/log.h"
#include "store/volume/spool_folder.h"

namespace unshard {
namespace {

// Limits how long one open for writing waits for the kernel to drop the dentry of the file.
constexpr std::chrono::seconds kLongestDrop{1};

}  // namespace

Result<std::unique_ptr<VolumeFs>> OpenVolume(const MountOptions& options, ChangeQueue& changes) {
  UNSHARD_ASSIGN_OR_RETURN(auto volume,
                           Volume::Open(options, [&changes](const ChangeWatcher::Event& event) {
                             changes.Push(event);
                           }));
  if (!options.files.empty()) UNSHARD_RETURN_IF_ERROR(CanHoldFiles(volume->parts()));
  MountOptions opened = options;
  opened.read_only = volume->writes() == nullptr;
  auto fs = std::make_unique<VolumeFs>(
      std::move(volume), opened, [&changes](NodeId directory) { changes.PushPages(directory); });
  if (!fs->writable()) return fs;
  VolumeFs::Writing writing;
  writing.drop_entry = [&changes, mount_point = options.mount_point](NodeId parent,
                                                                     const std::string& name) {
    if (changes.PushName(parent, name)) return;
    LogWarning(mount_point +
               ": changes come faster than the kernel accepts notifications: names are no longer "
               "invalidated, and opening a changed file takes a second look-up");
  };
  writing.drop_pages = [&changes](NodeId node) { changes.PushPages(node); };
  writing.await_drop = [&changes](NodeId parent, const std::string& name) {
    changes.WaitForName(parent, name, kLongestDrop);
  };
  writing.revalidate = [&changes](const std::string& key) { changes.Push({key, false}); };
  fs->StartWriting(std::move(writing));
  return fs;
}

void WarnOfUnpublished(const VolumeOptions& options, const char* not_done) {
  const std::string folder = options.spool.empty() ? "" : "--spool " + options.spool + " ";
  for (const LeftChunks& left : ChunksLeftBehind(options)) {
    LogWarning(DescribeSpooled(left.count, left.bytes, left.path) +
               " of a mount that has ended, and are not " + not_done +
               "; mount it writable or run `unshard spool publish " + folder + left.source +
               "` to publish them");
  }
}

}  // namespace unshard
