// The records of a ZIP archive (APPNOTE.TXT 6.3, section 4.3), parsed and made. Pure.
//
// An archive is entries, each a local header and its bytes, then the central directory, which has a
// record for each entry, then the end records. Numbers are little-endian. Sizes are in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codec/core/byte_range.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

inline constexpr std::size_t kZipEndBytes = 22;          // of the end record, without its comment
inline constexpr std::size_t kZipRecordBytes = 46;       // of a central record, without its names
inline constexpr std::size_t kZipLocalHeaderBytes = 30;  // of a local header, likewise
inline constexpr std::uint64_t kMostZipCommentBytes = 0xFFFF;
// The end of an archive that is long enough for ParseZipEnd: the end record with any comment, and
// those of ZIP64.
inline constexpr std::uint64_t kZipTailBytes = kZipEndBytes + kMostZipCommentBytes + 20 + 56;

enum class ZipMethod : std::uint16_t { kStored = 0, kDeflated = 8 };

// What the end records say.
struct ZipEnd {
  ByteRange directory;        // the central directory, in the archive as it is
  std::uint64_t entries = 0;  // records in it; at most directory.size / kZipRecordBytes
  // Where the archive begins: bytes of a self-extractor may stand before it. All offsets in the
  // records count from here.
  std::uint64_t prepended = 0;
  std::string comment;
};

// `tail`: the last bytes of an archive of `archive_size`: kZipTailBytes or more, or all. kDataLoss
// where it is no ZIP archive, or an end record is wrong; kNotSupported where it is one of several
// parts.
Result<ZipEnd> ParseZipEnd(ByteSpan tail, std::uint64_t archive_size);

// What a record of the central directory says of its entry.
struct ZipRecord {
  std::string_view name;  // as it is stored
  std::uint16_t flags = 0;
  std::uint16_t method = 0;  // a ZipMethod, or another number of APPNOTE 4.4.5
  std::uint32_t crc = 0;     // CRC-32 of the plain bytes
  std::uint64_t stored_bytes = 0;
  std::uint64_t size = 0;    // of the plain bytes
  std::uint64_t offset = 0;  // of the local header, from where the archive begins

  [[nodiscard]] bool is_encrypted() const { return (flags & 1) != 0; }
};

struct ParsedZipRecord {
  ZipRecord record;       // refers to the bytes that were parsed
  std::size_t bytes = 0;  // its own length
};
// The record at the start of `bytes`; nothing where they end before it does. kDataLoss where it is
// wrong; kNotSupported where its entry lies in another part of the archive.
Result<std::optional<ParsedZipRecord>> ParseZipRecord(ByteSpan bytes);

// The length of a local header with its name and extra fields: the entry's bytes follow it.
// `header`: its first kZipLocalHeaderBytes. kDataLoss where these are no local header.
Result<std::uint32_t> ParseZipLocalHeader(ByteSpan header);

// An archive as this project writes it: entries are stored, their sizes and checksums stand in the
// local headers too, all have the same time, and ZIP64 is used only where a number needs it.

// The local header of an entry. Requires: the name has at most 65535 bytes, and is stored.
void AppendZipLocalHeader(ByteVector& to, const ZipRecord& entry);
// Its record in the central directory.
void AppendZipRecord(ByteVector& to, const ZipRecord& entry);
// The end records. Requires: nothing is prepended; the comment has at most 65535 bytes.
void AppendZipEnd(ByteVector& to, const ZipEnd& end);

}  // namespace unshard
