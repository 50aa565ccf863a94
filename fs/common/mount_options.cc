#include "fs/common/mount_options.h"

#include <sys/stat.h>

#include <array>

#include "codec/core/escaped_text.h"
#include "codec/core/text.h"
#include "codec/json/json.h"
#include "codec/json/writer.h"
#include "codec/volume_file/volume_file.h"
#include "store/source/all_views.h"
#include "store/views/views.h"

namespace unshard {
namespace {

// Options that mount(8), fstab and systemd pass to every helper, and that have no effect here.
constexpr std::array<std::string_view, 16> kIgnored = {
    "defaults", "auto",   "noauto",   "user",  "nouser", "users", "owner",    "group",
    "_netdev",  "nofail", "_rnetdev", "async", "silent", "loud",  "relatime", "noatime"};
constexpr std::array<std::string_view, 8> kForKernel = {"nosuid", "suid", "nodev",   "dev",
                                                        "noexec", "exec", "dirsync", "sync"};

constexpr std::array<std::string_view, 5> kOwnerOptions = {"uid", "gid", "umask", "fmask", "dmask"};

constexpr double kMostSeconds = 86400.0 * 365;
constexpr std::uint64_t kMostSpoolFiles = std::uint64_t{1} << 32;
constexpr unsigned kMostPublishThreads = 64;

tl::unexpected<Error> BadValue(std::string_view name, std::string_view value,
                               std::string_view expected) {
  return Fail(ErrorCode::kInvalidArgument, "option " + std::string(name) + "=" +
                                               std::string(value) + ": expected " +
                                               std::string(expected));
}

tl::unexpected<Error> UnknownOption(std::string_view name) {
  return Fail(ErrorCode::kInvalidArgument,
              "option " + std::string(name) + ": unknown; see `unshard help mount`");
}

template <class T>
struct Choice {
  std::string_view name;
  T value;
};
constexpr std::array<Choice<ListMode>, 3> kListChoices = {
    {{"present", ListMode::kPresent}, {"grid", ListMode::kGrid}, {"none", ListMode::kNone}}};
constexpr std::array<Choice<MortonChoice>, 3> kMortonChoices = {
    {{"detect", MortonChoice::kDetect},
     {"standard", MortonChoice::kStandard},
     {"legacy", MortonChoice::kLegacy}}};
constexpr std::array<Choice<WatchMode>, 2> kWatchChoices = {
    {{"on", WatchMode::kAutomatic}, {"off", WatchMode::kOff}}};
constexpr std::array<Choice<SyncMode>, 2> kSyncChoices = {
    {{"spool", SyncMode::kSpool}, {"store", SyncMode::kStore}}};

template <class Choices, class T>
Status ApplyChoice(std::string_view name, std::string_view value, const Choices& choices,
                   T& target) {
  std::string expected;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].name == value) return void(target = choices[i].value), Status{};
    if (i > 0) expected += i + 1 < choices.size() ? ", " : " or ";
    expected += choices[i].name;
  }
  return BadValue(name, value, expected);
}

template <class Choices, class T>
JsonValue NameOfChoice(const Choices& choices, const T& value) {
  for (const auto& choice : choices) {
    if (choice.value == value) return JsonValue::String(std::string(choice.name));
  }
  return JsonValue();
}

Status ApplySeconds(std::string_view name, std::string_view value, std::uint64_t& milliseconds) {
  const auto seconds = ParseNumber<double>(value);
  if (!seconds || !(*seconds >= 0) || *seconds > kMostSeconds) {
    return BadValue(name, value, "a number of seconds");
  }
  milliseconds = static_cast<std::uint64_t>(*seconds * 1000);
  return {};
}

Status ApplyBytes(std::string_view name, std::string_view value, unsigned least_megabytes,
                  std::uint64_t& target) {
  const auto bytes = ParseByteCount(value);
  if (!bytes || *bytes < (std::uint64_t{least_megabytes} << 20)) {
    return BadValue(
        name, value,
        "a number of bytes of at least " + std::to_string(least_megabytes) + "M, for example 512M");
  }
  target = *bytes;
  return {};
}

template <class T>
Status ApplyCount(std::string_view name, std::string_view value, T most, T& target) {
  const auto count = ParseNumber<T>(value);
  if (!count || *count == 0 || *count > most) {
    return BadValue(name, value, "a number from 1 to " + std::to_string(most));
  }
  target = *count;
  return {};
}

