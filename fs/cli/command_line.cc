#include "fs/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/escaped_text.h"
#include "codec/json/writer.h"
#include "codec/types/data_type.h"
#include "fs/cli/command_examples.h"
#include "fs/cli/control_commands.h"
#include "fs/cli/copy_command.h"
#include "fs/cli/create_command.h"
#include "fs/cli/info_command.h"
#include "fs/cli/list_command.h"
#include "fs/cli/mount_command.h"
#include "fs/cli/schema_command.h"
#include "fs/cli/spool_command.h"
#include "fs/cli/version_text.h"
#include "fs/cli/why_command.h"
#include "fs/common/option_table.h"
#include "fs/common/readable.h"
#include "store/object/log.h"

namespace unshard {
namespace {

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

// What arguments and options take, in the words that the help shows. Completions of shells offer
// what a word says: directories for DIR, files for FILE, mount points for MOUNT.
constexpr const char* kPlace = "DIR|URL";
constexpr const char* kDataType = "TYPE";
constexpr const char* kCodecName = "CODEC|JSON";

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
                   "Directory or ZIP archive of a dataset, or above several; or its URL")
      ->type_name(kPlace)
      ->required();
  mount->add_option("MOUNT_POINT", arguments->options.mount_point, "An existing directory")
      ->type_name("DIR")
      ->required();
  mount->add_option("-o", arguments->lists, "Options, separated by commas; see below")
      ->type_name("OPTIONS")
      ->allow_extra_args(false);
  mount->add_flag("-f,--foreground", arguments->options.foreground,
                  "Stay in the foreground and log to standard error");
  mount->add_flag("-v,--verbose", arguments->options.verbose, "Log more");
  return {mount,
          [arguments] { return RunMount(arguments->options, arguments->lists, RunBy::kPerson); }};
}

void AddMountPoint(CLI::App& command, std::string& mount_point) {
  command.add_option("MOUNT_POINT", mount_point, "Where it is mounted")
      ->type_name("MOUNT")
      ->required();
}

Command AddUmount(CLI::App& app) {
  const auto mount_point = std::make_shared<std::string>();
  CLI::App* umount = app.add_subcommand("umount", "Publish written chunks and unmount");
  umount->footer(kUmountExamples);
  AddMountPoint(*umount, *mount_point);
  return {umount, [mount_point] { return RunUmount(*mount_point); }};
}

Command AddFlush(CLI::App& app) {
  const auto mount_point = std::make_shared<std::string>();
  CLI::App* flush =
      app.add_subcommand("flush", "Wait until all written chunks are in their shards");
  flush->footer(kFlushExamples);
  AddMountPoint(*flush, *mount_point);
  return {flush, [mount_point] { return RunFlush(*mount_point); }};
}

Command AddStatus(CLI::App& app) {
  const auto command = std::make_shared<StatusCommand>();
  CLI::App* status = app.add_subcommand("status", "Say what a mount is doing");
  status->footer(kStatusExamples);
  AddMountPoint(*status, command->mount_point);
  CLI::Option* watch =
      status->add_flag("--watch", command->watch, "Repeat every second, until stopped");
  status->add_flag("--json", command->json, "One JSON object, for programs")->excludes(watch);
  return {status, [command] { return RunStatus(*command); }};
}

Command AddSpool(CLI::App& app) {
  const auto command = std::make_shared<SpoolCommand>();
  CLI::App* spool =
      app.add_subcommand("spool", "Inspect or publish chunks that mounts left in the spool");
  spool->footer(kSpoolExamples);
  spool->require_subcommand(1);
  const auto add = [&](SpoolCommand::Action action, const char* name, const char* description,
                       const char* example) {
    CLI::App* added = spool->add_subcommand(name, description);
    added->footer(std::string("Examples:\n  ") + example);
    added
        ->add_option("--spool", command->folder,
                     "Folder of spools, as given to mount with -o spool=")
        ->type_name("DIR");
    added->callback([command, action] { command->action = action; });
    return added;
  };
  CLI::App* list = add(SpoolCommand::Action::kList, "list", "List the spools and their chunks",
                       "unshard spool list -v segmentation");
  list->add_option("SOURCE", command->source, "Only spools of this source")->type_name(kPlace);
  list->add_flag("-v,--verbose", command->verbose, "List every chunk");
  add(SpoolCommand::Action::kPublish, "publish", "Publish the chunks that dead mounts left",
      "unshard spool publish segmentation")
      ->add_option("SOURCE", command->source, "As it was mounted")
      ->type_name(kPlace)
      ->required();
  CLI::App* copy = add(SpoolCommand::Action::kExport, "export", "Copy every chunk to plain files",
                       "unshard spool export saved segmentation");
  copy->add_option("DIRECTORY", command->directory, "Existing files are not overwritten")
      ->type_name("DIR")
      ->required();
  copy->add_option("SOURCE", command->source, "Only spools of this source")->type_name(kPlace);
  CLI::App* drop = add(SpoolCommand::Action::kDrop, "drop", "Remove quarantined chunks for good",
                       "unshard spool drop segmentation 8_8_8/0-64_0-64_0-64");
  drop->add_option("SOURCE", command->source, "As it was mounted")->type_name(kPlace)->required();
  drop->add_option("CHUNK", command->chunks, "As `unshard spool list -v` names it")
      ->type_name("NAME");
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
  info->footer(kInfoExamples);
  info->add_option("SOURCE", arguments->source,
                   "Directory or ZIP archive of a dataset, or above several; or its URL")
      ->type_name(kPlace)
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
  schema->footer(kSchemaExamples);
  schema
      ->add_option("SOURCE", arguments->source,
                   "Directory or ZIP archive of a dataset, or above several; or its URL")
      ->type_name(kPlace)
      ->required();
  schema
      ->add_option("ARRAY", arguments->array,
                   "Path of an array below SOURCE, or key of a scale; by default the array at "
                   "SOURCE, or its first scale")
      ->type_name("NAME");
  return {schema, [arguments] { return RunSchema(arguments->source, arguments->array); }};
}

