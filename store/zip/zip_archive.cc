#include "store/zip/zip_archive.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "store/object/awaited_result.h"

namespace unshard {
namespace {

constexpr std::uint64_t kTailBytes = std::uint64_t{128} << 10;
static_assert(kTailBytes >= kZipTailBytes);
// The directory of 10^6 entries is about 70 MB.
constexpr std::uint64_t kDirectoryPieceBytes = std::uint64_t{16} << 20;
constexpr std::size_t kPiecesInFlight = 2;

// Reads `range` of one version piece by piece, with the next one under way.
class PiecesInOrder {
 public:
  PiecesInOrder(ObjectVersion& version, const ByteRange& range, const Deadline& deadline)
      : version_(version), rest_(range), deadline_(deadline) {}

  // Empty at the end. kConflict where the object was replaced.
  Result<Bytes> Next() {
    while (rest_.size > 0 && pieces_.size() < kPiecesInFlight) Start();
    if (pieces_.empty()) return Bytes();
    const Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    UNSHARD_ASSIGN_OR_RETURN(ReadResult read,
                             piece.outcome->Wait(deadline_, "reading the central directory"));
    if (read.state != ReadResult::State::kFound) {
      return Fail(ErrorCode::kConflict, "was replaced while its central directory was read");
    }
    if (read.value.size() != piece.size) {
      return Fail(ErrorCode::kDataLoss, "ends within its central directory");
    }
    return std::move(read.value);
  }

 private:
  using Outcome = AwaitedResult<ReadResult>;
  struct Piece {
    std::shared_ptr<Outcome> outcome;
    std::uint64_t size;
  };

  void Start() {
    const std::uint64_t size = std::min(rest_.size, kDirectoryPieceBytes);
    const auto outcome = std::make_shared<Outcome>();
    version_.StartRead(RangeRequest::At(rest_.begin, size), deadline_, Outcome::Callback(outcome));
    rest_ = {rest_.begin + size, rest_.size - size};
    pieces_.push_back({outcome, size});
  }

  ObjectVersion& version_;
  ByteRange rest_;
  const Deadline& deadline_;
  std::deque<Piece> pieces_;
};

// `tail`: the last bytes of the archive.
Result<ZipDirectory> ReadDirectory(ObjectVersion& version, const ZipEnd& end, const Bytes& tail,
                                   const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(auto reader, ZipDirectoryReader::Begin(end));
  const std::uint64_t tail_begin = version.info().size - tail.size();
  const ByteRange& range = end.directory;
  const std::uint64_t seam = std::clamp(tail_begin, range.begin, range.end());
  PiecesInOrder pieces(version, {range.begin, seam - range.begin}, deadline);
  for (;;) {
    UNSHARD_ASSIGN_OR_RETURN(const Bytes piece, pieces.Next());
    if (piece.empty()) break;
    UNSHARD_RETURN_IF_ERROR(reader.Add(piece.span()));
  }
  if (seam < range.end()) {
    UNSHARD_RETURN_IF_ERROR(
        reader.Add(tail.span().subspan(static_cast<std::size_t>(seam - tail_begin),
                                       static_cast<std::size_t>(range.end() - seam))));
  }
  return reader.Finish();
}

}  // namespace

RangeRequest ZipTail() { return RangeRequest::Suffix(kTailBytes); }

ZipArchive::ZipArchive(std::shared_ptr<ObjectVersion> version, const ZipEnd& end,
                       ZipDirectory directory)
    : version_(std::move(version)),
      entries_end_(end.directory.begin),
      comment_(end.comment),
      directory_(std::move(directory)),
      header_bytes_(std::make_unique<std::atomic<std::uint32_t>[]>(directory_.size())) {}

Result<std::shared_ptr<ZipArchive>> ZipArchive::Read(ObjectStore& below, std::string_view key,
                                                     ObjectStore::Opened opened,
                                                     const Deadline& deadline) {
  if (!opened.version) return nullptr;
  const auto fail = [&](Error error) { return Forward(std::move(error), below.Describe(key)); };
  const std::uint64_t size = opened.version->info().size;
  if (opened.first.size() != std::min(size, kTailBytes)) {
    return fail({ErrorCode::kDataLoss, "is shorter than announced", 0});
  }
  auto end = ParseZipEnd(opened.first.span(), size);
  if (!end) return fail(std::move(end).error());
  auto directory = ReadDirectory(*opened.version, *end, opened.first, deadline);
  if (!directory) return fail(std::move(directory).error());
  return std::shared_ptr<ZipArchive>(
      new ZipArchive(std::move(opened.version), *end, *std::move(directory)));
}

Status ZipArchive::SetHeader(std::size_t entry, ByteSpan header) {
  UNSHARD_ASSIGN_OR_RETURN(const std::uint32_t bytes, ParseZipLocalHeader(header));
  const ZipDirectory::Entry& known = directory_.entry(entry);
  if (!MakeByteRange(known.offset + bytes, known.stored_bytes, entries_end_)) {
    return Fail(ErrorCode::kDataLoss, "its bytes reach into the central directory");
  }
  header_bytes_[entry].store(bytes, std::memory_order_relaxed);
  return {};
}

}  // namespace unshard
