#include "fs/mount_options.h"

#include <array>
#include <charconv>

#include "codec/json.h"

namespace unshard {
namespace {

// What mount(8), fstab and systemd hand to every helper; none of it is ours to act on.
constexpr std::array<std::string_view, 18> kIgnored = {
    "defaults", "auto",     "noauto", "user", "nouser", "users",  "owner", "group",    "_netdev",
    "nofail",   "_rnetdev", "rw",     "ro",   "async",  "silent", "loud",  "relatime", "noatime"};
constexpr std::array<std::string_view, 8> kForKernel = {"nosuid", "suid", "nodev",   "dev",
                                                        "noexec", "exec", "dirsync", "sync"};

template <class List>
bool Contains(const List& list, std::string_view word) {
  for (const std::string_view entry : list) {
    if (entry == word) return true;
  }
  return false;
}

template <class T, class... Base>
std::optional<T> ParseNumber(std::string_view text, Base... base) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (code != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

tl::unexpected<Error> BadValue(std::string_view name, std::string_view value,
                               std::string_view expected) {
  return Fail(ErrorCode::kInvalidArgument, "option " + std::string(name) + "=" +
                                               std::string(value) + ": expected " +
                                               std::string(expected));
}

Status ApplyValue(std::string_view name, std::string_view value, MountOptions& options) {
  if (name == "list") {
    if (value == "present") return void(options.list = ListMode::kPresent), Status{};
    if (value == "grid") return void(options.list = ListMode::kGrid), Status{};
    if (value == "none") return void(options.list = ListMode::kNone), Status{};
    return BadValue(name, value, "present, grid or none");
  }
  if (name == "morton") {
    if (value == "detect") return void(options.morton = MortonChoice::kDetect), Status{};
    if (value == "standard") return void(options.morton = MortonChoice::kStandard), Status{};
    if (value == "legacy") return void(options.morton = MortonChoice::kLegacy), Status{};
    return BadValue(name, value, "detect, standard or legacy");
  }
  if (name == "watch") {
    if (value == "on") return void(options.watch = WatchMode::kAutomatic), Status{};
    if (value == "off") return void(options.watch = WatchMode::kOff), Status{};
    return BadValue(name, value, "on or off");
  }
  if (name == "ttl") {
    const auto seconds = ParseNumber<double>(value);
    if (!seconds || !(*seconds >= 0) || *seconds > 86400.0 * 365) {
      return BadValue(name, value, "a number of seconds");
    }
    options.ttl_milliseconds = static_cast<std::uint64_t>(*seconds * 1000);
    return {};
  }
  if (name == "memory") {
    const auto bytes = ParseByteCount(value);
    if (!bytes || *bytes < (std::uint64_t{16} << 20)) {
      return BadValue(name, value, "a number of bytes of at least 16M, for example 512M");
    }
    options.memory_bytes = *bytes;
    return {};
  }
  if (name == "uid" || name == "gid") {
    const auto id = ParseNumber<std::uint32_t>(value);
    if (!id) return BadValue(name, value, "a decimal number");
    if (name == "uid") options.user = *id;
    if (name == "gid") options.group = *id;
    return {};
  }
  if (name == "umask") {
    const auto mask = ParseNumber<std::uint32_t>(value, 8);
    if (!mask || *mask > 0777) return BadValue(name, value, "an octal mask up to 777");
    options.umask = *mask;
    return {};
  }
  return Fail(ErrorCode::kInvalidArgument, "unknown option " + std::string(name));
}

Status ApplyWord(std::string_view word, MountOptions& options) {
  if (word.empty() || Contains(kIgnored, word)) return {};
  if (word.starts_with("x-") || word.starts_with("X-") || word.starts_with("comment=")) return {};
  if (word == "immutable") return void(options.immutable = true), Status{};
  if (word == "allow_other") return void(options.allow_other = true), Status{};
  if (Contains(kForKernel, word)) return options.kernel_options.emplace_back(word), Status{};
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument, "unknown option " + std::string(word));
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
  const auto list_name = [&] {
    switch (options.list) {
      case ListMode::kPresent:
        return "present";
      case ListMode::kGrid:
        return "grid";
      case ListMode::kNone:
        return "none";
    }
    return "";
  };
  const auto morton_name = [&] {
    switch (options.morton) {
      case MortonChoice::kDetect:
        return "detect";
      case MortonChoice::kStandard:
        return "standard";
      case MortonChoice::kLegacy:
        return "legacy";
    }
    return "";
  };
  JsonValue object = JsonValue::Object();
  object.Set("source", JsonValue::String(options.source));
  object.Set("mount_point", JsonValue::String(options.mount_point));
  object.Set("read_only", JsonValue::Boolean(true));
  object.Set("list", JsonValue::String(list_name()));
  object.Set("morton", JsonValue::String(morton_name()));
  object.Set("watch", JsonValue::String(options.watch == WatchMode::kAutomatic ? "on" : "off"));
  object.Set("ttl_milliseconds", JsonValue::Number(options.ttl_milliseconds));
  object.Set("immutable", JsonValue::Boolean(options.immutable));
  object.Set("memory_bytes", JsonValue::Number(options.memory_bytes));
  object.Set("umask", JsonValue::Number(std::uint64_t{options.umask}));
  object.Set("allow_other", JsonValue::Boolean(options.allow_other));
  return WriteJson(object) + "\n";
}

}  // namespace unshard
