#include "fs/cli/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/escaped_text.h"
#include "fs/cli/control_commands.h"
#include "fs/cli/copy_command.h"
#include "fs/cli/create_command.h"
#include "fs/cli/info_command.h"
#include "fs/cli/list_command.h"
#include "fs/cli/mount_command.h"
#include "fs/cli/schema_command.h"
#include "fs/cli/spool_command.h"
#include "fs/cli/why_command.h"
#include "fs/common/option_table.h"
#include "fs/common/process_table.h"
#include "fs/common/readable.h"
#include "fs/common/version.h"
#include "store/object/log.h"

namespace unshard {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  unshard info demo                say what it holds\n"
    "  unshard mount demo /mnt/demo     show it as one file per chunk\n"
    "  unshard list                     see all mounts\n"
    "  unshard why /mnt/demo/8_8_8/x    see why the last request on a file failed\n"
    "  unshard flush /mnt/demo          wait until what was written is in its shard\n"
    "  unshard umount /mnt/demo         publish the rest and end it\n"
    "  unshard spool list               see what mounts have left unpublished\n"
    "\n"
    "`unshard help COMMAND` explains a command. Exit status: 0 done, 1 failed or not all\n"
    "done, 2 wrong arguments.";

int Info(const std::string& source, bool json) {
  StartLog(LogSink::kStandardError, LogLevel::kWarning);
  const auto description = DescribeSource(source, json);
  if (!description) return ReportFailure(description.error());
  std::cout << description->text;
  return description->damaged ? 1 : 0;
}

// The innermost command that was recognised: "unshard spool list".
std::string CommandOf(const CLI::App& app) {
  std::string name = app.get_name();
  const CLI::App* inner = &app;
  while (!inner->get_subcommands().empty()) {
    inner = inner->get_subcommands().front();
    name += " " + inner->get_name();
  }
  return name;
}

// What a word could have been, of the names of the options or the subcommands of `app`.
std::string DidYouMeanOption(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return DidYouMean(word.substr(0, word.find('=')), views);
}

std::vector<const CLI::App*> AllCommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// Null: `app` has no command of this name.
const CLI::App* FindCommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : AllCommands(app)) {
    if (command->check_name(name)) return command;
  }
  return nullptr;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : AllCommands(app)) names.push_back(command->get_name());
  return names;
}

std::string DidYouMeanCommand(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> names = CommandNames(app);
  const std::vector<std::string_view> views(names.begin(), names.end());
  return DidYouMean(word, views);
}

// Words and options that the innermost command does not take; "" where there are none.
std::string Unexpected(const CLI::App& app) {
  const CLI::App* inner = &app;
  while (!inner->get_subcommands().empty()) inner = inner->get_subcommands().front();
  const auto extra = inner->remaining();
  if (extra.empty()) return "";
  const std::string& word = extra.front();
  if (word.starts_with("-")) {
    return Printable(word) + ": no such option" + DidYouMeanOption(*inner, word);
  }
  return Printable(word) + ": one argument too many";
}

// "$UNSET" is refused where it stands, and not taken for the current directory.
void RefuseEmptyArguments(CLI::App& app) {
  const auto is_place = [](const CLI::Option& option) {
    return option.get_positional() || option.check_name("--like") || option.check_name("--spool");
  };
  const auto refuse = [](const std::string& given) {
    return given.empty() ? "is empty" : std::string();
  };
  for (CLI::Option* option : app.get_options()) {
    if (is_place(*option)) option->check(refuse);
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    RefuseEmptyArguments(*command);
  }
}

// Help ends with 0; arguments that no command takes with one line and kWrongArguments.
std::optional<int> Parse(CLI::App& app, int argument_count, char** arguments) {
  RefuseEmptyArguments(app);
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const std::string command = CommandOf(app);
    std::string reason = error.what();
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    if (reason == "A subcommand is required") reason = "expected a command";
    const std::string unexpected = Unexpected(app);
    if (!unexpected.empty()) reason = unexpected;
    const std::string subject = command.starts_with("unshard ") ? command.substr(8) : command;
    std::cerr << "unshard: " << (command == "unshard" ? "" : subject + ": ") << Printable(reason)
              << "; see `" << command << " --help`\n";
    return kWrongArguments;
  }
  return std::nullopt;
}

