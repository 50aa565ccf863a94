#include "store/zip/zip_directory.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "codec/core/escaped_text.h"

namespace unshard {
namespace {

constexpr std::size_t kMostRecordBytes = kZipRecordBytes + 3 * 0xFFFF;

// '/' is before all other bytes.
bool NameIsBefore(std::string_view a, std::string_view b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (in_a == a.end() || in_b == b.end()) return a.size() < b.size();
  if (*in_a == '/' || *in_b == '/') return *in_a == '/';
  return static_cast<unsigned char>(*in_a) < static_cast<unsigned char>(*in_b);
}

std::string WithSlash(std::string_view key) { return std::string(key) + '/'; }

// A name as a key: programs of Windows may have written '\', others begin with "./".
std::string KeyOf(std::string_view name) {
  std::string key(name);
  std::replace(key.begin(), key.end(), '\\', '/');
  while (key.starts_with("./")) key.erase(0, 2);
  return key;
}

tl::unexpected<Error> WrongEntry(std::string_view name, std::string_view what) {
  return Fail(ErrorCode::kDataLoss, "the entry '", Printable(std::string(name)), "': ", what);
}

}  // namespace

std::size_t ZipDirectory::LowerBound(std::string_view name, std::size_t from) const {
  const auto found = std::lower_bound(
      entries_.begin() + static_cast<std::ptrdiff_t>(from), entries_.end(), name,
      [&](const Entry& entry, std::string_view than) { return NameIsBefore(NameOf(entry), than); });
  return static_cast<std::size_t>(found - entries_.begin());
}

std::size_t ZipDirectory::EndOf(std::string_view directory, std::size_t from) const {
  // Most directories of a listing hold one entry or many: doubling steps find both soon.
  std::size_t step = 1, begin = from;
  while (begin + step < entries_.size() && NameOf(entries_[begin + step]).starts_with(directory)) {
    begin += step;
    step *= 2;
  }
  const auto first = entries_.begin();
  const auto last = first + static_cast<std::ptrdiff_t>(std::min(begin + step, entries_.size()));
  return static_cast<std::size_t>(
      std::partition_point(
          first + static_cast<std::ptrdiff_t>(begin), last,
          [&](const Entry& entry) { return NameOf(entry).starts_with(directory); }) -
      first);
}

std::optional<std::size_t> ZipDirectory::Find(std::string_view key) const {
  const std::size_t found = LowerBound(key);
  if (found == entries_.size() || NameOf(entries_[found]) != key) return std::nullopt;
  return found;
}

bool ZipDirectory::IsDirectory(std::string_view key) const {
  if (key.empty()) return true;
  const std::string below = WithSlash(key);
  const std::size_t found = LowerBound(below);
  return found < entries_.size() && NameOf(entries_[found]).starts_with(below);
}

// `resume` is the number after that of the entry, or of the last one below a directory.
void ZipDirectory::ListFrom(std::string_view key, std::uint64_t resume,
                            const ObjectStore::ListVisitor& visitor) const {
  const std::string above = key.empty() ? std::string() : WithSlash(key);
  std::size_t at = std::max(static_cast<std::size_t>(std::min<std::uint64_t>(resume, size())),
                            LowerBound(above));
  while (at < entries_.size()) {
    const std::string_view name = NameOf(entries_[at]);
    if (!name.starts_with(above)) return;
    const std::string_view below = name.substr(above.size());
    const std::size_t slash = below.find('/');
    if (below.empty()) {  // the directory itself
      ++at;
      continue;
    }
    const bool is_directory = slash != std::string_view::npos;
    at = is_directory ? EndOf(name.substr(0, above.size() + slash + 1), at) : at + 1;
    const auto kind = is_directory ? ObjectInfo::Kind::kDirectory : ObjectInfo::Kind::kFile;
    if (!visitor({below.substr(0, slash), kind, at})) return;
  }
}

Result<ZipDirectoryReader> ZipDirectoryReader::Begin(const ZipEnd& end) {
  const std::uint64_t bytes = end.directory.size;
  if (bytes > kMostBytes || end.entries > kMostEntries) {
    return Fail(ErrorCode::kResourceExhausted, "the archive has ", end.entries, " entries in ",
                bytes, " bytes of records; expected at most ", kMostEntries, " in ", kMostBytes,
                ": store the arrays in shards");
  }
  ZipDirectoryReader reader(end);
  reader.directory_.entries_.reserve(static_cast<std::size_t>(end.entries));
  return reader;
}

Status ZipDirectoryReader::Add(ByteSpan piece) {
  // A record that began in the piece before: few of its bytes are missing.
  while (!rest_.empty() && !piece.empty()) {
    const std::size_t more = std::min(piece.size(), kMostRecordBytes);
    const std::size_t before = rest_.size();
    rest_.insert(rest_.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(more));
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t taken, Take(rest_));
    if (taken < before) {  // not whole yet: all of the piece is in it
      rest_.erase(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(taken));
      return {};
    }
    piece = piece.subspan(taken - before);
    rest_.clear();
  }
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t taken, Take(piece));
  rest_.assign(piece.begin() + static_cast<std::ptrdiff_t>(taken), piece.end());
  return {};
}

