#include "fs/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <climits>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "fs/control_files.h"
#include "fs/daemon.h"
#include "fs/fuse_session.h"
#include "fs/info_command.h"
#include "fs/mount_options.h"
#include "fs/sample.h"
#include "store/log.h"

namespace unshard {
namespace {

constexpr const char* kMountFooter =
    "Options (-o), separated by commas:\n"
    "  list=present|grid|none  what listings show: chunks that are there (default),\n"
    "                          every cell of the grid, or no chunks\n"
    "  morton=detect|standard|legacy\n"
    "                          rule of precomputed chunk ids; legacy: CloudVolume and\n"
    "                          igneous before June 2021\n"
    "  watch=on|off            follow changes of the source by inotify (default: on)\n"
    "  ttl=SECONDS             how long unwatched shards are trusted (default: 1)\n"
    "  immutable               the source never changes; never look again\n"
    "  memory=BYTES            memory cap of all caches together (default: 512M)\n"
    "  uid=N,gid=N,umask=OCTAL owner and mode of the files shown\n"
    "  allow_other             let other users in (see fuse.conf(5))\n"
    "\n"
    "Examples:\n"
    "  unshard mount segmentation /mnt/seg\n"
    "  unshard mount image.zarr /mnt/image -f -o list=grid,umask=027\n"
    "  mount -t unshard /data/segmentation /mnt/seg -o immutable\n"
    "  /etc/fstab: /data/segmentation /mnt/seg unshard defaults,allow_other 0 0\n"
    "\n"
    "A running mount tells about itself in MOUNT_POINT/.unshard/: status.json,\n"
    "metrics, config.json, errors.";

constexpr const char* kFooter =
    "Examples:\n"
    "  unshard sample demo              make a sharded sample dataset\n"
    "  unshard info demo                say what it holds\n"
    "  unshard mount demo /mnt/demo     show it as one file per chunk\n"
    "  unshard umount /mnt/demo\n"
    "\n"
    "`unshard COMMAND --help` explains a command.";

// The same path from anywhere: the daemon leaves the directory that it was started in.
std::string AbsolutePath(const std::string& path) {
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) != nullptr) return resolved;
  if (!path.empty() && path.front() == '/') return path;
  char current[PATH_MAX];
  if (getcwd(current, sizeof current) == nullptr) return path;
  return std::string(current) + "/" + path;
}

int Failure(const Error& error) {
  std::cerr << "unshard: " << error.message << "\n";
  return 1;
}

int Mount(MountOptions options) {
  options.source = AbsolutePath(options.source);
  options.mount_point = AbsolutePath(options.mount_point);
  const LogLevel level = options.verbose ? LogLevel::kDebug : LogLevel::kInfo;
  StartLog(LogSink::kStandardError, options.foreground ? level : LogLevel::kWarning);
  if (options.foreground) {
    const Status served = ServeMount(
        options, [&] { LogInfo("mounted " + options.source + " on " + options.mount_point); });
    return served ? 0 : Failure(served.error());
  }
  return RunInBackground([&](const std::function<void()>& ready) {
    return ServeMount(options, [&] {
      ready();
      StartLog(LogSink::kSyslog, level);
      LogInfo("mounted " + options.source + " on " + options.mount_point);
    });
  });
}

int MountWithLists(MountOptions options, const std::vector<std::string>& lists) {
  for (const std::string& list : lists) {
    if (const Status applied = ApplyOptionList(list, options); !applied) {
      return Failure(applied.error());
    }
  }
  return Mount(std::move(options));
}

int Sample(const std::string& directory, std::uint64_t megabytes) {
  SampleOptions options;
  options.megabytes = megabytes;
  const bool terminal = isatty(STDERR_FILENO) == 1;
  if (terminal) {
    options.progress = [](std::uint64_t done, std::uint64_t total) {
      std::cerr << "\r" << done * 100 / total << " %" << std::flush;
    };
  }
  const Status written = WriteSample(directory, options);
  if (terminal) std::cerr << "\r";
  if (!written) return Failure(written.error());
  std::cout << directory << ": a sharded segmentation (precomputed) and image (Zarr v3)\n";
  return 0;
}

