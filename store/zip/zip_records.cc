#include "store/zip/zip_records.h"

#include <algorithm>

namespace unshard {
namespace {

constexpr std::uint32_t kLocalSignature = 0x04034B50;
constexpr std::uint32_t kRecordSignature = 0x02014B50;
constexpr std::uint32_t kEndSignature = 0x06054B50;
constexpr std::uint32_t kEnd64Signature = 0x06064B50;
constexpr std::uint32_t kLocatorSignature = 0x07064B50;

constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kLocatorBytes = 20;
constexpr std::uint16_t kZip64Extra = 0x0001;
// A number that stands in a ZIP64 field instead.
constexpr std::uint64_t kIn64 = 0xFFFFFFFF;
constexpr std::uint16_t kIn64Short = 0xFFFF;

constexpr std::uint16_t kPlainVersion = 20;  // needed to extract: directories
constexpr std::uint16_t kZip64Version = 45;
constexpr std::uint16_t kMadeOnUnix = 3 << 8;
constexpr std::uint16_t kUtf8Name = 1 << 11;
constexpr std::uint16_t kDate = 1 << 5 | 1;  // 1980-01-01, the first there is
constexpr std::uint32_t kAttributes = std::uint32_t{0100644} << 16;  // a file, rw-r--r--

std::uint16_t U16(const std::uint8_t* at) { return LoadLe<std::uint16_t>(at); }

bool Begins(ByteSpan bytes, std::uint32_t signature) {
  return bytes.size() >= sizeof signature && LoadU32Le(bytes.data()) == signature;
}

tl::unexpected<Error> Damaged(const char* what) { return Fail(ErrorCode::kDataLoss, what); }

tl::unexpected<Error> InParts() {
  return Fail(ErrorCode::kNotSupported,
              "the ZIP archive is split into several files; expected a whole archive");
}

// Where the end record begins in `tail`. Its comment ends with the archive: a comment may hold the
// signature.
std::optional<std::size_t> FindEnd(ByteSpan tail) {
  for (std::size_t comment = 0;
       comment <= kMostZipCommentBytes && comment + kZipEndBytes <= tail.size(); ++comment) {
    const std::size_t at = tail.size() - kZipEndBytes - comment;
    const ByteSpan end = tail.subspan(at);
    if (Begins(end, kEndSignature) && U16(end.data() + 20) == comment) return at;
  }
  return std::nullopt;
}

// The numbers of either end record, as it states them.
struct Stated {
  std::uint64_t entries = 0;
  std::uint64_t directory_size = 0;
  std::uint64_t directory_offset = 0;
  std::size_t end = 0;  // where the directory ends in the tail
};

// The end record of ZIP64 stands before its locator, where the end record needs them.
Result<Stated> ReadEnd64(ByteSpan tail, std::size_t end, std::uint64_t tail_begin) {
  const ByteSpan locator = tail.subspan(end - kLocatorBytes, kLocatorBytes);
  if (LoadU32Le(locator.data() + 16) > 1) return InParts();
  const std::uint64_t stated_at = LoadU64Le(locator.data() + 8);
  std::size_t at = 0;
  const auto in_tail = [&](std::uint64_t offset) {
    if (offset < tail_begin || offset - tail_begin > tail.size()) return false;
    at = static_cast<std::size_t>(offset - tail_begin);
    return Begins(tail.subspan(at), kEnd64Signature) && tail.size() - at >= kEnd64Bytes;
  };
  // Where bytes are prepended the locator's offset is short; the record rarely has an extension.
  const std::uint64_t before = tail_begin + end - kLocatorBytes;
  if (!in_tail(stated_at) && !(before >= kEnd64Bytes && in_tail(before - kEnd64Bytes))) {
    return Damaged("expected an end record of ZIP64 before its locator");
  }
  const std::uint8_t* record = tail.data() + at;
  if (LoadU32Le(record + 16) != 0 || LoadU32Le(record + 20) != 0) return InParts();
  if (LoadU64Le(record + 24) != LoadU64Le(record + 32)) return InParts();
  return Stated{LoadU64Le(record + 32), LoadU64Le(record + 40), LoadU64Le(record + 48), at};
}

Result<Stated> ReadEnd(ByteSpan tail, std::size_t at, std::uint64_t tail_begin) {
  const std::uint8_t* record = tail.data() + at;
  const Stated stated{U16(record + 10), LoadU32Le(record + 12), LoadU32Le(record + 16), at};
  const bool in_64 = stated.entries == kIn64Short || stated.directory_size == kIn64 ||
                     stated.directory_offset == kIn64;
  if (in_64 && at >= kLocatorBytes && Begins(tail.subspan(at - kLocatorBytes), kLocatorSignature)) {
    return ReadEnd64(tail, at, tail_begin);
  }
  if (U16(record + 4) != 0 || U16(record + 6) != 0) return InParts();
  if (U16(record + 8) != U16(record + 10)) return InParts();
  return stated;
}

// The 64-bit numbers of an entry: those that do not fit into 32 bits stand in the extra field, in
// this order.
Status ReadZip64Numbers(ByteSpan extra, ZipRecord& entry) {
  if (entry.size != kIn64 && entry.stored_bytes != kIn64 && entry.offset != kIn64) return {};
  while (extra.size() >= 4) {
    const std::uint16_t id = U16(extra.data());
    const std::size_t size = U16(extra.data() + 2);
    if (size > extra.size() - 4) break;
    ByteSpan field = extra.subspan(4, size);
    extra = extra.subspan(4 + size);
    if (id != kZip64Extra) continue;
    for (std::uint64_t* number : {&entry.size, &entry.stored_bytes, &entry.offset}) {
      if (*number != kIn64) continue;
      if (field.size() < sizeof *number) return Damaged("expected a longer field of ZIP64");
      *number = LoadU64Le(field.data());
      field = field.subspan(sizeof *number);
    }
    return {};
  }
  return Damaged("expected a field of ZIP64, since a size or the offset is 2^32-1");
}

bool IsAscii(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return (c & 0x80) == 0; });
}

