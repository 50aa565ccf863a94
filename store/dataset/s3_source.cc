#include "store/dataset/s3_source.h"

#include "store/local/inotify_watcher.h"
#include "store/s3/s3_store.h"

namespace unshard {

Result<SourceParts> OpenS3Source(const VolumeOptions& options, const ChangeWatcher::Listener&) {
  S3Options s3;
  s3.anonymous = options.anonymous;
  s3.http.allow_http = options.allow_http;
  SourceParts parts;
  UNSHARD_ASSIGN_OR_RETURN(S3Store store, OpenS3Store(options.url, s3));
  parts.store = std::move(store.objects);
  if (!options.read_only) parts.replacer = std::move(store.replacer);
  parts.watcher = std::make_shared<WatchMonitor>(MakeNullWatcher());
  parts.own_mount = std::make_shared<OwnMount>();
  parts.advice = [] { return "name the URL of a dataset, or one above several"; };
  return parts;
}

}  // namespace unshard
