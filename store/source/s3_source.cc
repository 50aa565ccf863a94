// Sources behind s3:// URLs: with listings and without events.
#include <map>
#include <string>
#include <utility>

#include "store/local/inotify_watcher.h"
#include "store/object/key.h"
#include "store/s3/credentials.h"
#include "store/s3/endpoint.h"
#include "store/s3/profiles.h"
#include "store/s3/s3_store.h"
#include "store/source/source.h"

namespace unshard {
namespace {

// The environment, with the options of the mount in place of what they name.
Environment EnvironmentOf(const VolumeOptions& options) {
  std::map<std::string, std::string> given;
  if (!options.endpoint.empty()) {
    given["AWS_ENDPOINT_URL_S3"] = options.endpoint;
    given["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "false";
  }
  if (!options.region.empty()) given["AWS_REGION"] = options.region;
  if (!options.profile.empty()) {
    given["AWS_PROFILE"] = options.profile;
    // They would come before the profile.
    for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
                             "AWS_WEB_IDENTITY_TOKEN_FILE"}) {
      given[name] = "";
    }
  }
  return [given = std::move(given), process = ProcessEnvironment()](const std::string& name) {
    const auto found = given.find(name);
    return found == given.end() ? process(name) : found->second;
  };
}

// Sends one request, for the first name of a listing.
Result<SourceParts> OpenS3Source(const VolumeOptions& options, const ChangeWatcher::Listener&) {
  SourceParts parts;
  parts.contact = std::make_shared<StoreContact>();
  S3Options s3;
  s3.environment = EnvironmentOf(options);
  s3.http.contact = parts.contact;
  s3.anonymous = options.anonymous;
  s3.http.allow_http = options.allow_http;
  s3.remote.contact = parts.contact;
  s3.remote.single_writer = options.single_writer;
  s3.remote.removals = Removals::kAfterALook;  // shards are never removed, files have to be
  s3.asks_for_listing = true;
  UNSHARD_ASSIGN_OR_RETURN(S3Store store, OpenS3Store(options.url, s3));
  parts.store = std::move(store.objects);
  parts.anonymous = store.anonymous;
  if (!options.read_only) parts.replacer = std::move(store.replacer);
  parts.watcher = std::make_shared<WatchMonitor>(MakeNullWatcher());
  parts.own_mount = std::make_shared<OwnMount>();
  parts.advice = [denied = store.listing_denied]() -> std::string {
    if (denied.empty()) return "name the URL of a dataset, or one above several";
    return UnlistedAdvice(denied, "s3");
  };
  return parts;
}

// The bucket's URL at its endpoint, and the prefix: "https://host/bucket/prefix"; "s3://bucket/…"
// on AWS itself.
Result<std::string> LocateS3Source(const VolumeOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const S3Url url, ParseS3Url(options.url));
  const Environment environment = EnvironmentOf(options);
  UNSHARD_ASSIGN_OR_RETURN(const AwsProfiles profiles, ReadProfiles(environment));
  const auto profile = profiles.find(ProfileName(environment));
  S3Settings settings =
      ReadS3Settings(environment, profile == profiles.end() ? AwsProfile() : profile->second);
  settings.allow_http = options.allow_http;
  UNSHARD_ASSIGN_OR_RETURN(const S3Endpoint endpoint, MakeS3Endpoint(url.bucket, settings));
  if (endpoint.of_aws) return JoinPath("s3://" + url.bucket, url.prefix);
  return JoinPath(endpoint.bucket.Described(), url.prefix);
}

}  // namespace

SourceKind S3Source() {
  return {.schemes = {"s3"}, .is_written = true, .open = OpenS3Source, .locate = LocateS3Source};
}

}  // namespace unshard
