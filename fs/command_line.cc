#include "fs/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "fs/control_commands.h"
#include "fs/control_files.h"
#include "fs/info_command.h"
#include "fs/mount_command.h"
#include "fs/sample.h"
#include "fs/spool_command.h"
#include "store/log.h"

namespace unshard {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  unshard sample demo              make a sharded sample dataset\n"
    "  unshard info demo                say what it holds\n"
    "  unshard mount demo /mnt/demo     show it as one file per chunk\n"
    "  unshard flush /mnt/demo          wait until what was written is in its shard\n"
    "  unshard status --watch /mnt/demo see what it is doing\n"
    "  unshard umount /mnt/demo         publish the rest and end it\n"
    "  unshard spool list               see what mounts have left unpublished\n"
    "\n"
    "`unshard COMMAND --help` explains a command.";

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
  if (!written) return ReportFailure(written.error());
  std::cout << directory << ": a sharded segmentation (precomputed) and image (Zarr v3)\n";
  return 0;
}

int Info(const std::string& source, bool json) {
  StartLog(LogSink::kStandardError, LogLevel::kWarning);
  const auto text = DescribeSource(AbsolutePath(source), json);
  if (!text) return ReportFailure(text.error());
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
  return RunMount(std::move(options), lists);
}

// A subcommand and what runs where it was given.
struct Command {
  CLI::App* app;
  std::function<int()> run;
};

Command AddMount(CLI::App& app) {
  struct Arguments {
    MountOptions options;
    std::vector<std::string> lists;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* mount = app.add_subcommand("mount", "Show a sharded dataset as files");
  mount->footer(kMountFooter);
  mount->add_option("SOURCE", arguments->options.source, "Directory of a dataset, or above several")
      ->required();
  mount->add_option("MOUNT_POINT", arguments->options.mount_point, "An existing directory")
      ->required();
  mount->add_option("-o", arguments->lists, "Options, separated by commas; see below")
      ->allow_extra_args(false);
  mount->add_flag("-f,--foreground", arguments->options.foreground,
                  "Stay in the foreground and log to standard error");
  mount->add_flag("-v,--verbose", arguments->options.verbose, "Log more");
  return {mount, [arguments] { return RunMount(arguments->options, arguments->lists); }};
}

Command AddUmount(CLI::App& app) {
  const auto mount_point = std::make_shared<std::string>();
  CLI::App* umount = app.add_subcommand("umount", "Publish what was written and end a mount");
  umount->add_option("MOUNT_POINT", *mount_point)->required();
  return {umount, [mount_point] { return RunUmount(*mount_point); }};
}

Command AddFlush(CLI::App& app) {
  const auto mount_point = std::make_shared<std::string>();
  CLI::App* flush = app.add_subcommand("flush", "Wait until all that was written is in its shard");
  flush->add_option("MOUNT_POINT", *mount_point)->required();
  return {flush, [mount_point] { return RunFlush(*mount_point); }};
}

Command AddStatus(CLI::App& app) {
  const auto command = std::make_shared<StatusCommand>();
  CLI::App* status = app.add_subcommand("status", "Say what a mount is doing");
  status->add_option("MOUNT_POINT", command->mount_point)->required();
  CLI::Option* watch = status->add_flag("--watch", command->watch, "Every second, until stopped");
  status->add_flag("--json", command->json, "One JSON object, for programs")->excludes(watch);
  return {status, [command] { return RunStatus(*command); }};
}

Command AddSpool(CLI::App& app) {
  const auto command = std::make_shared<SpoolCommand>();
  CLI::App* spool = app.add_subcommand("spool", "See to what mounts have left unpublished");
  spool->require_subcommand(1);
  const auto add = [&](SpoolCommand::Action action, const char* name, const char* description) {
    CLI::App* added = spool->add_subcommand(name, description);
    added->add_option("--spool", command->folder, "Folder of spools, as given to mount");
    added->callback([command, action] { command->action = action; });
    return added;
  };
  CLI::App* list = add(SpoolCommand::Action::kList, "list", "Every spool and what is in it");
  list->add_option("SOURCE", command->source, "Only of this source");
  list->add_flag("-v,--verbose", command->verbose, "Every chunk");
  add(SpoolCommand::Action::kPublish, "publish", "Publish what dead mounts have left")
      ->add_option("SOURCE", command->source)
      ->required();
  CLI::App* copy = add(SpoolCommand::Action::kExport, "export", "Copy every chunk to plain files");
  copy->add_option("DIRECTORY", command->directory, "Nothing in it is overwritten")->required();
  copy->add_option("SOURCE", command->source, "Only of this source");
  return {spool, [command] { return RunSpool(*command); }};
}

Command AddInfo(CLI::App& app) {
  struct Arguments {
    std::string source;
    bool json = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* info = app.add_subcommand("info", "Say what a source holds");
  info->add_option("SOURCE", arguments->source)->required();
  info->add_flag("--json", arguments->json, "One JSON object, for programs");
  return {info, [arguments] { return Info(arguments->source, arguments->json); }};
}

Command AddSample(CLI::App& app) {
  struct Arguments {
    std::string directory;
    std::uint64_t megabytes = SampleOptions().megabytes;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* sample = app.add_subcommand("sample", "Make a sharded sample dataset");
  sample->add_option("DIRECTORY", arguments->directory, "New or empty")->required();
  sample->add_option("--megabytes", arguments->megabytes, "About how large it shall be")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  return {sample, [arguments] { return Sample(arguments->directory, arguments->megabytes); }};
}

int RunCommands(int argument_count, char** arguments) {
  CLI::App app{"unshard: a sharded dataset as one ordinary file per chunk", "unshard"};
  app.footer(kFooter);
  app.set_version_flag("--version", "unshard " + std::string(kVersion));
  app.require_subcommand(1);
  const Command commands[] = {AddMount(app), AddUmount(app), AddFlush(app), AddStatus(app),
                              AddSpool(app), AddInfo(app),   AddSample(app)};
  CLI11_PARSE(app, argument_count, arguments);
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return 1;
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