// The number, or what says that it stands in a field of ZIP64.
std::uint64_t Short(std::uint64_t number) { return std::min(number, kIn64); }

// From the version needed to the lengths of name and extra field, as both headers have them.
void AppendCommon(ByteVector& to, const ZipRecord& entry, std::size_t extra_bytes) {
  AppendLe(to, extra_bytes > 0 ? kZip64Version : kPlainVersion, 2);
  AppendLe(to, IsAscii(entry.name) ? 0 : kUtf8Name, 2);
  AppendLe(to, entry.method, 2);
  AppendLe(to, 0, 2);  // midnight
  AppendLe(to, kDate, 2);
  AppendU32Le(to, entry.crc);
}

void AppendText(ByteVector& to, std::string_view text) {
  const ByteSpan bytes = AsBytes(text);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void AppendZip64Field(ByteVector& to, ByteSpan numbers) {
  if (numbers.empty()) return;
  AppendLe(to, kZip64Extra, 2);
  AppendLe(to, numbers.size(), 2);
  to.insert(to.end(), numbers.begin(), numbers.end());
}

std::size_t FieldBytes(ByteSpan numbers) { return numbers.empty() ? 0 : 4 + numbers.size(); }

}  // namespace

Result<ZipEnd> ParseZipEnd(ByteSpan tail, std::uint64_t archive_size) {
  const auto at = FindEnd(tail);
  if (!at || tail.size() > archive_size) {
    return Damaged("expected a ZIP archive, but it has no end record: is it cut off?");
  }
  const std::uint64_t tail_begin = archive_size - tail.size();
  UNSHARD_ASSIGN_OR_RETURN(const Stated stated, ReadEnd(tail, *at, tail_begin));
  const std::uint64_t directory_end = tail_begin + stated.end;
  const auto stated_end = CheckedAdd(stated.directory_offset, stated.directory_size);
  if (!stated_end || *stated_end > directory_end) {
    return Damaged("the central directory is said to end behind the end record");
  }
  ZipEnd end;
  end.prepended = directory_end - *stated_end;
  end.directory = {directory_end - stated.directory_size, stated.directory_size};
  end.entries = stated.entries;
  end.comment = std::string(AsText(tail.subspan(*at + kZipEndBytes)));
  if (end.entries > end.directory.size / kZipRecordBytes) {
    return Damaged("the central directory is too short for the number of its entries");
  }
  return end;
}

Result<std::optional<ParsedZipRecord>> ParseZipRecord(ByteSpan bytes) {
  if (bytes.size() < kZipRecordBytes) return std::nullopt;
  const std::uint8_t* at = bytes.data();
  if (!Begins(bytes, kRecordSignature)) return Damaged("expected a record of an entry");
  const std::size_t name = U16(at + 28), extra = U16(at + 30), comment = U16(at + 32);
  ParsedZipRecord parsed;
  parsed.bytes = kZipRecordBytes + name + extra + comment;
  if (bytes.size() < parsed.bytes) return std::nullopt;
  ZipRecord& record = parsed.record;
  record.flags = U16(at + 8);
  record.method = U16(at + 10);
  record.crc = LoadU32Le(at + 16);
  record.stored_bytes = LoadU32Le(at + 20);
  record.size = LoadU32Le(at + 24);
  record.offset = LoadU32Le(at + 42);
  record.name = AsText(bytes.subspan(kZipRecordBytes, name));
  UNSHARD_RETURN_IF_ERROR(ReadZip64Numbers(bytes.subspan(kZipRecordBytes + name, extra), record));
  if (const std::uint16_t part = U16(at + 34); part != 0 && part != kIn64Short) return InParts();
  return parsed;
}

