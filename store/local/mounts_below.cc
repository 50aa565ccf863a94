#include "store/local/mounts_below.h"

#include <fcntl.h>

#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "codec/core/text.h"

namespace unshard {
namespace {

constexpr const char* kTable = "/proc/self/mountinfo";

// Separators, and the escape itself, are three octal digits there.
std::string Escaped(std::string_view path) {
  std::string escaped;
  for (const char c : path) {
    if (c != ' ' && c != '\t' && c != '\n' && c != '\\') {
      escaped += c;
      continue;
    }
    for (const int shift : {6, 3, 0}) {
      if (shift == 6) escaped += '\\';
      escaped += static_cast<char>('0' + (static_cast<unsigned char>(c) >> shift & 7));
    }
  }
  return escaped;
}

bool IsMountedIn(std::string_view point, std::string_view directory) {
  if (!point.starts_with(directory)) return false;
  return directory == "/" || point.size() == directory.size() || point[directory.size()] == '/';
}

// A path as the table spells it, opened without a request to what is mounted there.
FileDescriptor OpenPlace(std::string_view escaped) {
  std::string path;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] != '\\' || escaped.size() - i < 4) {
      path += escaped[i];
      continue;
    }
    const auto code = ParseNumber<unsigned>(escaped.substr(i + 1, 3), 8);
    path += static_cast<char>(code.value_or(0));
    i += 3;
  }
  return FileDescriptor(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

MountsBelow::MountsBelow(const std::string& directory, std::shared_ptr<const OwnMount> own)
    : directory_(Escaped(directory)),
      own_(std::move(own)),
      table_(::open(kTable, O_RDONLY | O_CLOEXEC)),
      mounts_(Read()) {}

// The first five words of a line say which mount it is, of which device and directory, and where.
// The type stands behind a dash.
std::vector<std::string> MountsBelow::Read() const {
  std::vector<std::string> found;
  std::ifstream table(kTable);
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, point;
    if (!(words >> id >> parent >> device >> root >> point)) continue;
    if (!IsMountedIn(point, directory_)) continue;
    const bool is_fuse = line.find(" - fuse") != line.npos;
    if (is_fuse && own_ && own_->Holds(OpenPlace(point).get())) continue;
    found.push_back(id + ' ' + device + ' ' + root + ' ' + point);
  }
  return found;
}

bool MountsBelow::Changed() {
  std::vector<std::string> now = Read();
  const bool changed = now != mounts_;
  mounts_ = std::move(now);
  return changed;
}

}  // namespace unshard
