#include "fs/cli/mount_command.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "codec/array/array.h"
#include "codec/core/escaped_text.h"
#include "codec/pyramid/ome_version.h"
#include "fs/common/daemon.h"
#include "fs/common/option_table.h"
#include "fs/common/process_table.h"
#include "fs/kernel/fuse_mount.h"
#include "fs/kernel/session.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/source/all_views.h"
#include "store/source/named_source.h"
#include "store/source/source.h"
#include "store/source/zip_place.h"
#include "store/volume/spool_folder.h"

namespace unshard {
namespace {

constexpr const char* kMountExamples =
    "Examples:\n"
    "  unshard mount segmentation /mnt/seg\n"
    "  unshard mount image.zarr /mnt/image -f -o list=grid,umask=027\n"
    "  mount -t unshard /data/segmentation /mnt/seg -o immutable\n"
    "  unshard mount https://example.org/segmentation /mnt/seg\n"
    "  unshard mount gs://bucket/segmentation /mnt/seg\n"
    "  unshard mount s3://bucket/segmentation /mnt/seg -o anonymous\n"
    "  /etc/fstab: /data/segmentation /mnt/seg unshard defaults,allow_other 0 0\n"
    "\n"
    "A running mount reports its state in MOUNT_POINT/.unshard/: status.json, metrics,\n"
    "config.json, errors, schema/.";

// Resolves links; the directory need not exist.
std::string ResolvedPath(const std::string& path) {
  const std::string absolute = AbsolutePath(path);
  std::error_code failed;
  const std::string resolved = std::filesystem::weakly_canonical(absolute, failed).string();
  return failed ? absolute : resolved;
}

tl::unexpected<Error> Misplaced(const std::string& what, const std::string& why) {
  return Fail(ErrorCode::kInvalidArgument, what, ": ", why);
}

// A mount inside its own source, and a spool inside the mount, would wait for themselves; a spool
// inside the source would be presented. The table of mounts shows which paths bind mounts make the
// same directory.
Status CheckPlaces(const MountOptions& options) {
  if (!options.cache.empty() && IsAtOrBelow(options.cache, options.mount_point)) {
    return Misplaced("option cache=" + options.cache,
                     "is inside the mount point; name a directory outside");
  }
  const bool local = options.url.empty();
  if (!local && options.read_only) return {};
  UNSHARD_ASSIGN_OR_RETURN(const auto table, ReadMountTable());
  if (local && options.mount_point != options.source &&
      IsInside(table, options.mount_point, options.source)) {
    return Misplaced(options.mount_point, "is inside the source " + options.source +
                                              ", which would then hold itself; mount it on a "
                                              "directory outside");
  }
  if (options.read_only) return {};
  const std::string spool = "option spool=" + options.spool;
  if (IsAtOrBelow(options.spool, options.mount_point)) {
    return Misplaced(spool, "is inside the mount point; name a directory outside");
  }
  if (local && IsInside(table, options.spool, options.source)) {
    return Misplaced(spool, "is inside the source " + options.source +
                                "; name a directory outside with spool=DIR, or mount with ro");
  }
  return {};
}

int Mount(MountOptions options) {
  if (!PassedDevice(options.mount_point)) {
    options.mount_point = MountPointPath(options.mount_point);
  }
  if (!options.read_only || !options.spool.empty()) {
    options.spool = ResolvedPath(options.spool.empty() ? DefaultSpoolFolder() : options.spool);
  }
  if (!options.cache.empty()) options.cache = ResolvedPath(options.cache);
  if (const Status checked = CheckPlaces(options); !checked) return ReportFailure(checked.error());
  const LogLevel level = options.verbose ? LogLevel::kDebug : LogLevel::kInfo;
  options.foreground ? StartLog(LogSink::kDatedStandardError, level)
                     : StartLog(LogSink::kStandardError, LogLevel::kWarning);
  const auto log_mounted = [&] {
    LogInfo(options.mount_point + ": mounted from " + options.source);
  };
  if (options.foreground) {
    const Status served = ServeMount(options, log_mounted);
    return served ? 0 : ReportFailure(served.error());
  }
  return RunInBackground([&](const std::function<void()>& ready) {
    return ServeMount(options, [&] {
      ready();
      StartLog(LogSink::kSyslog, level);
      log_mounted();
    });
  });
}

// A version of OME-Zarr is one of a format: other views have none.
Status CheckOmeVersion(const MountOptions& options) {
  const OmeVersion* version = FindOmeVersion(options.ome);
  if (version == nullptr) return {};
  const std::string_view format = DialectName(version->dialect);
  if (options.view == format || options.view == kAllViews) return {};
  return Fail(ErrorCode::kInvalidArgument, "option ome=", options.ome, ": expected view=", format,
              ", whose pyramids are OME-Zarr ", options.ome, ", or view=", kAllViews);
}

}  // namespace

std::string MountFooter() { return MountOptionsHelp() + "\n" + kMountExamples; }

std::string AbsolutePath(const std::string& path) {
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) != nullptr) return resolved;
  if (!path.empty() && path.front() == '/') return path;
  char current[PATH_MAX];
  if (getcwd(current, sizeof current) == nullptr) return path;
  return std::string(current) + "/" + path;
}

Status NameSource(const std::string& given, VolumeOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const NamedSource name, ParseNamedSource(given));
  options.format = name.format;
  options.inside_zip = name.inside_zip;
  if (IsUrl(name.place)) return NameUrl(name.place, options);
  options.source = AbsolutePath(name.place);
  if (IsOnlyRead(options)) options.read_only = true;
  return {};
}

std::string ShownSource(const std::string& given) {
  const auto name = ParseNamedSource(given);
  const std::string& place = name ? name->place : given;
  return IsUrl(place) ? ShownUrl(place) : AbsolutePath(place);
}

int ReportFailure(const Error& error) {
  std::cerr << "unshard: " << Printable(error.message) << "\n";
  return 1;
}

int RunMount(MountOptions options, const std::vector<std::string>& lists, RunBy run_by) {
  for (const std::string& list : lists) {
    if (const Status applied = ApplyOptionList(list, options); !applied) {
      ReportFailure(applied.error());
      return kWrongArguments;
    }
  }
  if (run_by == RunBy::kMountProgram) options.must_write = false;
  if (const Status named = NameSource(std::string(options.source), options); !named) {
    ReportFailure(named.error());
    return kWrongArguments;
  }
  options.read_only_otherwise = !options.must_write;
  if (options.must_write && IsOnlyRead(options)) {
    const char* const what = options.enters_zips ? ": directories with zip=enter"
                             : FindZip(options)  ? ": ZIP archives"
                                                 : ": sources of this scheme";
    ReportFailure(
        Fail(ErrorCode::kReadOnly, options.source, what, " are read-only; mount it without rw")
            .value());
    return kWrongArguments;
  }
  if (options.must_write && options.immutable) {
    std::cerr << "unshard: options immutable,rw: conflict, because immutable implies ro; leave out "
                 "one of them\n";
    return kWrongArguments;
  }
  if (const Status fits = CheckOmeVersion(options); !fits) {
    ReportFailure(fits.error());
    return kWrongArguments;
  }
  return Mount(std::move(options));
}

void NoteUmountHelper(const std::string& source, const std::string& mount_point) {
  if (geteuid() != 0) return;
  const Status noted = RunProgram({"mount", "--internal-only", "--fake", "-t", "fuse.unshard", "-o",
                                   "uhelper=unshard", "--", source, mount_point});
  static_cast<void>(noted);
}

}  // namespace unshard
