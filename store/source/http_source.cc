// Sources behind http and https URLs: read-only, without listings and without events.
#include "store/http/http_store.h"
#include "store/local/inotify_watcher.h"
#include "store/source/source.h"

namespace unshard {
namespace {

// Sends no request.
Result<SourceParts> OpenHttpSource(const VolumeOptions& options, const ChangeWatcher::Listener&) {
  SourceParts parts;
  UNSHARD_ASSIGN_OR_RETURN(parts.store, OpenHttpStore(options.url, {}));
  parts.watcher = std::make_shared<WatchMonitor>(MakeNullWatcher());
  parts.own_mount = std::make_shared<OwnMount>();
  parts.advice = [] {
    return "name the URL of a dataset itself, because a server cannot list the datasets below a "
           "URL";
  };
  return parts;
}

}  // namespace

SourceKind HttpSource() {
  return {.schemes = {"http", "https"}, .is_written = false, .open = OpenHttpSource};
}

}  // namespace unshard