// The items between the commas of an option's value; an item may not be empty.
std::vector<std::string> ItemsOf(const std::string& option, const std::string& value) {
  // It drops one empty item at the end.
  std::vector<std::string> items = CLI::detail::split(value + ',', ',');
  if (std::find(items.begin(), items.end(), "") != items.end()) {
    throw CLI::ValidationError(
        option, "expected values with one comma between them, found \"" + value + "\"");
  }
  return items;
}

// What describes a dataset that is to be created.
void AddCreateOptions(CLI::App& app, CreateCommand& command) {
  CLI::Option* format = app.add_option("--format", command.format, "The format of the new dataset")
                            ->type_name(Joined(FormatNames(), "|"));
  app.add_option("--like", command.like, "Copy the metadata of this dataset")
      ->type_name(kPlace)
      ->excludes(format);
  app.add_option("--schema", command.schema,
                 "A TensorStore Schema, which the other options are merged with and must not "
                 "contradict")
      ->type_name("FILE|JSON");
  const auto list = [&](const char* name, std::vector<std::string>& values, const char* text) {
    const auto take = [&values, name](const std::string& given) { values = ItemsOf(name, given); };
    app.add_option_function<std::string>(name, take, text)->type_name("LIST");
  };
  list("--shape", command.shape, "Extents; for a volume x,y,z or x,y,z,channels");
  list("--offset", command.offset, "The first voxel of a volume, as in --offset=-8,0,0");
  app.add_option("--dtype", command.dtype, "The data type, such as uint8, uint64 or float32")
      ->type_name(kDataType);
  list("--chunk", command.chunk,
       "Extents of chunks, or of the inner chunks of shards; 0: let unshard choose, -1: the whole "
       "axis");
  list(
      "--shard", command.shard,
      "Extents of shards (for a volume, the nearest possible), or about how many bytes of voxels a "
      "shard holds, as in 1GB or 512MiB, or auto (1GB); without it there are no shards");
  app.add_option(
         "--codec", command.codec,
         "raw, gzip, zstd, blosc and others, also with a level, as in zstd:5; for a volume raw, "
         "jpeg, jxl, png or compressed_segmentation; or the codec of a schema as JSON")
      ->type_name(kCodecName);
  app.add_option("--fill", command.fill, "The value of absent chunks (Zarr)")->type_name("VALUE");
  list("--axes", command.axes, "Names of the dimensions (Zarr v3, N5)");
  list("--resolution", command.resolution,
       "Size of a voxel along each dimension, in nanometres or with a unit (\"0.5 s\")");
  app.add_option("--ome", command.ome,
                 "Version of OME-Zarr of a pyramid; without it a copy keeps that of the source if "
                 "the format has it, and 0.4 or 0.5 are written")
      ->type_name("0.4|0.5|0.6");
  app.add_option("--scales", command.scales,
                 "Number of resolutions of the volume, or of levels of the pyramid")
      ->type_name("N");
  app.add_option("--factor", command.factors,
                 "How much coarser the next scale is, as in 2,2,1; repeat it for further scales; "
                 "without it 2 along x, y and z")
      ->type_name("LIST")
      ->allow_extra_args(false);
}

Command AddCreate(CLI::App& app) {
  const auto command = std::make_shared<CreateCommand>();
  CLI::App* create = app.add_subcommand("create", "Make a new dataset without chunks");
  create->footer(kCreateExamples);
  create->add_option("DESTINATION", command->destination, "A directory without a dataset, or a URL")
      ->type_name(kPlace)
      ->required();
  AddCreateOptions(*create, *command);
  return {create, [command] { return RunCreate(*command); }};
}