// Notes umount.unshard as the helper of a new mount, where umount(8) looks for it. Of an absolute
// path umount(8) otherwise asks the kernel for the type, which is "fuse" for all file systems of
// FUSE, and so finds no helper. A mount without the note is as good, but for that.
void NoteUmountHelper(const std::string& source, const std::string& mount_point) {
  if (geteuid() != 0) return;
  const Status noted = RunProgram({"mount", "--internal-only", "--fake", "-t", "fuse.unshard", "-o",
                                   "uhelper=unshard", "--", source, mount_point});
  static_cast<void>(noted);
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
  if (const auto over = Parse(app, argument_count, arguments)) return *over;
  if (fake) return 0;
  const std::string source = ShownSource(options.source), mount_point = options.mount_point;
  const int status = RunMount(std::move(options), lists, RunBy::kMountProgram);
  if (status == 0) NoteUmountHelper(source, mount_point);
  return status;
}

// What umount(8) calls: DIRECTORY [-flnrv] [-N namespace] [-t type].
int RunUmountHelper(int argument_count, char** arguments) {
  CLI::App app{"umount(8) helper of unshard", "umount.unshard"};
  std::string mount_point, type, name_space;
  bool force = false, lazy = false, no_mtab = false, read_only = false, verbose = false;
  app.add_option("directory", mount_point)->required();
  app.add_flag("-f", force);
  app.add_flag("-l", lazy);
  app.add_flag("-n", no_mtab);
  app.add_flag("-r", read_only);
  app.add_flag("-v", verbose);
  app.add_option("-t", type);
  app.add_option("-N", name_space);
  if (const auto over = Parse(app, argument_count, arguments)) return *over;
  return RunUmount(mount_point, force  ? Unmounting::kForced
                                : lazy ? Unmounting::kLazy
                                       : Unmounting::kOrderly);
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
  mount->footer(MountFooter());
  mount
      ->add_option("SOURCE", arguments->options.source,
                   "Directory of a dataset, or above several; or its URL")
      ->required();
  mount->add_option("MOUNT_POINT", arguments->options.mount_point, "An existing directory")
      ->required();
  mount->add_option("-o", arguments->lists, "Options, separated by commas; see below")
      ->allow_extra_args(false);
  mount->add_flag("-f,--foreground", arguments->options.foreground,
                  "Stay in the foreground and log to standard error");
  mount->add_flag("-v,--verbose", arguments->options.verbose, "Log more");
  return {mount,
          [arguments] { return RunMount(arguments->options, arguments->lists, RunBy::kPerson); }};
}

Command AddUmount(CLI::App& app) {
  const auto mount_point = std::make_shared<std::string>();
  CLI::App* umount = app.add_subcommand("umount", "Publish what was written and end a mount");
  umount->footer(
      "Examples:\n"
      "  unshard umount /mnt/demo\n"
      "\n"
      "Ends with 1 where something stays in the spool, or the mount stays.");
  umount->add_option("MOUNT_POINT", *mount_point, "Where it is mounted")->required();
  return {umount, [mount_point] { return RunUmount(*mount_point); }};
}

Command AddFlush(CLI::App& app) {
  const auto mount_point = std::make_shared<std::string>();
  CLI::App* flush = app.add_subcommand("flush", "Wait until all that was written is in its shard");
  flush->footer(
      "Examples:\n"
      "  unshard flush /mnt/demo && rsync -a segmentation backup:");
  flush->add_option("MOUNT_POINT", *mount_point, "Where it is mounted")->required();
  return {flush, [mount_point] { return RunFlush(*mount_point); }};
}

Command AddStatus(CLI::App& app) {
  const auto command = std::make_shared<StatusCommand>();
  CLI::App* status = app.add_subcommand("status", "Say what a mount is doing");
  status->footer(
      "Examples:\n"
      "  unshard status /mnt/demo\n"
      "  unshard status --watch /mnt/demo\n"
      "  unshard status --json /mnt/demo | jq .write.dirty_chunks");
  status->add_option("MOUNT_POINT", command->mount_point, "Where it is mounted")->required();
  CLI::Option* watch = status->add_flag("--watch", command->watch, "Every second, until stopped");
  status->add_flag("--json", command->json, "One JSON object, for programs")->excludes(watch);
  return {status, [command] { return RunStatus(*command); }};
}

