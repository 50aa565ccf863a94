#include "store/zip/zip_entry.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codec/codecs/deflate.h"
#include "codec/codecs/gzip.h"

namespace unshard {
namespace {

// An entry of at most this size is read with its header, whichever part of it is asked for.
constexpr std::uint64_t kShortBytes = std::uint64_t{64} << 10;
// Extra fields of local headers: those of ZIP64, of times and of owners fit.
constexpr std::uint64_t kExpectedExtra = 64;

std::string_view MethodName(std::uint16_t method) {
  switch (method) {
    case 9:
      return "deflate64";
    case 12:
      return "bzip2";
    case 14:
      return "lzma";
    case 93:
      return "zstd";
    case 95:
      return "xz";
    case 99:
      return "AES";
    default:
      return "unknown";
  }
}

Status CheckSum(const ZipEntryRef& ref, ByteSpan plain) {
  if (DeflateInUse().crc32(0, plain) == ref.entry().crc) return {};
  return Fail(ErrorCode::kDataLoss, ref.described,
              ": the CRC-32 of its bytes is not that of the archive's directory");
}

// What a read of the archive says of the entry's bytes `wanted`; `read` has them from `skipped` on.
Result<ReadResult> AsRead(const ZipEntryRef& ref, const ByteRange& wanted, Result<ReadResult> read,
                          std::uint64_t skipped = 0) {
  if (!read) return Forward(std::move(read).error(), ref.described);
  const ObjectInfo info = InfoOfZipEntry(ref);
  ReadResult result{read->state, {}, info.size, info.generation, read->age};
  if (read->state != ReadResult::State::kFound) {
    ref.archive->SetReplaced();
    return result;
  }
  if (read->value.size() < skipped || read->value.size() - skipped < wanted.size) {
    return Fail(ErrorCode::kDataLoss, ref.described, ": the archive ends within it");
  }
  result.value =
      read->value.Slice(static_cast<std::size_t>(skipped), static_cast<std::size_t>(wanted.size));
  if (wanted.size == info.size) UNSHARD_RETURN_IF_ERROR(CheckSum(ref, result.value.span()));
  return result;
}

// How far a read from the local header on has to go so that it has the bytes `wanted`, whatever
// extra fields are expected there.
std::uint64_t WithHeader(const ZipEntryRef& ref, std::uint64_t end_of_wanted) {
  return kZipLocalHeaderBytes + ref.entry().name_bytes + kExpectedExtra + end_of_wanted;
}

// Whether `wanted` is read together with the local header.
bool IsNearHeader(const ZipEntryRef& ref, const ByteRange& wanted) {
  return wanted.begin <= kExpectedExtra || ref.entry().size <= kShortBytes;
}

class StoredEntry final : public ObjectVersion {
 public:
  explicit StoredEntry(const ZipEntryRef& ref) : ref_(ref), info_(InfoOfZipEntry(ref)) {}

  const ObjectInfo& info() const override { return info_; }

  void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) override {
    const ByteRange wanted = ClipRange(range, info_.size);
    if (Data() != 0) return StartData(ref_, wanted, deadline, std::move(done));
    const auto with_header = [ref = ref_, wanted, deadline,
                              done = std::move(done)](Result<ReadResult> read) {
      if (!read || read->state != ReadResult::State::kFound) {
        return done(AsRead(ref, {wanted.begin, 0}, std::move(read)));
      }
      const Status set = ref.archive->SetHeader(ref.number, read->value.span());
      if (!set) return done(Forward(Error(set.error()), ref.described));
      const std::uint64_t begin = ref.archive->header_bytes(ref.number) + wanted.begin;
      if (MakeByteRange(begin, wanted.size, read->value.size())) {
        return done(AsRead(ref, wanted, std::move(read), begin));
      }
      StartData(ref, wanted, deadline, done);
    };
    const std::uint64_t size =
        IsNearHeader(ref_, wanted) ? WithHeader(ref_, wanted.end()) : kZipLocalHeaderBytes;
    ref_.archive->version().StartRead(RangeRequest::At(ref_.entry().offset, size), deadline,
                                      with_header);
  }