Command AddCopy(CLI::App& app) {
  const auto command = std::make_shared<CopyCommand>();
  CLI::App* copy = app.add_subcommand("copy", "Copy a dataset into another one, in any format");
  copy->footer(kCopyExamples);
  copy->add_option("SOURCE", command->source, "Directory or ZIP archive of a dataset, or its URL")
      ->type_name(kPlace)
      ->required();
  copy->add_option("DESTINATION", command->create.destination,
                   "A dataset of the same shape and data type, or a place for a new one, which is "
                   "made like SOURCE or as --format, --schema or --like say; or FILE.ozx, .zip")
      ->type_name(kPlace)
      ->required();
  copy->add_option("--exclude", command->exclude,
                   "Leave out this path below the source, such as labels; may be repeated")
      ->type_name("MEMBER")
      ->allow_extra_args(false);
  copy->add_flag("--verify", command->verify,
                 "Afterwards read both again and compare every voxel; on its own, if DESTINATION "
                 "exists, only compare and write nothing");
  copy->add_flag(
      "--delete", command->deletes,
      "Remove chunks of DESTINATION that SOURCE lacks; otherwise they are kept and counted");
  copy->add_flag("--replace", command->replaces,
                 "Copy also the chunks and files that DESTINATION has already; else they are "
                 "kept, without comparing them");
  copy->add_flag(
      "--strict", command->strict,
      "Copy nothing if the format cannot express an array; otherwise that array is left out");
  copy->add_flag("-n,--dry-run", command->dry_run,
                 "Print what would be written, and write nothing");
  copy->add_flag("-q,--quiet", command->quiet, "Show no plan and no progress");
  AddCreateOptions(*copy, command->create);
  return {copy, [command] { return RunCopy(*command); }};
}

Command AddList(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* list = app.add_subcommand("list", "List all mounts and their unpublished chunks");
  list->footer(kListExamples);
  list->add_flag("--json", *json, "One JSON object, for programs");
  return {list, [json] { return RunList(*json); }};
}

Command AddWhy(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  CLI::App* why = app.add_subcommand("why", "Say why the last request on a path failed");
  why->footer(kWhyExamples);
  why->add_option("PATH", *path, "A path in a mount; for a directory, everything below it too")
      ->type_name("MOUNT|FILE")
      ->required();
  return {why, [path] { return RunWhy(*path); }};
}

JsonValue Texts(const auto& texts) {
  JsonValue list = JsonValue::Array();
  for (const auto& text : texts) {
    list.mutable_items().push_back(JsonValue::String(std::string(text)));
  }
  return list;
}

// `values`: what it takes, as those of MountOption; `choices`: what a word in capitals of it stands
// for.
JsonValue Described(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  if (option.get_positional()) names.push_back(option.get_name(true));
  const std::string values = option.get_type_size() == 0 ? "" : option.get_type_name();
  const auto choices = values.starts_with(kDataType) ? AllDataTypeNames(DataTypeDialect::kNewZarr)
                       : values.starts_with(kCodecName) ? CodecNames()
                                                        : std::vector<std::string_view>();
  return JsonValue::Object({{"names", Texts(names)},
                            {"values", JsonValue::String(values)},
                            {"choices", Texts(choices)},
                            {"text", JsonValue::String(option.get_description())},
                            {"required", JsonValue::Boolean(option.get_required())},
                            {"repeats", JsonValue::Boolean(option.get_items_expected_max() > 1)}});
}

// A command with all that it takes, and its own commands.
JsonValue Described(const CLI::App& command) {
  JsonValue arguments = JsonValue::Array(), options = arguments, commands = arguments;
  for (const CLI::Option* option : command.get_options()) {
    JsonValue& list = option->get_positional() ? arguments : options;
    list.mutable_items().push_back(Described(*option));
  }
  for (const CLI::App* each : AllCommands(command)) {
    commands.mutable_items().push_back(Described(*each));
  }
  JsonValue row = JsonValue::Object({{"name", JsonValue::String(command.get_name())},
                                     {"text", JsonValue::String(command.get_description())},
                                     {"footer", JsonValue::String(command.get_footer())},
                                     {"arguments", std::move(arguments)},
                                     {"options", std::move(options)},
                                     {"commands", std::move(commands)}});
  if (command.check_name("mount")) row.Set("mount_options", MountOptionsJson());
  return row;
}

int Help(const CLI::App& app, const std::vector<std::string>& words, bool json) {
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
  std::cout << (json ? WriteJson(Described(*command)) + "\n"
                     : command->get_formatter()->make_help(command, name,
                                                           CLI::AppFormatMode::Normal));
  return 0;
}

Command AddHelp(CLI::App& app) {
  struct Arguments {
    std::vector<std::string> words;
    bool json = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* help = app.add_subcommand("help", "Explain a command");
  help->footer(kHelpExamples);
  help->add_option("COMMAND", arguments->words, "A command that `unshard --help` lists")
      ->type_name("COMMAND");
  help->add_flag("--json", arguments->json,
                 "The same as one JSON object, with what each option takes, for programs");
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
  app.footer(kProgramExamples);
  app.set_version_flag("--version", VersionText,
                       "Print the version, and which libraries this build has and lacks");
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
