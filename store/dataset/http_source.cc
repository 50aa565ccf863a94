#include "store/dataset/http_source.h"

#include "store/http/http_store.h"
#include "store/local/inotify_watcher.h"

namespace unshard {

Result<SourceParts> OpenHttpSource(const VolumeOptions& options, const ChangeWatcher::Listener&) {
  SourceParts parts;
  UNSHARD_ASSIGN_OR_RETURN(parts.store, OpenHttpStore(options.url, {}));
  parts.watcher = std::make_shared<WatchMonitor>(MakeNullWatcher());
  parts.own_mount = std::make_shared<OwnMount>();
  parts.advice = [] {
    return "name the URL of a dataset, since a server cannot be asked what lies below one";
  };
  return parts;
}

}  // namespace unshard
