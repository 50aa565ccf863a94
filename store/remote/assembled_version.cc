#include "store/remote/assembled_version.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "store/object/parallel.h"

namespace unshard {
namespace {

// Of one request, and how many at a time: what a fetch holds in memory.
constexpr std::uint64_t kMostFetched = std::uint64_t{8} << 20;
constexpr std::size_t kFetchesAtOnce = 4;
// Unneeded bytes between two ranges cost less than another request.
constexpr std::uint64_t kMostGap = std::uint64_t{256} << 10;

}  // namespace

std::vector<AssembledVersion::Reference> AssembledVersion::TakeReferences(const ByteRange& range) {
  std::vector<Reference> taken;
  auto each = references_.upper_bound(range.begin);
  if (each != references_.begin()) --each;
  while (each != references_.end() && each->first < range.end()) {
    const auto [at, base] = *each;
    const ByteRange here{at, base.size};
    if (here.end() <= range.begin) {
      ++each;
      continue;
    }
    const std::uint64_t begin = std::max(here.begin, range.begin);
    const std::uint64_t end = std::min(here.end(), range.end());
    taken.push_back({begin, {base.begin + (begin - at), end - begin}});
    each = references_.erase(each);
    if (here.begin < begin) references_[here.begin] = {base.begin, begin - here.begin};
    if (end < here.end()) {
      each = references_.emplace(end, ByteRange{base.begin + (end - at), here.end() - end}).first;
    }
  }
  return taken;
}

Status AssembledVersion::Write(std::uint64_t at, ByteSpan bytes) {
  const auto end = CheckedAdd(at, bytes.size());
  if (!end) return Fail(ErrorCode::kInternal, described_, ": a version of more than 2^64 bytes");
  TakeReferences({at, bytes.size()});
  UNSHARD_RETURN_IF_ERROR(file_->Write(at, bytes));
  size_ = std::max(size_, *end);
  return {};
}

Status AssembledVersion::CopyBase(const ByteRange& range, std::uint64_t at) {
  if (!base_ || !MakeByteRange(range.begin, range.size, base_->info().size)) {
    return Fail(ErrorCode::kDataLoss, described_, ": ends before byte ", range.end());
  }
  const auto end = CheckedAdd(at, range.size);
  if (!end) return Fail(ErrorCode::kInternal, described_, ": a version of more than 2^64 bytes");
  TakeReferences({at, range.size});
  if (range.size > 0) references_[at] = range;
  size_ = std::max(size_, *end);
  return {};
}

Result<Bytes> AssembledVersion::ReadFrom(ObjectVersion& base, const ByteRange& range) const {
  UNSHARD_ASSIGN_OR_RETURN(ReadResult read,
                           base.Read(RangeRequest::At(range.begin, range.size), CallerDeadline()));
  if (read.state == ReadResult::State::kFound && read.value.size() == range.size) {
    return std::move(read.value);
  }
  return Fail(ErrorCode::kConflict, described_, ": was replaced while it was copied");
}

Result<std::size_t> AssembledVersion::ReadBack(std::uint64_t at, std::span<std::uint8_t> to) {
  const ByteRange range = ClipRange(RangeRequest::At(at, to.size()), size_);
  to = to.first(static_cast<std::size_t>(range.size));
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t found, file_->Read(range.begin, to));
  std::fill(to.begin() + static_cast<std::ptrdiff_t>(found), to.end(), std::uint8_t{0});
  auto each = references_.upper_bound(range.begin);
  if (each != references_.begin()) --each;
  for (; each != references_.end() && each->first < range.end(); ++each) {
    const std::uint64_t begin = std::max(each->first, range.begin);
    const std::uint64_t end = std::min(each->first + each->second.size, range.end());
    if (begin >= end) continue;
    UNSHARD_ASSIGN_OR_RETURN(
        const Bytes bytes,
        ReadFrom(*remembered_, {each->second.begin + (begin - each->first), end - begin}));
    std::copy(bytes.span().begin(), bytes.span().end(),
              to.begin() + static_cast<std::ptrdiff_t>(begin - range.begin));
  }
  return to.size();
}

Status AssembledVersion::SetSize(std::uint64_t size) {
  if (size < size_) {
    TakeReferences({size, size_ - size});
    UNSHARD_RETURN_IF_ERROR(file_->Truncate(size));
  }
  size_ = size;
  return {};
}

std::optional<ByteRange> AssembledVersion::InBase(const ByteRange& range) const {
  auto each = references_.upper_bound(range.begin);
  if (each == references_.begin()) return std::nullopt;
  --each;
  const auto& [at, base] = *each;
  if (at + base.size < range.end()) return std::nullopt;
  return ByteRange{base.begin + (range.begin - at), range.size};
}

// Requires: sorted by where they are in the base, close together there.
Status AssembledVersion::FetchTogether(const std::vector<Reference>& references) {
  const std::uint64_t begin = references.front().base.begin;
  std::uint64_t end = begin;
  for (const Reference& each : references) end = std::max(end, each.base.end());
  UNSHARD_ASSIGN_OR_RETURN(const Bytes bytes, ReadFrom(*base_, {begin, end - begin}));
  for (const Reference& each : references) {
    const ByteSpan part = bytes.span().subspan(static_cast<std::size_t>(each.base.begin - begin),
                                               static_cast<std::size_t>(each.base.size));
    UNSHARD_RETURN_IF_ERROR(file_->Write(each.at, part));
  }
  return {};
}

Status AssembledVersion::Fetch(const ByteRange& range) {
  std::vector<Reference> wanted;
  for (Reference each : TakeReferences(range)) {
    while (each.base.size > 0) {
      const std::uint64_t size = std::min(each.base.size, kMostFetched);
      wanted.push_back({each.at, {each.base.begin, size}});
      each.at += size;
      each.base = {each.base.begin + size, each.base.size - size};
    }
  }
  std::sort(wanted.begin(), wanted.end(),
            [](const Reference& a, const Reference& b) { return a.base.begin < b.base.begin; });
  std::vector<std::vector<Reference>> requests;
  std::uint64_t begin = 0, end = 0;  // of the last request
  for (const Reference& each : wanted) {
    const bool joins = !requests.empty() && each.base.begin <= end + kMostGap &&
                       std::max(end, each.base.end()) - begin <= kMostFetched;
    if (!joins) {
      requests.emplace_back();
      begin = end = each.base.begin;
    }
    requests.back().push_back(each);
    end = std::max(end, each.base.end());
  }
  std::mutex mutex;
  Status fetched;  // the first failure; guarded by mutex
  ForEachInParallel(requests.size(), kFetchesAtOnce, [&](std::size_t i) {
    {
      const std::lock_guard lock(mutex);
      if (!fetched) return;
    }
    Status status = FetchTogether(requests[i]);
    const std::lock_guard lock(mutex);
    if (fetched && !status) fetched = std::move(status);
  });
  return fetched;
}

}  // namespace unshard
