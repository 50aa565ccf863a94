#include "store/dataset/http_source.h"

#include "store/local/inotify_watcher.h"

namespace unshard {

Result<SourceParts> OpenHttpSource(const VolumeOptions& options, const ChangeWatcher::Listener&) {
  return Fail(ErrorCode::kNotSupported, options.source + ": this build has no HTTP client");
}

}  // namespace unshard