Status ApplyOwnerValue(std::string_view name, std::string_view value, MountOptions& options) {
  if (name == "umask" || name == "fmask" || name == "dmask") {
    const auto mask = ParseNumber<std::uint32_t>(value, 8);
    if (!mask || *mask > 0777) return BadValue(name, value, "an octal mask up to 777");
    std::optional<mode_t>& target = name == "umask"   ? options.umask
                                    : name == "fmask" ? options.file_mask
                                                      : options.directory_mask;
    return void(target = *mask), Status{};
  }
  const auto id = ParseNumber<std::uint32_t>(value);
  if (!id) return BadValue(name, value, "a decimal number");
  (name == "uid" ? options.user : options.group) = *id;
  return {};
}

Status ApplyWritingValue(std::string_view name, std::string_view value, MountOptions& options) {
  if (name == "spool") {
    if (value.empty()) return BadValue(name, value, "a directory");
    return void(options.spool = value), Status{};
  }
  if (name == "spool_size") return ApplyBytes(name, value, 1, options.spool_bytes);
  if (name == "spool_files") return ApplyCount(name, value, kMostSpoolFiles, options.spool_files);
  if (name == "publish_after") {
    return ApplySeconds(name, value, options.publish_after_milliseconds);
  }
  if (name == "publish_threads") {
    return ApplyCount(name, value, kMostPublishThreads, options.publish_threads);
  }
  if (name == "sync") return ApplyChoice(name, value, kSyncChoices, options.sync);
  if (name == "shard") {
    auto shards = ParseShardTemplate(value);
    if (!shards) return BadValue(name, value, "extents, 256x256x512, or numbers of chunks, 8c");
    return void(options.shard = *std::move(shards)), Status{};
  }
  return UnknownOption(name);
}

// "npy:nii"; a comma would separate options.
Status ApplyFiles(std::string_view name, std::string_view value, MountOptions& options) {
  options.files.clear();
  for (std::string_view rest = value;;) {
    const std::size_t colon = rest.find(':');
    const std::string_view format = rest.substr(0, colon);
    if (FindVolumeFileFormat(format) == nullptr) {
      return BadValue(name, value, "some of npy, nii, nrrd and raw, with colons between them");
    }
    if (!IsOneOf(options.files, format)) options.files.emplace_back(format);
    if (colon == std::string_view::npos) return {};
    rest.remove_prefix(colon + 1);
  }
}

Status ApplyValue(std::string_view name, std::string_view value, MountOptions& options) {
  if (name == "view") {
    if (value != kAllViews && FindView(value) == nullptr) {
      return BadValue(name, value, ViewNames() + ", " + std::string(kAllViews));
    }
    return void(options.view = value), Status{};
  }
  if (name == "view_codec") {
    if (!FindViewCodec(value)) return BadValue(name, value, ViewCodecNames());
    return void(options.view_codec = value), Status{};
  }
  if (name == "files") return ApplyFiles(name, value, options);
  if (name == "lossy") {
    if (value != "yes" && value != "no") return BadValue(name, value, "yes, no");
    return void(options.lossy = value == "yes"), Status{};
  }
  if (name == "list") return ApplyChoice(name, value, kListChoices, options.list);
  if (name == "morton") return ApplyChoice(name, value, kMortonChoices, options.morton);
  if (name == "watch") return ApplyChoice(name, value, kWatchChoices, options.watch);
  if (name == "ttl") return ApplySeconds(name, value, options.ttl_milliseconds);
  if (name == "cache") {
    if (value.empty()) return BadValue(name, value, "a directory");
    return void(options.cache = value), Status{};
  }
  if (name == "cache_size") return ApplyBytes(name, value, 16, options.cache_bytes);
  if (name == "memory") return ApplyBytes(name, value, 16, options.memory_bytes);
  if (IsOneOf(kOwnerOptions, name)) {
    return ApplyOwnerValue(name, value, options);
  }
  return ApplyWritingValue(name, value, options);
}

Status ApplyWord(std::string_view word, MountOptions& options) {
  if (word.empty() || IsOneOf(kIgnored, word)) return {};
  if (word.starts_with("x-") || word.starts_with("X-") || word.starts_with("comment=")) return {};
  if (word == "immutable") return void(options.immutable = options.read_only = true), Status{};
  if (word == "ro") {
    options.read_only = true;
    options.must_write = false;
    return {};
  }
  if (word == "rw") {
    options.read_only = options.immutable;
    options.must_write = true;
    return {};
  }
  if (word == "strict") return void(options.strict = true), Status{};
  if (word == "single_writer") return void(options.single_writer = true), Status{};
  if (word == "anonymous") return void(options.anonymous = true), Status{};
  if (word == "allow_http") return void(options.allow_http = true), Status{};
  if (word == "allow_other") return void(options.allow_other = true), Status{};
  if (word == "no_io_uring") return void(options.no_io_uring = true), Status{};
  if (IsOneOf(kForKernel, word)) return options.kernel_options.emplace_back(word), Status{};
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) {
    return UnknownOption(word);
  }
  return ApplyValue(word.substr(0, equals), word.substr(equals + 1), options);
}

}  // namespace

