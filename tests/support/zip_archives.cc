#include "tests/support/zip_archives.h"

#include <fstream>
#include <iterator>

#include "codec/codecs/deflate.h"
#include "codec/codecs/gzip.h"
#include "store/zip/zip_records.h"
#include "tests/support/folders.h"

namespace unshard {

std::string ZipOf(const std::vector<ZipFile>& files, std::string_view comment) {
  constexpr std::size_t kGzipHeader = 10, kGzipTrailer = 8;
  ByteVector archive, records;
  for (const ZipFile& file : files) {
    ZipRecord entry;
    entry.name = file.name;
    entry.size = file.text.size();
    entry.crc = DeflateInUse().crc32(0, AsBytes(file.text));
    entry.offset = archive.size();
    ByteVector stored(AsBytes(file.text).begin(), AsBytes(file.text).end());
    if (file.is_deflated) {
      entry.method = static_cast<std::uint16_t>(ZipMethod::kDeflated);
      const ByteVector member = GzipEncode(AsBytes(file.text));
      stored.assign(member.begin() + kGzipHeader, member.end() - kGzipTrailer);
    }
    entry.stored_bytes = stored.size();
    AppendZipLocalHeader(archive, entry);
    archive.insert(archive.end(), stored.begin(), stored.end());
    AppendZipRecord(records, entry);
  }
  ZipEnd end;
  end.directory = {archive.size(), records.size()};
  end.entries = files.size();
  end.comment = comment;
  archive.insert(archive.end(), records.begin(), records.end());
  AppendZipEnd(archive, end);
  return std::string(AsText(archive));
}

std::string ZipVector(const std::string& name) {
  std::ifstream file(SourceFolder() + "/tests/fuzz/corpus/zip_directory/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace unshard