Result<std::uint32_t> ParseZipLocalHeader(ByteSpan header) {
  if (header.size() < kZipLocalHeaderBytes || !Begins(header, kLocalSignature)) {
    return Damaged("expected a local header where the central directory says that one is");
  }
  return static_cast<std::uint32_t>(kZipLocalHeaderBytes + U16(header.data() + 26) +
                                    U16(header.data() + 28));
}

void AppendZipLocalHeader(ByteVector& to, const ZipRecord& entry) {
  ByteVector numbers;
  // Both or none: APPNOTE 4.5.3.
  if (entry.size >= kIn64 || entry.stored_bytes >= kIn64) {
    AppendU64Le(numbers, entry.size);
    AppendU64Le(numbers, entry.stored_bytes);
  }
  AppendU32Le(to, kLocalSignature);
  AppendCommon(to, entry, numbers.size());
  AppendU32Le(to, static_cast<std::uint32_t>(numbers.empty() ? entry.stored_bytes : kIn64));
  AppendU32Le(to, static_cast<std::uint32_t>(numbers.empty() ? entry.size : kIn64));
  AppendLe(to, entry.name.size(), 2);
  AppendLe(to, FieldBytes(numbers), 2);
  AppendText(to, entry.name);
  AppendZip64Field(to, numbers);
}

void AppendZipRecord(ByteVector& to, const ZipRecord& entry) {
  ByteVector numbers;
  for (const std::uint64_t number : {entry.size, entry.stored_bytes, entry.offset}) {
    if (number >= kIn64) AppendU64Le(numbers, number);
  }
  AppendU32Le(to, kRecordSignature);
  AppendLe(to, kMadeOnUnix | (numbers.empty() ? kPlainVersion : kZip64Version), 2);
  AppendCommon(to, entry, numbers.size());
  AppendU32Le(to, static_cast<std::uint32_t>(Short(entry.stored_bytes)));
  AppendU32Le(to, static_cast<std::uint32_t>(Short(entry.size)));
  AppendLe(to, entry.name.size(), 2);
  AppendLe(to, FieldBytes(numbers), 2);
  AppendLe(to, 0, 2);  // no comment
  AppendLe(to, 0, 2);  // the first part
  AppendLe(to, 0, 2);  // no text
  AppendU32Le(to, kAttributes);
  AppendU32Le(to, static_cast<std::uint32_t>(Short(entry.offset)));
  AppendText(to, entry.name);
  AppendZip64Field(to, numbers);
}

void AppendZipEnd(ByteVector& to, const ZipEnd& end) {
  const bool in_64 =
      end.entries >= kIn64Short || end.directory.size >= kIn64 || end.directory.begin >= kIn64;
  if (in_64) {
    AppendU32Le(to, kEnd64Signature);
    AppendU64Le(to, kEnd64Bytes - 12);  // what follows
    AppendLe(to, kMadeOnUnix | kZip64Version, 2);
    AppendLe(to, kZip64Version, 2);
    AppendU64Le(to, 0);  // the first part, twice
    AppendU64Le(to, end.entries);
    AppendU64Le(to, end.entries);
    AppendU64Le(to, end.directory.size);
    AppendU64Le(to, end.directory.begin);
    AppendU32Le(to, kLocatorSignature);
    AppendU32Le(to, 0);
    AppendU64Le(to, end.directory.end());
    AppendU32Le(to, 1);  // one part
  }
  AppendU32Le(to, kEndSignature);
  AppendU32Le(to, 0);  // the first part, twice
  const std::uint64_t entries = std::min<std::uint64_t>(end.entries, kIn64Short);
  AppendLe(to, entries, 2);
  AppendLe(to, entries, 2);
  AppendU32Le(to, static_cast<std::uint32_t>(Short(end.directory.size)));
  AppendU32Le(to, static_cast<std::uint32_t>(Short(end.directory.begin)));
  AppendLe(to, end.comment.size(), 2);
  AppendText(to, end.comment);
}

}  // namespace unshard