Command AddSpool(CLI::App& app) {
  const auto command = std::make_shared<SpoolCommand>();
  CLI::App* spool = app.add_subcommand("spool", "See to what mounts have left unpublished");
  spool->footer(
      "Examples:\n"
      "  unshard spool list -v\n"
      "  unshard spool publish segmentation\n"
      "  unshard spool export saved segmentation");
  spool->require_subcommand(1);
  const auto add = [&](SpoolCommand::Action action, const char* name, const char* description,
                       const char* example) {
    CLI::App* added = spool->add_subcommand(name, description);
    added->footer(std::string("Examples:\n  ") + example);
    added->add_option("--spool", command->folder, "Folder of spools, as given to mount");
    added->callback([command, action] { command->action = action; });
    return added;
  };
  CLI::App* list = add(SpoolCommand::Action::kList, "list", "Every spool and what is in it",
                       "unshard spool list -v segmentation");
  list->add_option("SOURCE", command->source, "Only of this source");
  list->add_flag("-v,--verbose", command->verbose, "Every chunk");
  add(SpoolCommand::Action::kPublish, "publish", "Publish what dead mounts have left",
      "unshard spool publish segmentation")
      ->add_option("SOURCE", command->source, "As it was mounted")
      ->required();
  CLI::App* copy = add(SpoolCommand::Action::kExport, "export", "Copy every chunk to plain files",
                       "unshard spool export saved segmentation");
  copy->add_option("DIRECTORY", command->directory, "Nothing in it is overwritten")->required();
  copy->add_option("SOURCE", command->source, "Only of this source");
  CLI::App* drop = add(SpoolCommand::Action::kDrop, "drop", "Remove quarantined chunks for good",
                       "unshard spool drop segmentation 8_8_8/0-64_0-64_0-64");
  drop->add_option("SOURCE", command->source, "As it was mounted")->required();
  drop->add_option("CHUNK", command->chunks, "As `unshard spool list -v` names it");
  drop->add_flag("--all", command->all, "Every quarantined chunk of this source");
  return {spool, [command] { return RunSpool(*command); }};
}

