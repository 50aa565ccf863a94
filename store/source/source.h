// Opening what a volume is made of, by the scheme of its name: a directory, or a URL.
//
// A new kind of store is one source of this folder, and a line of the list of kinds below.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/local/file_system.h"
#include "store/local/source_identity.h"
#include "store/object/object_replacement.h"
#include "store/object/object_store.h"
#include "store/object/own_mount.h"
#include "store/object/store_contact.h"
#include "store/source/volume_options.h"
#include "store/source/watch_monitor.h"

namespace unshard {

struct SourceParts {
  std::shared_ptr<ObjectStore> store;
  std::shared_ptr<WatchMonitor> watcher;
  std::shared_ptr<OwnMount> own_mount;
  // Null where the source is only read.
  std::shared_ptr<ObjectReplacer> replacer;
  bool anonymous = false;  // requests are sent without credentials
  // Null also where files that are no shards are replaced whole, as shards are.
  std::shared_ptr<FileSystem> files;
  // What is heard of a store that can be written; null where there is no network.
  std::shared_ptr<StoreContact> contact;
  // Where no dataset was found: what to name instead, for the end of the message.
  std::function<std::string()> advice;
};

// The advice where the service has denied to list the bucket, in its words.
std::string UnlistedAdvice(const std::string& denied, const std::string& scheme);

// How the sources of one kind are opened.
struct SourceKind {
  std::vector<std::string_view> schemes = {};  // of its URLs; "": paths of directories
  // Whether it opens what is named, instead of the kind of its scheme. Null: it has schemes.
  bool (*takes)(const VolumeOptions& options) = nullptr;
  bool is_written = false;  // the kind can be, if not each of its sources
  // Fails, saying what to name instead, where `options` name no source that can be opened.
  Result<SourceParts> (*open)(const VolumeOptions& options,
                              const ChangeWatcher::Listener& on_change) = nullptr;
  // Where the objects of a URL are, which tells spools of two stores apart. Sends no request. Null
  // where nothing is written, and for directories.
  Result<std::string> (*locate)(const VolumeOptions& options) = nullptr;
};

// The kinds of sources, in the order of messages. Each is a function of this list, `SourceKind
// HttpSource()`, which a source of this folder defines.
#define UNSHARD_EACH_SOURCE_KIND(kind) \
  kind(DirectorySource) kind(GcsSource) kind(HttpSource) kind(S3Source) kind(ZipSource)

#define UNSHARD_DECLARE_SOURCE_KIND(kind) SourceKind kind();
UNSHARD_EACH_SOURCE_KIND(UNSHARD_DECLARE_SOURCE_KIND)
#undef UNSHARD_DECLARE_SOURCE_KIND

// Opens `options.source`, or `options.url` where that is one. `on_change` is notified of changes;
// without it nothing is watched. Fails with kInvalidArgument, listing the schemes that exist, where
// the scheme is none of them, and like ExpectFormat; else naming what is wrong with the source.
Result<SourceParts> OpenSource(const VolumeOptions& options,
                               const ChangeWatcher::Listener& on_change);

// Whether `source` is a scheme, "://" and more, and not the path of a directory ("./s3://…" is).
bool IsUrl(std::string_view source);
// A URL without user information, query and fragment, which may hold secrets.
std::string ShownUrl(std::string_view url);

// What `options.source` is, for its spools: a directory, or where its URL leads to. Sends no
// request. Fails like OpenSource where the source is none.
Result<SourceIdentity> IdentifyVolume(const VolumeOptions& options);

// Whether the source is of a kind that is only read, or shown so that it is.
bool IsOnlyRead(const VolumeOptions& options);

// Sets `source`, `url` and, where IsOnlyRead, `read_only`, from a URL. Fails like OpenSource for
// another scheme.
Status NameUrl(std::string_view url, VolumeOptions& options);

}  // namespace unshard
