// Arbitrary bytes as a ZIP archive: what is accepted keeps its promises, and its entries can be
// read.
#include "store/zip/zip_directory.h"

#include <algorithm>
#include <string>

#include "store/object/key.h"
#include "tests/fuzz/fuzz_targets.h"

namespace unshard {
namespace {

Result<ZipDirectory> DirectoryIn(ByteSpan archive, const ZipEnd& end, std::size_t piece) {
  UNSHARD_ASSIGN_OR_RETURN(auto reader, ZipDirectoryReader::Begin(end));
  ByteSpan rest = archive.subspan(end.directory.begin, end.directory.size);
  while (!rest.empty()) {
    const std::size_t size = std::min(piece, rest.size());
    UNSHARD_RETURN_IF_ERROR(reader.Add(rest.first(size)));
    rest = rest.subspan(size);
  }
  return reader.Finish();
}

void CheckListing(const ZipDirectory& directory, const std::string& key) {
  std::size_t visited = 0;
  directory.ListFrom(key, 0, [&](const ListEntry& entry) {
    const std::string below = JoinPath(key, entry.name);
    Require(!entry.name.empty() && entry.name.find('/') == entry.name.npos, "names are names");
    Require(CheckKey(below).has_value(), "entries have keys");
    const bool is_file = entry.kind == ObjectInfo::Kind::kFile;
    Require(directory.Find(below).has_value() == is_file, "a file of a listing is found");
    Require(directory.IsDirectory(below) != is_file, "and so is a directory");
    return ++visited <= directory.size();
  });
  Require(visited <= directory.size(), "a listing is no longer than the directory");
}

}  // namespace

void FuzzZipDirectory(ByteSpan input) {
  const auto end = ParseZipEnd(input, input.size());
  if (!end) return;
  Require(MakeByteRange(end->directory.begin, end->directory.size, input.size()).has_value(),
          "the directory lies in the archive");
  const auto directory = DirectoryIn(input, *end, input.size());
  const auto again = DirectoryIn(input, *end, 7);
  Require(directory.has_value() == again.has_value(), "pieces make no difference");
  if (!directory) return;
  Require(directory->size() == again->size(), "pieces make no difference");
  CheckListing(*directory, "");
  for (std::size_t i = 0; i < directory->size(); ++i) {
    const ZipDirectory::Entry& entry = directory->entry(i);
    Require(entry.offset + kZipLocalHeaderBytes + entry.stored_bytes <= input.size(),
            "entries lie in the archive");
    (void)ParseZipLocalHeader(input.subspan(entry.offset));
    const std::string name(directory->NameOf(entry));
    CheckListing(*directory, ParentPath(name));
    if (!entry.is_directory) Require(directory->Find(name) == i, "entries are found");
  }
}

}  // namespace unshard