Status ApplyOptionList(std::string_view list, MountOptions& options) {
  while (true) {
    const std::size_t comma = list.find(',');
    UNSHARD_RETURN_IF_ERROR(ApplyWord(list.substr(0, comma), options));
    if (comma == std::string_view::npos) return {};
    list.remove_prefix(comma + 1);
  }
}

mode_t PresentedMode(const MountOptions& options, bool directory, bool writable) {
  const auto& own = directory ? options.directory_mask : options.file_mask;
  const auto& mask = own ? own : options.umask;
  const mode_t readable = directory ? 0555 : 0444;
  const mode_t all = writable ? readable | 0222 : readable;
  return all & ~mask.value_or(S_IWGRP | S_IWOTH);
}

std::optional<std::uint64_t> ParseByteCount(std::string_view text) {
  unsigned shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K':
        shift = 10;
        break;
      case 'm':
      case 'M':
        shift = 20;
        break;
      case 'g':
      case 'G':
        shift = 30;
        break;
      default:
        break;
    }
    if (shift != 0) text.remove_suffix(1);
  }
  const auto number = ParseNumber<std::uint64_t>(text);
  if (!number || *number > (~std::uint64_t{0} >> shift)) return std::nullopt;
  return *number << shift;
}

std::string DescribeOptions(const MountOptions& options) {
  JsonValue object = JsonValue::Object();
  object.Set("source", JsonValue::String(EscapeBytes(options.source)));
  object.Set("mount_point", JsonValue::String(EscapeBytes(options.mount_point)));
  object.Set("read_only", JsonValue::Boolean(options.read_only));
  object.Set("list", NameOfChoice(kListChoices, options.list));
  object.Set("morton", NameOfChoice(kMortonChoices, options.morton));
  object.Set("watch", NameOfChoice(kWatchChoices, options.watch));
  object.Set("view", JsonValue::String(options.view));
  object.Set("view_codec", JsonValue::String(options.view_codec));
  JsonValue files = JsonValue::Array();
  for (const std::string& format : options.files) {
    files.mutable_items().push_back(JsonValue::String(format));
  }
  object.Set("files", std::move(files));
  object.Set("lossy", JsonValue::Boolean(options.lossy));
  object.Set("ttl_milliseconds", JsonValue::Number(options.ttl_milliseconds));
  object.Set("immutable", JsonValue::Boolean(options.immutable));
  object.Set("cache", JsonValue::String(EscapeBytes(options.cache)));
  object.Set("cache_bytes", JsonValue::Number(options.cache_bytes));
  object.Set("memory_bytes", JsonValue::Number(options.memory_bytes));
  const auto mask = [](const std::optional<mode_t>& given) {
    return given ? JsonValue::Number(std::uint64_t{*given}) : JsonValue();
  };
  object.Set("umask", mask(options.umask));
  object.Set("fmask", mask(options.file_mask));
  object.Set("dmask", mask(options.directory_mask));
  object.Set("allow_other", JsonValue::Boolean(options.allow_other));
  object.Set("spool", JsonValue::String(EscapeBytes(options.spool)));
  object.Set("spool_bytes", JsonValue::Number(options.spool_bytes));
  object.Set("spool_files", JsonValue::Number(options.spool_files));
  object.Set("publish_after_milliseconds", JsonValue::Number(options.publish_after_milliseconds));
  object.Set("publish_threads", JsonValue::Number(std::uint64_t{options.publish_threads}));
  object.Set("sync", NameOfChoice(kSyncChoices, options.sync));
  object.Set("strict", JsonValue::Boolean(options.strict));
  object.Set("shard", options.shard ? JsonValue::String(options.shard->text) : JsonValue());
  object.Set("single_writer", JsonValue::Boolean(options.single_writer));
  object.Set("anonymous", JsonValue::Boolean(options.anonymous));
  object.Set("allow_http", JsonValue::Boolean(options.allow_http));
  object.Set("no_io_uring", JsonValue::Boolean(options.no_io_uring));
  return WriteJson(object) + "\n";
}

}  // namespace unshard
