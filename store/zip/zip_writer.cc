#include "store/zip/zip_writer.h"

#include <algorithm>
#include <string>

#include "codec/codecs/deflate.h"

namespace unshard {
namespace {

constexpr std::uint64_t kPackedBytes = std::uint64_t{1} << 20;

}  // namespace

// The header, which has the checksum, is written last: with the bytes where these are one piece.
Status ZipWriter::Add(std::string_view name, File& source) {
  if (name.size() > 0xFFFF) {
    return Fail(ErrorCode::kInvalidArgument, name.substr(0, 100),
                "…: a name in a ZIP archive has at most 65535 bytes");
  }
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus status, source.Stat());
  ZipRecord entry{.name = name, .stored_bytes = status.size, .size = status.size, .offset = at_};
  ByteVector header;
  AppendZipLocalHeader(header, entry);
  const std::uint64_t data = at_ + header.size();
  ByteVector piece;
  for (std::uint64_t done = 0; done < status.size; done += piece.size()) {
    const std::uint64_t size = std::min(kPackedBytes, status.size - done);
    const std::size_t before = status.size <= kPackedBytes ? header.size() : 0;
    piece.resize(before + static_cast<std::size_t>(size));
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t read,
                             source.Read(done, std::span(piece).subspan(before)));
    if (read != size) {
      return Fail(ErrorCode::kConflict, name, ": became shorter while it was packed");
    }
    entry.crc = DeflateInUse().crc32(entry.crc, ByteSpan(piece).subspan(before));
    if (before > 0) break;
    UNSHARD_RETURN_IF_ERROR(file_->Write(data + done, piece));
  }
  header.clear();
  AppendZipLocalHeader(header, entry);
  if (status.size > 0 && status.size <= kPackedBytes) {
    std::copy(header.begin(), header.end(), piece.begin());
    UNSHARD_RETURN_IF_ERROR(file_->Write(at_, piece));
  } else {
    UNSHARD_RETURN_IF_ERROR(file_->Write(at_, header));
  }
  AppendZipRecord(records_, entry);
  at_ = data + status.size;
  ++entries_;
  return {};
}

Status ZipWriter::Finish(std::string_view comment) {
  ZipEnd end;
  end.directory = {at_, records_.size()};
  end.entries = entries_;
  end.comment = comment;
  AppendZipEnd(records_, end);
  UNSHARD_RETURN_IF_ERROR(file_->Write(at_, records_));
  at_ += records_.size();
  return file_->Sync();
}

}  // namespace unshard
