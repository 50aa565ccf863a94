#include "fs/common/mount_options.h"

#include <sys/stat.h>

#include <array>

#include "codec/core/escaped_text.h"
#include "codec/core/text.h"
#include "codec/json/writer.h"
#include "fs/common/option_table.h"
#include "fs/common/readable.h"

namespace unshard {
namespace {

// Options that mount(8), fstab and systemd pass to every helper, and that have no effect here.
constexpr std::array<std::string_view, 19> kIgnored = {
    "defaults", "auto",    "noauto",     "user",        "nouser",  "users",  "owner",
    "group",    "_netdev", "nofail",     "_rnetdev",    "async",   "silent", "loud",
    "relatime", "noatime", "nodiratime", "strictatime", "lazytime"};
constexpr std::array<std::string_view, 8> kForKernel = {"nosuid", "suid", "nodev",   "dev",
                                                        "noexec", "exec", "dirsync", "sync"};

tl::unexpected<Error> UnknownOption(std::string_view name) {
  std::vector<std::string_view> names;
  for (const MountOption& option : MountOptionTable()) names.push_back(option.name);
  return Fail(ErrorCode::kInvalidArgument, "option ", name, ": unknown", DidYouMean(name, names),
              "; see `unshard help mount`");
}

Status ApplyWord(std::string_view word, MountOptions& options) {
  word = Trimmed(word);  // people type a space after a comma
  if (word.empty() || IsOneOf(kIgnored, word)) return {};
  if (word.starts_with("x-") || word.starts_with("X-") || word.starts_with("comment=")) return {};
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const bool has_value = equals != std::string_view::npos;
  // "sync" without a value is the kernel's.
  if (!has_value && IsOneOf(kForKernel, word)) {
    return options.kernel_options.emplace_back(word), Status{};
  }
  const MountOption* option = FindMountOption(name);
  if (option == nullptr) return UnknownOption(name);
  if (option->takes_value() == has_value) {
    return option->apply(*option, has_value ? word.substr(equals + 1) : "", options);
  }
  return Fail(ErrorCode::kInvalidArgument, "option ", word, ": expected ", name,
              has_value ? " without a value" : "=" + std::string(option->values));
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

bool HasMasks(const MountOptions& options) {
  return options.umask || options.file_mask || options.directory_mask;
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
  for (const MountOption& option : MountOptionTable()) {
    if (option.describe != nullptr) {
      object.Set(std::string(option.member), option.describe(options));
    }
  }
  return WriteJson(object) + "\n";
}

}  // namespace unshard