  // Not of the whole entry: whoever reads all of it has its checksum verified.
  std::optional<FileSlice> Slice(const ByteRange& range) override {
    const std::uint64_t data = Data();
    if (data == 0 || !MakeByteRange(range.begin, range.size, info_.size)) return std::nullopt;
    if (range.size == info_.size) return std::nullopt;
    return ref_.archive->version().Slice({data + range.begin, range.size});
  }

  void Prefetch(const ByteRange& range) override {
    const std::uint64_t data = Data();
    const ByteRange wanted = ClipRange(RangeRequest::At(range.begin, range.size), info_.size);
    if (data != 0) ref_.archive->version().Prefetch({data + wanted.begin, wanted.size});
  }

 private:
  // Where the entry's bytes begin in the archive; 0 where its header has not been read.
  [[nodiscard]] std::uint64_t Data() const {
    const std::uint32_t header = ref_.archive->header_bytes(ref_.number);
    return header == 0 ? 0 : ref_.entry().offset + header;
  }

  static void StartData(const ZipEntryRef& ref, const ByteRange& wanted, const Deadline& deadline,
                        ReadDone done) {
    const std::uint64_t data = ref.entry().offset + ref.archive->header_bytes(ref.number);
    ref.archive->version().StartRead(
        RangeRequest::At(data + wanted.begin, wanted.size), deadline,
        [ref, wanted, done = std::move(done)](Result<ReadResult> read) {
          done(AsRead(ref, wanted, std::move(read)));
        });
  }

  const ZipEntryRef ref_;
  const ObjectInfo info_;
};

class InflatedEntry final : public ObjectVersion {
 public:
  InflatedEntry(const ZipEntryRef& ref, Bytes plain, std::chrono::steady_clock::time_point asked)
      : info_(InfoOfZipEntry(ref)), plain_(std::move(plain)), asked_(asked) {}

  const ObjectInfo& info() const override { return info_; }

  void StartRead(const RangeRequest& range, const Deadline&, ReadDone done) override {
    const ByteRange part = ClipRange(range, info_.size);
    done(ReadResult{
        ReadResult::State::kFound,
        plain_.Slice(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.size)),
        info_.size, info_.generation, std::chrono::steady_clock::now() - asked_});
  }

 private:
  const ObjectInfo info_;
  const Bytes plain_;
  const std::chrono::steady_clock::time_point asked_;
};

// Reads the header and `wanted` at once. The bytes are missing where the header is so long that
// they are not all there.
struct HeaderAndBytes {
  bool is_replaced = false;
  bool has_bytes = false;
  Bytes bytes;
};
Result<HeaderAndBytes> ReadFromHeader(const ZipEntryRef& ref, const ByteRange& wanted,
                                      const Deadline& deadline) {
  const std::uint64_t size = WithHeader(ref, wanted.end());
  auto read = ref.archive->version().Read(RangeRequest::At(ref.entry().offset, size), deadline);
  if (!read) return Forward(std::move(read).error(), ref.described);
  if (read->state != ReadResult::State::kFound) {
    ref.archive->SetReplaced();
    return HeaderAndBytes{.is_replaced = true, .has_bytes = false, .bytes = {}};
  }
  if (const Status set = ref.archive->SetHeader(ref.number, read->value.span()); !set) {
    return Forward(Error(set.error()), ref.described);
  }
  const std::uint64_t begin = ref.archive->header_bytes(ref.number) + wanted.begin;
  if (!MakeByteRange(begin, wanted.size, read->value.size())) return HeaderAndBytes{};
  return HeaderAndBytes{.is_replaced = false,
                        .has_bytes = true,
                        .bytes = read->value.Slice(static_cast<std::size_t>(begin),
                                                   static_cast<std::size_t>(wanted.size))};
}

}  // namespace

ObjectInfo InfoOfZipEntry(const ZipEntryRef& ref) {
  const ObjectInfo& archive = ref.archive->info();
  ObjectInfo info;
  info.size = ref.entry().size;
  info.generation.tag = std::to_string(ref.entry().offset) + '@' + archive.generation.tag;
  info.modified = archive.modified;
  return info;
}

