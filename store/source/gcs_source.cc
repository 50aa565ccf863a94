// Sources in Google Cloud Storage: without events.
#include <utility>

#include "store/gcs/endpoint.h"
#include "store/gcs/environment.h"
#include "store/gcs/gcs_store.h"
#include "store/local/inotify_watcher.h"
#include "store/object/key.h"
#include "store/source/source.h"

namespace unshard {
namespace {

// The environment, with the options of the mount in place of what they name.
GcsEnvironment GcsEnvironmentOf(const VolumeOptions& options) {
  GcsEnvironment environment = ReadGcsEnvironment();
  if (options.endpoint.empty()) return environment;
  environment.emulator_host.clear();
  environment.endpoint = options.endpoint;
  return environment;
}

// Sends one request, as the environment says (store/gcs/environment.h).
Result<SourceParts> OpenGcsSource(const VolumeOptions& options, const ChangeWatcher::Listener&) {
  SourceParts parts;
  parts.contact = std::make_shared<StoreContact>();
  GcsStoreOptions gcs;
  gcs.http.contact = parts.contact;
  gcs.anonymous = options.anonymous;
  gcs.read_only = options.read_only || options.immutable;
  gcs.remote.contact = parts.contact;
  gcs.remote.single_writer = options.single_writer;
  gcs.remote.removals = Removals::kAfterALook;  // shards are never removed, files have to be
  UNSHARD_ASSIGN_OR_RETURN(GcsStore store,
                           OpenGcsStore(options.url, GcsEnvironmentOf(options), gcs));
  parts.store = std::move(store.objects);
  parts.anonymous = store.anonymous;
  if (!options.read_only) parts.replacer = std::move(store.replacer);
  parts.watcher = std::make_shared<WatchMonitor>(MakeNullWatcher());
  parts.own_mount = std::make_shared<OwnMount>();
  parts.advice = [denied = store.listing_denied]() -> std::string {
    if (denied.empty()) return "name the gs:// URL of a dataset, or one above several";
    return UnlistedAdvice(denied, "gs");
  };
  return parts;
}

// "gs://bucket/prefix"; of an emulator its URL, the bucket and the prefix.
Result<std::string> LocateGcsSource(const VolumeOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const GcsLocation location, ParseGcsUrl(options.url));
  const GcsEnvironment environment = GcsEnvironmentOf(options);
  UNSHARD_ASSIGN_OR_RETURN(const GcsEndpoint endpoint,
                           MakeGcsEndpoint(environment.emulator_host, environment.endpoint));
  // Private endpoints lead to the same buckets.
  if (!endpoint.is_emulator) return location.Describe("");
  return JoinPath(JoinPath(endpoint.base.Described(), location.bucket), location.prefix);
}

}  // namespace

SourceKind GcsSource() {
  return {.schemes = {"gs"}, .is_written = true, .open = OpenGcsSource, .locate = LocateGcsSource};
}

}  // namespace unshard
