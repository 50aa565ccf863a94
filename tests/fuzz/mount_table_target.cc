// Arbitrary bytes as the kernel's table of mounts: what is accepted is written back as the kernel
// writes it, and read again as the same.
#include "store/local/mount_table.h"

#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view(" \t\n\\#").find(c) == std::string_view::npos) {
      escaped += c;
      continue;
    }
    const auto code = static_cast<unsigned char>(c);
    escaped += '\\';
    for (const int shift : {6, 3, 0}) escaped += static_cast<char>('0' + (code >> shift & 7));
  }
  return escaped;
}

std::string LineOf(const MountEntry& entry) {
  std::string line = std::to_string(entry.id) + " 1 " + std::to_string(entry.major) + ':' +
                     std::to_string(entry.minor) + ' ' + Escaped(entry.root) + ' ' +
                     Escaped(entry.mount_point) + (entry.read_only ? " ro" : " rw") +
                     (entry.shared ? " shared:1" : "") + " - " + entry.type + ' ' +
                     Escaped(entry.source) + ' ';
  for (std::size_t i = 0; i < entry.file_system_options.size(); ++i) {
    line += (i > 0 ? "," : "") + entry.file_system_options[i];
  }
  return line + '\n';
}

}  // namespace

void FuzzMountTable(ByteSpan input) {
  const std::vector<MountEntry> table = ParseMountTable(AsText(input));
  std::string text;
  for (const MountEntry& entry : table) text += LineOf(entry);
  Require(ParseMountTable(text) == table, "a table is read as it is written");
  for (const MountEntry& entry : table) {
    const auto top = TopMountAt(table, entry.mount_point);
    Require(top && top->mount_point == entry.mount_point, "each mount point has a mount on top");
    if (!entry.mount_point.starts_with('/')) continue;
    Require(MountHolding(table, entry.mount_point) == top, "a mount point is in its own mount");
    Require(IsInside(table, entry.mount_point, entry.mount_point), "a path is inside itself");
    Require(IsInside(table, entry.mount_point, "/"), "everything is inside the root");
  }
}

}  // namespace unshard