Result<std::size_t> ZipDirectoryReader::Take(ByteSpan bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    auto parsed = ParseZipRecord(bytes.subspan(at));
    if (!parsed) return Forward(std::move(parsed).error(), "entry " + std::to_string(records_));
    if (!*parsed) break;
    UNSHARD_RETURN_IF_ERROR(AddRecord((*parsed)->record));
    at += (*parsed)->bytes;
  }
  return at;
}

Status ZipDirectoryReader::AddRecord(const ZipRecord& record) {
  if (++records_ > kMostEntries) {
    return Fail(ErrorCode::kResourceExhausted, "the archive has more than ", kMostEntries,
                " entries: store the arrays in shards");
  }
  std::string key = KeyOf(record.name);
  const bool is_directory = key.ends_with('/');
  if (key.empty()) {
    if (!record.name.empty()) return {};  // "./"
    return WrongEntry(record.name, "expected a name");
  }
  const std::string_view path =
      std::string_view(key).substr(0, key.size() - (is_directory ? 1 : 0));
  if (path.empty() || !CheckKey(path)) {
    return WrongEntry(record.name, "expected a relative path without '.' and '..'");
  }
  const auto offset = CheckedAdd(record.offset, end_.prepended);
  const auto begin = offset ? CheckedAdd(*offset, kZipLocalHeaderBytes) : offset;
  if (!begin || !MakeByteRange(*begin, record.stored_bytes, end_.directory.begin)) {
    return WrongEntry(record.name, "expected to lie before the central directory");
  }
  if (record.method == static_cast<std::uint16_t>(ZipMethod::kStored) && !record.is_encrypted() &&
      record.stored_bytes != record.size) {
    return WrongEntry(record.name, "is stored, but its two sizes differ");
  }
  std::string& names = directory_.names_;
  directory_.entries_.push_back({*offset, record.stored_bytes, record.size, record.crc,
                                 static_cast<std::uint32_t>(names.size()),
                                 static_cast<std::uint16_t>(key.size()), record.method,
                                 record.is_encrypted(), is_directory});
  names += key;
  return {};
}

// Names follow one another in order: what is below a file would come next.
Status ZipDirectoryReader::CheckNames() const {
  const auto& entries = directory_.entries_;
  for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
    if (entries[i].is_directory) continue;
    const std::string_view name = directory_.NameOf(entries[i]);
    const std::string_view next = directory_.NameOf(entries[i + 1]);
    if (next.size() > name.size() && next[name.size()] == '/' && next.starts_with(name)) {
      return WrongEntry(name, "is a file, but others lie below it");
    }
  }
  return {};
}

Result<ZipDirectory> ZipDirectoryReader::Finish() {
  // Without ZIP64 some writers count modulo 2^16.
  const bool counts =
      records_ == end_.entries || (end_.entries <= 0xFFFF && (records_ & 0xFFFF) == end_.entries);
  if (!rest_.empty() || !counts) {
    return Fail(ErrorCode::kDataLoss, "the central directory has ", records_, " whole records of ",
                end_.entries);
  }
  auto& entries = directory_.entries_;
  const auto before = [&](const ZipDirectory::Entry& a, const ZipDirectory::Entry& b) {
    const std::string_view name = directory_.NameOf(a), other = directory_.NameOf(b);
    if (name != other) return NameIsBefore(name, other);
    return a.name > b.name;  // the last one first
  };
  if (!std::is_sorted(entries.begin(), entries.end(), before)) {
    std::sort(entries.begin(), entries.end(), before);
  }
  entries.erase(std::unique(entries.begin(), entries.end(),
                            [&](const ZipDirectory::Entry& a, const ZipDirectory::Entry& b) {
                              return directory_.NameOf(a) == directory_.NameOf(b);
                            }),
                entries.end());
  entries.shrink_to_fit();
  directory_.names_.shrink_to_fit();
  UNSHARD_RETURN_IF_ERROR(CheckNames());
  return std::move(directory_);
}

}  // namespace unshard
