#include "store/local/file_system.h"

#include <algorithm>

#include "codec/core/checksum.h"
#include "store/object/object_store.h"

namespace unshard {

Result<std::uint32_t> ReadWithChecksum(File& file, const ByteRange& range, std::uint32_t sum,
                                       const PieceVisitor& visit) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  // Not filled with zeros before, as a vector would be.
  const auto buffer = std::make_unique_for_overwrite<std::uint8_t[]>(
      static_cast<std::size_t>(std::min(range.size, kPiece)));
  for (std::uint64_t done = 0; done < range.size;) {
    const std::span piece(buffer.get(),
                          static_cast<std::size_t>(std::min(range.size - done, kPiece)));
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t found, file.Read(range.begin + done, piece));
    if (found < piece.size()) {
      return Fail(ErrorCode::kDataLoss, "a file ends early: expected ", range.size,
                  " bytes, found ", done + found);
    }
    sum = ExtendChecksum(sum, piece);
    if (visit) UNSHARD_RETURN_IF_ERROR(visit(done, piece));
    done += found;
  }
  return sum;
}

Status FileSystem::SyncAll() {
  return Fail(ErrorCode::kNotSupported, Describe(""), ": cannot be synced as a whole");
}

Status MakeDirectories(FileSystem& files, const std::string& path) {
  UNSHARD_RETURN_IF_ERROR(CheckKey(path));
  std::string parent;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    UNSHARD_RETURN_IF_ERROR(files.MakeDirectory(path.substr(0, end)));
    // Also where it was there: the process that made it may have died before it was durable.
    UNSHARD_RETURN_IF_ERROR(files.SyncDirectory(parent));
    parent = path.substr(0, end);
    begin = end + 1;
  }
  return {};
}

Result<std::vector<std::string>> SortedNames(FileSystem& files, const std::string& directory) {
  std::vector<std::string> names;
  UNSHARD_RETURN_IF_ERROR(files.List(directory, [&](std::string_view name) {
    names.emplace_back(name);
    return true;
  }));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace unshard