Command AddInfo(CLI::App& app) {
  struct Arguments {
    std::string source;
    bool json = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* info = app.add_subcommand("info", "Say what a source holds");
  info->footer(
      "Examples:\n"
      "  unshard info segmentation\n"
      "  unshard info --json image.zarr | jq '.datasets[] | {path, shards, chunks}'\n"
      "\n"
      "Ends with 1 where a dataset or the index of a shard is damaged. The members of the JSON\n"
      "object are described in unshard(1).");
  info->add_option("SOURCE", arguments->source,
                   "Directory of a dataset, or above several; or its URL")
      ->required();
  info->add_flag("--json", arguments->json, "One JSON object, for programs");
  return {info, [arguments] { return Info(arguments->source, arguments->json); }};
}

Command AddSchema(CLI::App& app) {
  struct Arguments {
    std::string source;
    std::string array;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* schema = app.add_subcommand("schema", "Print the TensorStore Schema of an array");
  schema->footer(
      "Examples:\n"
      "  unshard schema segmentation 8_8_40\n"
      "  unshard schema image.zarr 0 | jq .chunk_layout\n"
      "\n"
      "Data types, codecs and bounds as TensorStore prints them for the stored, sharded array.");
  schema
      ->add_option("SOURCE", arguments->source,
                   "Directory of a dataset, or above several; or its URL")
      ->required();
  schema->add_option("ARRAY", arguments->array,
                     "Path of the array below it, or key of a scale; without it the array at "
                     "SOURCE, or its first scale");
  return {schema, [arguments] { return RunSchema(arguments->source, arguments->array); }};
}

// What describes a dataset that is to be created.
void AddCreateOptions(CLI::App& app, CreateCommand& command) {
  CLI::Option* format =
      app.add_option("--format", command.format, "precomputed, zarr3, zarr2 or n5");
  app.add_option("--like", command.like, "The same documents as this dataset has")
      ->excludes(format);
  app.add_option("--schema", command.schema, "A TensorStore Schema: a file, or JSON");
  const auto list = [&](const char* name, std::vector<std::string>& values, const char* text) {
    app.add_option(name, values, text)->delimiter(',')->allow_extra_args(false);
  };
  list("--shape", command.shape, "Extents; of a volume x,y,z or x,y,z,channels");
  list("--offset", command.offset, "The first voxel of a volume, as in --offset=-8,0,0");
  app.add_option("--dtype", command.dtype, "uint8, uint64, float32, …");
  list("--chunk", command.chunk,
       "Extents of chunks, or of the inner chunks of shards; 0: chosen, -1: the whole axis");
  list("--shard", command.shard,
       "Extents of shards, of a volume the nearest that there are; or about how many bytes of "
       "voxels one has, as in 1GB, or auto");
  app.add_option("--codec", command.codec,
                 "raw, gzip, zstd, blosc, …, also with a level, as in zstd:5; of a volume raw, "
                 "jpeg, png or compressed_segmentation; or the codec of a schema as JSON");
  app.add_option("--fill", command.fill, "The value of absent chunks (Zarr)");
  list("--axes", command.axes, "Names of the dimensions (Zarr v3, N5)");
  list("--resolution", command.resolution,
       "Of one voxel along each dimension: nanometres, or with a unit (\"0.5 s\")");
  app.add_option("--scales", command.scales, "This many resolutions of the volume");
  app.add_option("--factor", command.factors,
                 "How much coarser the next scale is, as in 2,2,1; more of them for further steps")
      ->allow_extra_args(false);
}

Command AddCreate(CLI::App& app) {
  const auto command = std::make_shared<CreateCommand>();
  CLI::App* create = app.add_subcommand("create", "Make a new dataset without chunks");
  create->footer(
      "Examples:\n"
      "  unshard create new --format precomputed --shape 4096,4096,1000 --dtype uint64 \\\n"
      "      --chunk 64,64,64 --shard 1024,1024,512 --codec compressed_segmentation \\\n"
      "      --resolution 8,8,40 --scales 4 --factor 2,2,1\n"
      "  unshard create new.zarr --format zarr3 --shape 1000,4096,4096 --dtype uint16 \\\n"
      "      --chunk 32,64,64 --shard 256,1024,1024 --codec zstd --axes z,y,x\n"
      "  unshard create new.zarr --format zarr3 --schema schema.json\n"
      "  unshard create copy --like segmentation\n"
      "\n"
      "What no constraint decides is chosen as TensorStore 0.1.86 does. Nothing is left where\n"
      "it fails, and an existing dataset is never touched.");
  create->add_option("DESTINATION", command->destination, "A directory without a dataset, or a URL")
      ->required();
  AddCreateOptions(*create, *command);
  return {create, [command] { return RunCreate(*command); }};
}

Command AddCopy(CLI::App& app) {
  const auto command = std::make_shared<CopyCommand>();
  CLI::App* copy = app.add_subcommand("copy", "Copy a dataset into another one, in any format");
  copy->footer(
      "Examples:\n"
      "  unshard copy segmentation new && unshard copy segmentation new --verify\n"
      "  unshard copy plain.zarr s3://bucket/sharded.zarr --format zarr3 --shard 256,1024,1024\n"
      "  unshard copy gs://bucket/volume local.n5 --format n5 --codec zstd\n"
      "\n"
      "What was interrupted goes on when it is run again. Shards are written whole; those\n"
      "that hold already what the source has stay as they are.");
  copy->add_option("SOURCE", command->source, "Directory of a dataset, or its URL")->required();
  copy->add_option("DESTINATION", command->create.destination,
                   "A dataset of the same shape and data type, or where to make one: like "
                   "SOURCE, or as --format, --schema or --like say")
      ->required();
  copy->add_option(
          "--exclude", command->exclude,
          "Leave out what is at this path below the source, such as labels; may be repeated")
      ->type_name("PATH")
      ->allow_extra_args(false);
  copy->add_flag("--verify", command->verify,
                 "Then read both again, and compare every voxel; alone, where DESTINATION is "
                 "there, only compare: nothing is written");
  copy->add_flag("--delete", command->deletes,
                 "Remove chunks of DESTINATION that SOURCE lacks; else they are kept and counted");
  copy->add_flag("--replace", command->replaces,
                 "Copy also the chunks and files that DESTINATION has already; else they are "
                 "kept, without comparing them");
  copy->add_flag("--strict", command->strict,
                 "Copy nothing where the format cannot say an array; else that is left out");
  copy->add_flag("-n,--dry-run", command->dry_run,
                 "Print what would be written, and write nothing");
  copy->add_flag("-q,--quiet", command->quiet, "Show no plan and no progress");
  AddCreateOptions(*copy, command->create);
  return {copy, [command] { return RunCopy(*command); }};
}

Command AddList(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* list = app.add_subcommand("list", "All mounts, and what they have not published");
  list->footer(
      "Examples:\n"
      "  unshard list\n"
      "  unshard list --json | jq -r '.mounts[] | select(.state == \"dead\") | .mount_point'");
  list->add_flag("--json", *json, "One JSON object, for programs");
  return {list, [json] { return RunList(*json); }};
}

Command AddWhy(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  CLI::App* why = app.add_subcommand("why", "Say why the last request on a path failed");
  why->footer(
      "Examples:\n"
      "  unshard why /mnt/demo/segmentation/8_8_8/0-64_0-64_0-64\n"
      "  unshard why /mnt/demo");
  why->add_option("PATH", *path, "A file or directory in a mount; of these what is below, too")
      ->required();
  return {why, [path] { return RunWhy(*path); }};
}

int Help(const CLI::App& app, const std::vector<std::string>& words, bool json) {
  if (json) {
    if (words != std::vector<std::string>{"mount"}) {
      std::cerr << "unshard: help: --json: expected `unshard help mount --json`, which lists the "
                   "options of mounts; see `unshard help --help`\n";
      return kWrongArguments;
    }
    std::cout << MountOptionsJson();
    return 0;
  }
  const CLI::App* command = &app;
  std::string name = app.get_name();
  for (const std::string& word : words) {
    const CLI::App* found = FindCommand(*command, word);
    if (found == nullptr) {
      std::cerr << "unshard: " << Printable(word) << ": no such command"
                << DidYouMeanCommand(*command, word) << "; see `unshard --help`\n";
      return kWrongArguments;
    }
    command = found;
    name += " " + command->get_name();
  }
  std::cout << command->get_formatter()->make_help(command, name, CLI::AppFormatMode::Normal);
  return 0;
}

Command AddHelp(CLI::App& app) {
  struct Arguments {
    std::vector<std::string> words;
    bool json = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* help = app.add_subcommand("help", "Explain a command");
  help->footer("Examples:\n  unshard help mount\n  unshard help spool export");
  help->add_option("COMMAND", arguments->words, "One of those that `unshard --help` lists");
  help->add_flag("--json", arguments->json, "The options of mounts as JSON, for programs");
  return {help, [&app, arguments] { return Help(app, arguments->words, arguments->json); }};
}

// CLI11 says "A subcommand is required" of a word that is none.
bool ReportUnknownCommand(const CLI::App& app, int argument_count, char** arguments) {
  const CLI::App* command = &app;
  std::string path;
  for (int i = 1; i < argument_count; ++i) {
    const std::string word = arguments[i];
    const bool is_command = !word.empty() && word.front() != '-';
    if (!is_command || AllCommands(*command).empty()) return false;
    const CLI::App* found = FindCommand(*command, word);
    if (found == nullptr) {
      std::string names;
      for (const std::string& name : CommandNames(*command)) {
        names += (names.empty() ? "" : ", ") + name;
      }
      const std::string meant = DidYouMeanCommand(*command, word);
      std::cerr << "unshard: " << path << Printable(word) << ": no such command"
                << (meant.empty() ? "; expected one of " + names : meant) << "; see `unshard"
                << (path.empty() ? "" : " " + path.substr(0, path.size() - 2)) << " --help`\n";
      return true;
    }
    command = found;
    path += word + ": ";
  }
  return false;
}

int RunCommands(int argument_count, char** arguments) {
  CLI::App app{"unshard: a sharded dataset as one ordinary file per chunk", "unshard"};
  app.footer(kFooter);
  app.set_version_flag("--version", "unshard " + std::string(kVersion));
  app.require_subcommand(1);
  const Command commands[] = {AddMount(app),  AddUmount(app), AddFlush(app), AddStatus(app),
                              AddList(app),   AddWhy(app),    AddSpool(app), AddInfo(app),
                              AddSchema(app), AddCreate(app), AddCopy(app),  AddHelp(app)};
  if (ReportUnknownCommand(app, argument_count, arguments)) return kWrongArguments;
  if (const auto over = Parse(app, argument_count, arguments)) return *over;
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return kWrongArguments;
}

}  // namespace

int RunCommandLine(int argument_count, char** arguments) {
  const std::string_view program = argument_count > 0 ? arguments[0] : "";
  const std::string_view name = program.substr(program.rfind('/') + 1);
  if (name == "mount.unshard" || name == "mount.fuse.unshard") {
    return RunMountHelper(argument_count, arguments);
  }
  if (name == "umount.unshard" || name == "umount.fuse.unshard") {
    return RunUmountHelper(argument_count, arguments);
  }
  return RunCommands(argument_count, arguments);
}

}  // namespace unshard