int Info(const std::string& source, bool json) {
  StartLog(LogSink::kStandardError, LogLevel::kWarning);
  const auto text = DescribeSource(AbsolutePath(source), json);
  if (!text) return Failure(text.error());
  std::cout << *text;
  return 0;
}

// What mount(8) calls: SOURCE DIRECTORY [-sfnv] [-N namespace] [-t type] [-o options].
int RunMountHelper(int argument_count, char** arguments) {
  CLI::App app{"mount(8) helper of unshard", "mount.unshard"};
  MountOptions options;
  std::vector<std::string> lists;
  bool sloppy = false, fake = false, no_mtab = false;
  std::string type, name_space;
  app.add_option("source", options.source)->required();
  app.add_option("directory", options.mount_point)->required();
  app.add_option("-o", lists, "mount options")->allow_extra_args(false);
  app.add_flag("-s", sloppy);
  app.add_flag("-f", fake);
  app.add_flag("-n", no_mtab);
  app.add_flag("-v", options.verbose);
  app.add_option("-t", type);
  app.add_option("-N", name_space);
  CLI11_PARSE(app, argument_count, arguments);
  if (fake) return 0;
  return MountWithLists(std::move(options), lists);
}

int RunCommands(int argument_count, char** arguments) {
  CLI::App app{"unshard: a sharded dataset as one ordinary file per chunk", "unshard"};
  app.footer(kFooter);
  app.set_version_flag("--version", "unshard " + std::string(kVersion));
  app.require_subcommand(1);

  MountOptions options;
  std::vector<std::string> lists;
  CLI::App* mount = app.add_subcommand("mount", "Show a sharded dataset as files");
  mount->footer(kMountFooter);
  mount->add_option("SOURCE", options.source, "Directory of a dataset, or above several")
      ->required();
  mount->add_option("MOUNT_POINT", options.mount_point, "An existing directory")->required();
  mount->add_option("-o", lists, "Options, separated by commas; see below")
      ->allow_extra_args(false);
  mount->add_flag("-f,--foreground", options.foreground,
                  "Stay in the foreground and log to standard error");
  mount->add_flag("-v,--verbose", options.verbose, "Log more");

  std::string mount_point;
  CLI::App* umount = app.add_subcommand("umount", "End a mount");
  umount->add_option("MOUNT_POINT", mount_point)->required();

  std::string source;
  bool json = false;
  CLI::App* info = app.add_subcommand("info", "Say what a source holds");
  info->add_option("SOURCE", source)->required();
  info->add_flag("--json", json, "One JSON object, for programs");

  std::string directory;
  std::uint64_t megabytes = SampleOptions().megabytes;
  CLI::App* sample = app.add_subcommand("sample", "Make a sharded sample dataset");
  sample->add_option("DIRECTORY", directory, "New or empty")->required();
  sample->add_option("--megabytes", megabytes, "About how large it shall be")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();

  CLI11_PARSE(app, argument_count, arguments);
  if (mount->parsed()) return MountWithLists(std::move(options), lists);
  if (info->parsed()) return Info(source, json);
  if (sample->parsed()) return Sample(directory, megabytes);
  const Status unmounted = Unmount(mount_point);
  return unmounted ? 0 : Failure(unmounted.error());
}

}  // namespace

int RunCommandLine(int argument_count, char** arguments) {
  const std::string_view program = argument_count > 0 ? arguments[0] : "";
  const std::string_view name = program.substr(program.rfind('/') + 1);
  if (name == "mount.unshard" || name == "mount.fuse.unshard") {
    return RunMountHelper(argument_count, arguments);
  }
  return RunCommands(argument_count, arguments);
}

}  // namespace unshard
