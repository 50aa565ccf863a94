// ZIP archives as sources, in a directory or behind a URL: read-only, with listings.
#include <chrono>
#include <utility>

#include "store/local/file_store.h"
#include "store/local/inotify_watcher.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/source/document_names.h"
#include "store/source/memory_shares.h"
#include "store/source/source.h"
#include "store/source/zip_place.h"
#include "store/zip/zip_store.h"

namespace unshard {
namespace {

// A look-up of a name adds at most so much of the ttl to the time until a change is seen.
constexpr unsigned kShareOfTtl = 4;

// The store that the archive is an object of.
Result<SourceParts> OpenAbove(const VolumeOptions& options, const ZipPlace& place) {
  if (options.url.empty()) {
    SourceParts parts;
    UNSHARD_ASSIGN_OR_RETURN(parts.store, OpenFileStore(place.above, 2));
    parts.own_mount = std::make_shared<OwnMount>();
    return parts;
  }
  VolumeOptions above = options;
  above.read_only = true;
  above.format.clear();
  above.inside_zip.reset();
  above.url = place.above;
  above.source = ShownUrl(place.above);
  return OpenSource(above, nullptr);
}

Status ExpectDirectory(ZipStore& store, const std::string& inside) {
  UNSHARD_ASSIGN_OR_RETURN(const auto archive, store.Current(CallerDeadline()));
  if (!archive) return Fail(ErrorCode::kNotFound, store.Describe(""), ": there is no such file");
  if (archive->directory().IsDirectory(inside)) return {};
  return Fail(ErrorCode::kNotFound, store.Describe(""), ": the archive has no such directory");
}

// RFC-9 of OME-Zarr: other readers look nowhere else.
void WarnOfMissingRoot(ZipStore& store, const ZipPlace& place) {
  if (!HasOzxName(place.key) || !place.inside.empty()) return;
  const auto document = store.Stat(kZarrDocument, CallerDeadline());
  if (!document || *document) return;
  LogWarning(store.Describe("") + ": has no " + std::string(kZarrDocument) +
             " at its root, as RFC-9 demands of an .ozx archive; other readers may refuse it");
}

// Sends one request beside those of the store above, unless the directory is long.
Result<SourceParts> OpenZipSource(const VolumeOptions& options, const ChangeWatcher::Listener&) {
  const auto place = FindZip(options);
  if (!place) return Fail(ErrorCode::kNotFound, options.source, ": there is no such archive");
  UNSHARD_ASSIGN_OR_RETURN(SourceParts parts, OpenAbove(options, *place));
  const auto store = std::make_shared<ZipStore>(std::move(parts.store), place->key, place->inside,
                                                ZipOptionsOf(options));
  UNSHARD_RETURN_IF_ERROR(ExpectDirectory(*store, place->inside));
  WarnOfMissingRoot(*store, *place);
  parts.store = store;
  parts.replacer = nullptr;
  parts.files = nullptr;
  parts.watcher = std::make_shared<WatchMonitor>(MakeNullWatcher());
  parts.advice = [] {
    return std::string("name a directory of the archive: ARCHIVE|zip:DIRECTORY/");
  };
  return parts;
}

}  // namespace

ZipStoreOptions ZipOptionsOf(const VolumeOptions& options) {
  const MemoryShares memory(options.memory_bytes);
  ZipStoreOptions zip;
  zip.believed = std::chrono::milliseconds(options.ttl_milliseconds) / kShareOfTtl;
  zip.immutable = options.immutable;
  zip.max_inflated_bytes = memory.whole_shard;
  zip.inflated_cache_bytes = memory.chunk;
  return zip;
}

SourceKind ZipSource() {
  return {.takes = [](const VolumeOptions& options) { return FindZip(options).has_value(); },
          .is_written = false,
          .open = OpenZipSource};
}

}  // namespace unshard
