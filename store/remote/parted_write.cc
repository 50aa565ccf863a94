#include "store/remote/parted_write.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "store/object/parallel.h"

namespace unshard {
namespace {

constexpr std::size_t kPartsAtOnce = 4;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

std::uint64_t Quotient(std::uint64_t size, std::uint64_t by) { return (size + by - 1) / by; }

}  // namespace

PartPlan PartPlan::Of(std::uint64_t size, std::uint64_t part_bytes, const WriterTraits& traits,
                      bool copies) {
  part_bytes = std::max(part_bytes, traits.least_part_bytes);
  if (Quotient(size, part_bytes) > traits.most_parts) {
    part_bytes = Quotient(Quotient(size, traits.most_parts), kMebibyte) * kMebibyte;
  }
  return {part_bytes, copies};
}

std::uint64_t BytesToCopy(const AssembledVersion& version, const PartPlan& plan) {
  std::uint64_t bytes = 0;
  for (std::uint64_t at = 0; at < version.size(); at += plan.part_bytes) {
    const ByteRange part{at, std::min(plan.part_bytes, version.size() - at)};
    if (version.InBase(part)) bytes += part.size;
  }
  return bytes;
}

PartedWrite::~PartedWrite() {
  if (upload_) Abort();
}

Status PartedWrite::Begin() {
  UNSHARD_ASSIGN_OR_RETURN(upload_, writer_.BeginParts(object_, version_.size(), plan_.part_bytes));
  const std::string id = upload_->id();
  if (!records_ || id.empty()) return {};
  UNSHARD_ASSIGN_OR_RETURN(record_, records_->Begin(object_.key, id));
  return {};
}

void PartedWrite::EndRecord() {
  if (record_) records_->End(*record_);
  record_.reset();
}

// Where the service cannot be reached the record stays, for the next process.
void PartedWrite::Abort() {
  if (upload_->Abort()) EndRecord();
  upload_.reset();
  record_.reset();
}

ByteRange PartedWrite::RangeOf(std::size_t part) const {
  const std::uint64_t begin = plan_.part_bytes * part;
  return {begin, std::min(plan_.part_bytes, version_.size() - begin)};
}

std::size_t PartedWrite::count() const {
  return static_cast<std::size_t>(
      std::max<std::uint64_t>(1, Quotient(version_.size(), plan_.part_bytes)));
}

Status PartedWrite::PutPart(std::size_t part) {
  const ByteRange range = RangeOf(part);
  if (const auto base = plan_.copies ? version_.InBase(range) : std::nullopt) {
    return upload_->Copy(part, *base);
  }
  return upload_->Put(part, version_.Body(range));
}

Status PartedWrite::Upload() {
  for (std::size_t part = 0; part < count(); ++part) {
    const ByteRange range = RangeOf(part);
    if (plan_.copies && version_.InBase(range)) continue;
    UNSHARD_RETURN_IF_ERROR(version_.Fetch(range));
  }
  UNSHARD_RETURN_IF_ERROR(Begin());
  std::mutex mutex;
  Status put;  // the first failure; guarded by mutex
  const std::size_t at_once = upload_->takes_parts_in_parallel() ? kPartsAtOnce : 1;
  ForEachInParallel(count(), at_once, [&](std::size_t part) {
    {
      const std::lock_guard lock(mutex);
      if (!put) return;
    }
    Status status = PutPart(part);
    const std::lock_guard lock(mutex);
    if (put && !status) put = std::move(status);
  });
  return put;
}

WriteAnswer PartedWrite::Complete() {
  if (!upload_) {
    if (Status uploaded = Upload(); !uploaded) {
      // Without all of its parts it must never be completed: the next try begins another one.
      if (upload_) Abort();
      // After a conflict the caller asks for the object as it is now.
      const auto kind = uploaded.error().code == ErrorCode::kConflict
                            ? WriteAnswer::Kind::kConditionFailed
                            : WriteAnswer::Kind::kFailed;
      return {kind, {}, std::move(uploaded).error()};
    }
  }
  WriteAnswer answer = upload_->Complete();
  if (answer.kind == WriteAnswer::Kind::kApplied) {
    upload_.reset();
    EndRecord();
  } else if (answer.kind == WriteAnswer::Kind::kConditionFailed) {
    Abort();
  }
  return answer;
}

}  // namespace unshard
