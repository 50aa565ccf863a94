#include "store/local/mount_table.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "codec/core/text.h"
#include "store/object/key.h"

namespace unshard {
namespace {

// Fields are separated by exactly one separator: the source of a mount may be an empty field.
std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

// The kernel writes blanks, line breaks, backslashes and '#' as a backslash and three octal digits.
std::string Unescaped(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const auto code = text.front() == '\\' && text.size() >= 4
                          ? ParseNumber<std::uint8_t>(text.substr(1, 3), 8)
                          : std::nullopt;
    plain += code ? static_cast<char>(*code) : text.front();
    text.remove_prefix(code ? 4 : 1);
  }
  return plain;
}

// 36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//  0  1  2     3       4            5     any number  -  +1     +2          +3
std::optional<MountEntry> ParseLine(std::string_view line) {
  const std::vector<std::string_view> fields = Split(line, ' ');
  constexpr std::ptrdiff_t kOptional = 6;
  if (fields.size() <= kOptional) return std::nullopt;
  const auto dash = std::find(fields.begin() + kOptional, fields.end(), "-");
  if (fields.end() - dash < 4) return std::nullopt;
  const std::vector<std::string_view> device = Split(fields[2], ':');
  if (device.size() != 2) return std::nullopt;
  const auto id = ParseNumber<std::uint64_t>(fields[0]);
  const auto major = ParseNumber<unsigned>(device[0]);
  const auto minor = ParseNumber<unsigned>(device[1]);
  if (!id || !major || !minor) return std::nullopt;
  MountEntry entry;
  entry.id = *id;
  entry.major = *major;
  entry.minor = *minor;
  entry.root = Unescaped(fields[3]);
  entry.mount_point = Unescaped(fields[4]);
  entry.type = dash[1];
  entry.source = Unescaped(dash[2]);
  for (const std::string_view option : Split(dash[3], ',')) {
    entry.file_system_options.emplace_back(option);
  }
  entry.read_only =
      IsOneOf(Split(fields[5], ','), "ro") || IsOneOf(entry.file_system_options, "ro");
  entry.shared = std::any_of(fields.begin() + kOptional, dash,
                             [](std::string_view field) { return field.starts_with("shared:"); });
  return entry;
}

// IsAtOrBelow of absolute paths: everything is below "/".
bool IsAtOrBelowAbsolute(std::string_view path, std::string_view directory) {
  return IsAtOrBelow(path, directory == "/" ? "" : directory);
}

// A path in a mount, by its path from the root of the file system.
std::string PathInside(const MountEntry& mount, std::string_view path) {
  const std::size_t above = mount.mount_point == "/" ? 0 : mount.mount_point.size();
  return (mount.root == "/" ? "" : mount.root) + std::string(path.substr(above));
}

}  // namespace

std::vector<MountEntry> ParseMountTable(std::string_view text) {
  std::vector<MountEntry> table;
  for (const std::string_view line : Split(text, '\n')) {
    if (auto entry = ParseLine(line)) table.push_back(*std::move(entry));
  }
  return table;
}

Result<std::vector<MountEntry>> ReadMountTable(const std::string& process) {
  const std::string path = process + "/mountinfo";
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    return Fail(ErrorCode::kUnavailable, path, ": cannot be read; mount /proc first");
  }
  return ParseMountTable(text.str());
}

std::optional<MountEntry> TopMountAt(const std::vector<MountEntry>& table, std::string_view path) {
  for (auto entry = table.rbegin(); entry != table.rend(); ++entry) {
    if (entry->mount_point == path) return *entry;
  }
  return std::nullopt;
}

std::optional<MountEntry> MountHolding(const std::vector<MountEntry>& table,
                                       std::string_view path) {
  for (std::string_view above = path; !above.empty();) {
    if (auto entry = TopMountAt(table, above)) return entry;
    const std::size_t slash = above.rfind('/');
    if (above == "/" || slash == std::string_view::npos) break;
    above = slash == 0 ? "/" : above.substr(0, slash);
  }
  return std::nullopt;
}

bool IsInside(const std::vector<MountEntry>& table, std::string_view path,
              std::string_view directory) {
  if (IsAtOrBelowAbsolute(path, directory)) return true;
  const auto outer = MountHolding(table, directory);
  const auto inner = MountHolding(table, path);
  if (!outer || !inner || !outer->is_on_device_of(*inner)) return false;
  return IsAtOrBelowAbsolute(PathInside(*inner, path), PathInside(*outer, directory));
}

}  // namespace unshard