Status CheckZipMethod(const ZipEntryRef& ref) {
  const ZipDirectory::Entry& entry = ref.entry();
  if (entry.is_encrypted) {
    return Fail(ErrorCode::kNotSupported, ref.described, ": is encrypted");
  }
  if (entry.method == static_cast<std::uint16_t>(ZipMethod::kStored) ||
      entry.method == static_cast<std::uint16_t>(ZipMethod::kDeflated)) {
    return {};
  }
  return Fail(ErrorCode::kNotSupported, ref.described, ": is compressed by method ", entry.method,
              " (", MethodName(entry.method), "); expected stored or deflated");
}

std::shared_ptr<ObjectVersion> MakeStoredEntry(const ZipEntryRef& ref) {
  return std::make_shared<StoredEntry>(ref);
}

std::shared_ptr<ObjectVersion> MakeInflatedEntry(const ZipEntryRef& ref, Bytes plain,
                                                 std::chrono::steady_clock::time_point asked) {
  return std::make_shared<InflatedEntry>(ref, std::move(plain), asked);
}

Result<ObjectStore::Opened> OpenStoredEntry(const ZipEntryRef& ref, const RangeRequest& first,
                                            const Deadline& deadline) {
  const ByteRange wanted = ClipRange(first, ref.entry().size);
  ObjectStore::Opened opened{MakeStoredEntry(ref), {}};
  if (wanted.size == 0) return opened;
  if (IsNearHeader(ref, wanted) && ref.archive->header_bytes(ref.number) == 0) {
    UNSHARD_ASSIGN_OR_RETURN(HeaderAndBytes read, ReadFromHeader(ref, wanted, deadline));
    if (read.is_replaced) return ObjectStore::Opened{};
    if (read.has_bytes) {
      if (wanted.size == ref.entry().size) {
        UNSHARD_RETURN_IF_ERROR(CheckSum(ref, read.bytes.span()));
      }
      opened.first = std::move(read.bytes);
      return opened;
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(
      ReadResult read, opened.version->Read(RangeRequest::At(wanted.begin, wanted.size), deadline));
  if (read.state != ReadResult::State::kFound) return ObjectStore::Opened{};
  opened.first = std::move(read.value);
  return opened;
}

// As a member of gzip, whose trailer has the checksum and the size of the archive's directory: the
// decoder verifies both.
Result<std::optional<Bytes>> InflateEntry(const ZipEntryRef& ref, const Deadline& deadline) {
  const ZipDirectory::Entry& entry = ref.entry();
  const ByteRange all{0, entry.stored_bytes};
  UNSHARD_ASSIGN_OR_RETURN(HeaderAndBytes stored, ReadFromHeader(ref, all, deadline));
  if (stored.is_replaced) return std::nullopt;
  if (!stored.has_bytes) {  // its extra fields are long
    const std::uint64_t data = entry.offset + ref.archive->header_bytes(ref.number);
    auto read = ref.archive->version().Read(RangeRequest::At(data, all.size), deadline);
    if (!read) return Forward(std::move(read).error(), ref.described);
    if (read->state != ReadResult::State::kFound) {
      ref.archive->SetReplaced();
      return std::nullopt;
    }
    stored.bytes = std::move(read->value);
  }
  ByteVector member{0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF};
  member.reserve(member.size() + stored.bytes.size() + 8);
  member.insert(member.end(), stored.bytes.span().begin(), stored.bytes.span().end());
  AppendU32Le(member, entry.crc);
  AppendU32Le(member, static_cast<std::uint32_t>(entry.size));
  stored.bytes = Bytes();
  auto plain = GzipDecode(member, entry.size, entry.size);
  if (plain && plain->size() != entry.size) {
    plain = Fail(ErrorCode::kDataLoss, "expected ", entry.size, " bytes, found ", plain->size());
  }
  if (plain) return Bytes(*std::move(plain));
  Error error = std::move(plain).error();
  error.code = ErrorCode::kDataLoss;  // also where there are more bytes than announced
  return Forward(std::move(error), ref.described + ": deflated");
}

}  // namespace unshard
