// Reading through a shard set: index pages and stored bytes of one generation.
#include <functional>

#include "store/shard/set.h"
#include "store/shard/set_state.h"

namespace unshard {
namespace {

// The page number under which the cache holds the decoded object of a format with outer codecs.
constexpr std::uint64_t kDecodedObject = ~std::uint64_t{0};

}  // namespace

Result<std::shared_ptr<const IndexPage>> ShardSet::Page(const ShardGenerationPtr& generation,
                                                        std::uint64_t page,
                                                        const Deadline& deadline, Ahead ahead) {
  static const auto empty = std::make_shared<const IndexPage>();
  if (!generation->object) return empty;
  if (page == kDecodedObject && format_->has_outer_codecs()) {
    return Fail(ErrorCode::kInvalidArgument, generation->key, ": no such index page");
  }
  // Passed by reference, so that nothing is allocated for the loader where the page is cached.
  const auto walk = [&]() -> Result<IndexCache::Loaded> {
    auto loaded = Walk(*generation, page, deadline, ahead);
    if (!loaded) return DamagedOrReplaced(*generation, std::move(loaded).error(), deadline);
    auto shared = std::make_shared<const IndexPage>(*std::move(loaded));
    const std::uint64_t bytes = shared->memory_bytes();
    return IndexCache::Loaded{std::move(shared), bytes};
  };
  const CacheKey key{cache_owner_, generation->shard, generation->serial, page};
  if (ahead == Ahead::kCached || ahead == Ahead::kBegun) {
    const auto cached = std::static_pointer_cast<const IndexPage>(cache_->Peek(key));
    if (!cached && ahead == Ahead::kBegun && !format_->has_outer_codecs()) {
      const IndexedObject object{generation->object->info().size, {}, {}};
      const IndexDriver driver(*format_, generation->shard, object, HeldOf(*generation, Held::kOwn),
                               HeldOf(*generation, Held::kTail));
      const auto first = driver.FirstRead(page, options_.max_index_bytes);
      if (first) generation->object->Prefetch(*first);
    }
    return cached;
  }
  UNSHARD_ASSIGN_OR_RETURN(IndexCache::Value value, cache_->Get(key, deadline, std::ref(walk)));
  return std::static_pointer_cast<const IndexPage>(std::move(value));
}

ShardGenerationPtr ShareCached(ShardGeneration generation, std::shared_ptr<IndexCache> cache,
                               const CacheOwners& owners, const ShardFormat& format) {
  const auto end = [cache = std::move(cache), owners,
                    pages = format.page_count()](const ShardGeneration* ended) {
    cache->EraseAll({owners.pages, ended->shard, ended->serial, 0}, pages);
    cache->Erase({owners.pages, ended->shard, ended->serial, kDecodedObject});
    cache->EraseAll({owners.held, ended->shard, ended->serial, 0}, 2);
    delete ended;
  };
  return {new ShardGeneration(std::move(generation)), end};
}

HeldIndex ShardSet::HeldOf(const ShardGeneration& generation, Held which) const {
  const auto held = cache_->Peek(
      {held_owner_, generation.shard, generation.serial, static_cast<std::uint64_t>(which)});
  return held ? *std::static_pointer_cast<const HeldIndex>(held) : HeldIndex();
}

// An empty range releases what is held. It is no longer needed once the only page of a format with
// one page, or the object of a format that is decoded whole, has been read.
void ShardSet::Hold(const ShardGeneration& generation, Held which, const HeldIndex& held) {
  const CacheKey key{held_owner_, generation.shard, generation.serial,
                     static_cast<std::uint64_t>(which)};
  if (held.range.size == 0) return cache_->Erase(key);
  cache_->Put(key, {std::make_shared<const HeldIndex>(held), held.range.size + sizeof(held)});
}

Result<IndexPage> ShardSet::Walk(const ShardGeneration& generation, std::uint64_t page,
                                 const Deadline& deadline, Ahead ahead) {
  const auto describe = [&] { return store_->Describe(generation.key); };
  if (format_->has_outer_codecs()) {
    UNSHARD_ASSIGN_OR_RETURN(const Bytes decoded, DecodedObject(generation, deadline));
    const auto read = [&](const ByteRange& range) -> Result<Bytes> {
      return decoded.Slice(static_cast<std::size_t>(range.begin),
                           static_cast<std::size_t>(range.size));
    };
    return IndexDriver(*format_, generation.shard, {decoded.size(), read, describe})
        .Page(page, options_.max_index_bytes);
  }
  const bool has_pages = !keeps_replaced_versions_ && format_->page_count() != 1;
  const std::uint64_t index_bytes = format_->fixed_index_bytes();
  ByteRange last;
  const auto read = [&](const ByteRange& range) {
    index_reads_.fetch_add(1, std::memory_order_relaxed);
    last = range;
    const ByteRange more = data_before_.With(range, index_bytes);
    const bool is_page = has_pages && range.begin >= index_bytes;
    if (is_page && ahead == Ahead::kChunks && more != range &&
        !generation.object->IsCached(range)) {
      generation.object->Prefetch(more);  // the read waits for it
    }
    return ReadObject(generation, range, deadline);
  };
  const HeldIndex before = HeldOf(generation, Held::kOwn);
  IndexDriver driver(*format_, generation.shard, {generation.object->info().size, read, describe},
                     before, HeldOf(generation, Held::kTail));
  UNSHARD_ASSIGN_OR_RETURN(IndexPage loaded, driver.Page(page, options_.max_index_bytes));
  if (has_pages && last.begin >= index_bytes) data_before_.Learn(loaded, last);
  if (format_->page_count() == 1) {
    Hold(generation, Held::kOwn, {});
    Hold(generation, Held::kTail, {});
  } else if (driver.held().range != before.range) {
    Hold(generation, Held::kOwn, driver.held());
  }
  return loaded;
}

// A shard that was opened while another process wrote it in place may look damaged: the bytes of
// the opening request are not validated when they are walked. A read is.
tl::unexpected<Error> ShardSet::DamagedOrReplaced(const ShardGeneration& generation, Error error,
                                                  const Deadline& deadline) {
  if (error.code == ErrorCode::kDataLoss) {
    const auto read = ReadObject(generation, {0, 1}, deadline);
    if (!read && read.error().code == ErrorCode::kConflict) {
      error = read.error();
    } else if (CountsAsChanged(generation)) {
      error.code = ErrorCode::kConflict;
    }
  }
  return tl::unexpected<Error>(std::move(error));
}

bool ShardSet::CountsAsChanged(const ShardGeneration& generation) {
  if (keeps_replaced_versions_ || !generation.object) return false;
  const ObjectInfo& info = generation.object->info();
  if (store_->Recall(generation.key, info)) return false;
  Locked locked(mutex_);
  Shard& entry = Remember(locked, generation.shard);
  if (entry.doubted == info.generation) return false;
  entry.doubted = info.generation;
  if (entry.current.get() == &generation) {
    entry.stale_since = ++epoch_;
    entry.Retire(locked.retired);
  }
  return true;
}

// Fewer bytes only where the store gives fewer.
Result<Bytes> ShardSet::ReadObject(const ShardGeneration& generation, const ByteRange& range,
                                   const Deadline& deadline) {
  const auto begun = options_.clock();
  UNSHARD_ASSIGN_OR_RETURN(
      ReadResult read,
      generation.object->Read(RangeRequest::At(range.begin, range.size), deadline));
  if (read.state == ReadResult::State::kFound) {
    if (!keeps_replaced_versions_) MarkValidated(generation, begun - read.age);
    return std::move(read.value);
  }
  MarkStale(generation);
  return Fail(ErrorCode::kConflict, store_->Describe(generation.key),
              ": changed while it was read");
}

Result<Bytes> ShardSet::DecodedObject(const ShardGeneration& generation, const Deadline& deadline) {
  const auto decode = [&]() -> Result<IndexCache::Loaded> {
    const std::uint64_t size = generation.object->info().size;
    if (size > options_.max_whole_shard_bytes) {
      return Fail(ErrorCode::kResourceExhausted, store_->Describe(generation.key),
                  ": is compressed as a whole and above the cap of ",
                  options_.max_whole_shard_bytes, " bytes");
    }
    UNSHARD_ASSIGN_OR_RETURN(const auto room,
                             EnterGate(options_.decoding.get(), 2 * size, deadline));
    HeldIndex whole = HeldOf(generation, Held::kOwn);
    if (whole.range != ByteRange{0, size}) {
      index_reads_.fetch_add(1, std::memory_order_relaxed);
      UNSHARD_ASSIGN_OR_RETURN(whole.bytes, ReadObject(generation, {0, size}, deadline));
    }
    auto decoded = format_->DecodeShard(std::move(whole.bytes), options_.max_whole_shard_bytes);
    if (!decoded) {
      const std::string described = store_->Describe(generation.key);
      return DamagedOrReplaced(generation, Forward(std::move(decoded).error(), described).value(),
                               deadline);
    }
    Hold(generation, Held::kOwn, {});
    auto shared = std::make_shared<const Bytes>(*std::move(decoded));
    const std::uint64_t bytes = shared->size();
    return IndexCache::Loaded{std::move(shared), bytes};
  };
  UNSHARD_ASSIGN_OR_RETURN(
      const IndexCache::Value value,
      cache_->Get({cache_owner_, generation.shard, generation.serial, kDecodedObject}, deadline,
                  std::ref(decode)));
  return *std::static_pointer_cast<const Bytes>(value);
}

Result<std::uint64_t> ShardSet::DecodedSize(const ShardGenerationPtr& generation,
                                            const Deadline& deadline) {
  if (!format_->has_outer_codecs()) return generation->object->info().size;
  UNSHARD_ASSIGN_OR_RETURN(const Bytes decoded, DecodedObject(*generation, deadline));
  return decoded.size();
}

Result<Bytes> ShardSet::ReadStored(const ShardGenerationPtr& generation, const ByteRange& range,
                                   const Deadline& deadline) {
  if (!generation->object) {
    return Fail(ErrorCode::kNotFound, store_->Describe(generation->key), ": expected a shard");
  }
  const auto beyond = [&] {
    return Fail(ErrorCode::kDataLoss, store_->Describe(generation->key),
                ": an index entry reaches beyond the end");
  };
  if (range == kDamagedRange) return beyond();
  if (format_->has_outer_codecs()) {
    UNSHARD_ASSIGN_OR_RETURN(const Bytes decoded, DecodedObject(*generation, deadline));
    if (!MakeByteRange(range.begin, range.size, decoded.size())) return beyond();
    return decoded.Slice(static_cast<std::size_t>(range.begin),
                         static_cast<std::size_t>(range.size));
  }
  if (!MakeByteRange(range.begin, range.size, generation->object->info().size)) return beyond();
  UNSHARD_ASSIGN_OR_RETURN(Bytes stored, ReadObject(*generation, range, deadline));
  if (stored.size() != range.size) return beyond();
  return stored;
}

std::optional<FileSlice> ShardSet::SliceStored(const ShardGenerationPtr& generation,
                                               const ByteRange& range) {
  if (!generation->object || format_->has_outer_codecs()) return std::nullopt;
  return generation->object->Slice(range);
}

}  // namespace unshard
