#include "fs/common/option_table.h"

#include <algorithm>
#include <array>

#include "codec/core/escaped_text.h"
#include "codec/core/text.h"
#include "codec/pyramid/ome_version.h"
#include "codec/volume_file/volume_file.h"
#include "store/source/all_views.h"
#include "store/views/views.h"

namespace unshard {
namespace {

constexpr double kMostSeconds = 86400.0 * 365;
constexpr std::uint64_t kMostSpoolFiles = std::uint64_t{1} << 32;
constexpr unsigned kMostPublishThreads = 64;

tl::unexpected<Error> BadValue(const MountOption& option, std::string_view value,
                               std::string_view expected) {
  return Fail(ErrorCode::kInvalidArgument, "option ", option.name, "=", value, ": expected ",
              expected);
}

template <class T>
struct Choice {
  std::string_view name;
  T value;
};
constexpr std::array<Choice<ListMode>, 3> kListChoices = {
    {{"present", ListMode::kPresent}, {"grid", ListMode::kGrid}, {"none", ListMode::kNone}}};
constexpr std::array<Choice<MortonChoice>, 3> kMortonChoices = {
    {{"detect", MortonChoice::kDetect},
     {"standard", MortonChoice::kStandard},
     {"legacy", MortonChoice::kLegacy}}};
constexpr std::array<Choice<WatchMode>, 2> kWatchChoices = {
    {{"on", WatchMode::kAutomatic}, {"off", WatchMode::kOff}}};
constexpr std::array<Choice<SyncMode>, 2> kSyncChoices = {
    {{"spool", SyncMode::kSpool}, {"store", SyncMode::kStore}}};
constexpr std::array<Choice<bool>, 2> kZipChoices = {{{"file", false}, {"enter", true}}};
constexpr std::array<Choice<bool>, 2> kLossyChoices = {{{"yes", true}, {"no", false}}};

template <const auto& choices, auto member>
Status ApplyChoice(const MountOption& option, std::string_view value, MountOptions& options) {
  std::string expected;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].name == value) return void(options.*member = choices[i].value), Status{};
    if (i > 0) expected += i + 1 < choices.size() ? ", " : " or ";
    expected += choices[i].name;
  }
  return BadValue(option, value, expected);
}

template <const auto& choices, auto member>
JsonValue DescribeChoice(const MountOptions& options) {
  for (const auto& choice : choices) {
    if (choice.value == options.*member) return JsonValue::String(std::string(choice.name));
  }
  return JsonValue();
}

template <auto member>
Status ApplySeconds(const MountOption& option, std::string_view value, MountOptions& options) {
  const auto seconds = ParseNumber<double>(value);
  if (!seconds || !(*seconds >= 0) || *seconds > kMostSeconds) {
    return BadValue(option, value, "a number of seconds");
  }
  options.*member = static_cast<std::uint64_t>(*seconds * 1000);
  return {};
}

template <auto member, unsigned least_megabytes>
Status ApplyBytes(const MountOption& option, std::string_view value, MountOptions& options) {
  const auto bytes = ParseByteCount(value);
  if (!bytes || *bytes < (std::uint64_t{least_megabytes} << 20)) {
    return BadValue(
        option, value,
        "a number of bytes of at least " + std::to_string(least_megabytes) + "M, for example 512M");
  }
  options.*member = *bytes;
  return {};
}

template <auto member, auto most>
Status ApplyCount(const MountOption& option, std::string_view value, MountOptions& options) {
  const auto count = ParseNumber<std::remove_const_t<decltype(most)>>(value);
  if (!count || *count == 0 || *count > most) {
    return BadValue(option, value, "a number from 1 to " + std::to_string(most));
  }
  options.*member = *count;
  return {};
}

constexpr std::string_view kDirectory = "a directory";
constexpr std::string_view kServiceUrl = "the URL of a service: https://host[:port]";
constexpr std::string_view kRegionOfS3 = "a region of S3: us-east-1";
constexpr std::string_view kProfileOfAws = "a profile of ~/.aws/config";

// Any text but the empty one; `expected`: what it names.
template <const auto& expected, auto member>
Status ApplyText(const MountOption& option, std::string_view value, MountOptions& options) {
  if (value.empty()) return BadValue(option, value, expected);
  options.*member = value;
  return {};
}

template <auto member>
Status ApplyId(const MountOption& option, std::string_view value, MountOptions& options) {
  const auto id = ParseNumber<std::uint32_t>(value);
  // The largest number stands for no user in chown(2).
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  if (!id || *id == kNone) return BadValue(option, value, "a decimal number below 4294967295");
  options.*member = *id;
  return {};
}

template <auto member>
Status ApplyMask(const MountOption& option, std::string_view value, MountOptions& options) {
  const auto mask = ParseNumber<std::uint32_t>(value, 8);
  if (!mask || *mask > 0777) return BadValue(option, value, "an octal mask up to 777");
  options.*member = *mask;
  return {};
}

template <auto member>
Status ApplyTrue(const MountOption&, std::string_view, MountOptions& options) {
  options.*member = true;
  return {};
}

Status ApplyView(const MountOption& option, std::string_view value, MountOptions& options) {
  if (value != kAllViews && FindView(value) == nullptr) {
    return BadValue(option, value, ViewNames() + ", " + std::string(kAllViews));
  }
  options.view = value;
  return {};
}

Status ApplyViewCodec(const MountOption& option, std::string_view value, MountOptions& options) {
  if (!FindViewCodec(value)) return BadValue(option, value, ViewCodecNames());
  options.view_codec = value;
  return {};
}

Status ApplyOme(const MountOption& option, std::string_view value, MountOptions& options) {
  if (FindOmeVersion(value) == nullptr) return BadValue(option, value, OmeVersionNames());
  options.ome = value;
  return {};
}

// "npy:nii"; a comma would separate options.
Status ApplyFiles(const MountOption& option, std::string_view value, MountOptions& options) {
  options.files.clear();
  for (std::string_view rest = value;;) {
    const std::size_t colon = rest.find(':');
    const std::string_view format = rest.substr(0, colon);
    if (FindVolumeFileFormat(format) == nullptr) {
      return BadValue(option, value, "some of npy, nii, nrrd and raw, with colons between them");
    }
    if (!IsOneOf(options.files, format)) options.files.emplace_back(format);
    if (colon == std::string_view::npos) return {};
    rest.remove_prefix(colon + 1);
  }
}

Status ApplyShard(const MountOption& option, std::string_view value, MountOptions& options) {
  auto shards = ParseShardTemplate(value);
  if (!shards) return BadValue(option, value, "extents, 256x256x512, or numbers of chunks, 8c");
  options.shard = *std::move(shards);
  return {};
}

Status ApplyImmutable(const MountOption&, std::string_view, MountOptions& options) {
  options.immutable = options.read_only = true;
  return {};
}

Status ApplyReadOnly(const MountOption&, std::string_view, MountOptions& options) {
  options.read_only = true;
  options.must_write = false;
  return {};
}

Status ApplyReadWrite(const MountOption&, std::string_view, MountOptions& options) {
  options.read_only = options.immutable;
  options.must_write = true;
  return {};
}

template <auto member>
JsonValue DescribeText(const MountOptions& options) {
  return JsonValue::String(EscapeBytes(options.*member));
}

template <auto member>
JsonValue DescribeNumber(const MountOptions& options) {
  return JsonValue::Number(std::uint64_t{options.*member});
}

template <auto member>
JsonValue DescribeBoolean(const MountOptions& options) {
  return JsonValue::Boolean(options.*member);
}

template <auto member>
JsonValue DescribeMask(const MountOptions& options) {
  const auto& mask = options.*member;
  return mask ? JsonValue::Number(std::uint64_t{*mask}) : JsonValue();
}

JsonValue DescribeFiles(const MountOptions& options) {
  JsonValue files = JsonValue::Array();
  for (const std::string& format : options.files) {
    files.mutable_items().push_back(JsonValue::String(format));
  }
  return files;
}

JsonValue DescribeShard(const MountOptions& options) {
  return options.shard ? JsonValue::String(options.shard->text) : JsonValue();
}

using O = MountOptions;
constexpr MountOption kMountOptions[] = {
    {"view", "native|raw|precomputed|zarr3|zarr2|n5|all", "native",
     "Format in which the mount shows datasets. native: their own format, without shards. raw: the "
     "same without compression. all: every format, each in a directory of its name.",
     "Pyramids have OME-Zarr or N5 metadata in the other formats. What is written into a view is "
     "stored in the encoding of the source. A source that a format cannot express is refused, with "
     "the reason; with all, the directory of that format is missing, and status.json has the "
     "reason.",
     ApplyView, "view", DescribeText<&O::view>},
    {"view_codec", "none|gzip|zstd|blosc", "none",
     "Compression of the chunks that a view in another format has to encode again.",
     "With none the sizes of chunks are known without encoding them. Views in precomputed format "
     "have no compression.",
     ApplyViewCodec, "view_codec", DescribeText<&O::view_codec>},
    {"ome", "0.4|0.5|0.6", "",
     "Version of OME-Zarr that the views zarr2 (0.4) and zarr3 (0.5, 0.6) show.",
     "Without it views show the version of the source if their format has it, else 0.4 or 0.5. "
     "What a version cannot express, such as further coordinate systems, is left out, and the log "
     "says so.",
     ApplyOme, "ome", DescribeText<&O::ome>},
    {"files", "npy|nii|nrrd|raw|FORMAT:FORMAT...", "",
     "Also show each array as one file of all its voxels, files/PATH.FORMAT. Several formats have "
     "colons between them: files=npy:nii.",
     "If the source is one array, the file is files/volume.FORMAT. The format raw has the voxels "
     "alone. These files are read-only; programs can read, seek and map them, and chunks are "
     "decoded when they are read. If a format cannot express an array, there is no such file: "
     "`unshard info` on the source and `unshard why` on the path say the reason.",
     ApplyFiles, "files", DescribeFiles},
    {"zip", "file|enter", "file",
     "How ZIP archives (.ozx, .zip) below a directory are shown. file: as files. enter: as "
     "directories, read-only.",
     "Changes are then looked for every ttl= milliseconds.",
     ApplyChoice<kZipChoices, &O::enters_zips>, "zip",
     DescribeChoice<kZipChoices, &O::enters_zips>},
    {"lossy", "yes|no", "no",
     "Whether chunks that are written into a view may be stored in a lossy encoding (jpeg, jxl).",
     "With no, such arrays cannot be written through a view of another encoding.",
     ApplyChoice<kLossyChoices, &O::lossy>, "lossy", DescribeBoolean<&O::lossy>},
    {"list", "present|grid|none", "present",
     "What chunk directories list. present: the stored chunks and the directories that hold some. "
     "grid: also the directories that hold none. none: no chunks.",
     "Each chunk can be opened by its name, whether or not it is listed. For a URL, grid lists "
     "every chunk of the grid, also the absent ones, without a request; so does present if there "
     "may be more than 4096 shards. If the index of a shard cannot be read, its chunks are missing "
     "from the listing, which then fails with EIO after all other names.",
     ApplyChoice<kListChoices, &O::list>, "list", DescribeChoice<kListChoices, &O::list>},
    {"morton", "detect|standard|legacy", "detect",
     "Rule that numbers precomputed chunks. legacy: the rule of some writers before June 2021. "
     "detect: find the rule in the data.",
     "While detect can read none of the data, requests for chunks that the two rules place "
     "differently fail.",
     ApplyChoice<kMortonChoices, &O::morton>, "morton", DescribeChoice<kMortonChoices, &O::morton>},
    {"watch", "on|off", "on",
     "Follow changes that other programs make in the source, by inotify(7).",
     "This concerns shards and metadata.", ApplyChoice<kWatchChoices, &O::watch>, "watch",
     DescribeChoice<kWatchChoices, &O::watch>},
    {"ttl", "SECONDS", "1",
     "How long the mount trusts what it has read where inotify reports no changes.",
     "This applies on network file systems, with watch=off, in directories that cannot be watched "
     "because no watches are left or the user may not read them, and for sizes and absent chunks "
     "behind a URL. The member watched of status.json is false then, and stays false until the "
     "unmount once one directory could not be watched.",
     ApplySeconds<&O::ttl_milliseconds>, "ttl_milliseconds", DescribeNumber<&O::ttl_milliseconds>},
    {"immutable", "", "",
     "The source never changes: watch nothing and revalidate nothing. Implies ro.", "",
     ApplyImmutable, "immutable", DescribeBoolean<&O::immutable>},
    {"ro", "", "", "Forbid writing.", "", ApplyReadOnly, "read_only",
     DescribeBoolean<&O::read_only>},
    {"rw", "", "", "Fail if the source cannot be written.",
     "Without ro and rw such a source is mounted read-only, with a warning. Mounting a bucket "
     "writes nothing: the first open that writes finds out whether its store can be written.",
     ApplyReadWrite, "", nullptr},
    {"spool", "DIR", "~/.local/state/unshard/spool",
     "Folder in which written chunks wait until their shard is rewritten.",
     "Each writable mount makes a spool of its own in this folder, which should be on a local "
     "disk. The default is $XDG_STATE_HOME/unshard/spool if that variable is set, and "
     "/var/lib/unshard/spool for users without a home. The folder is made for its owner alone "
     "(mode 0700); if it belongs to another user, or others may enter it, it is refused.",
     ApplyText<kDirectory, &O::spool>, "spool", DescribeText<&O::spool>},
    {"spool_size", "BYTES", "4G",
     "Cap on the bytes in the spool; at most half of the free space of its disk.",
     "What the spool holds counts half as free. Beyond a cap writers wait until chunks are "
     "published, and readers do not. Writing fails with ENOSPC only if publishing fails as well, "
     "or the store is unreachable.",
     ApplyBytes<&O::spool_bytes, 1>, "spool_bytes", DescribeNumber<&O::spool_bytes>},
    {"spool_files", "N", "131072", "Cap on the files in the spool.", "",
     ApplyCount<&O::spool_files, kMostSpoolFiles>, "spool_files", DescribeNumber<&O::spool_files>},
    {"publish_after", "SECONDS", "5",
     "Rewrite a shard once none of its chunks has been written for this long.",
     "A shard that is written continuously is rewritten after ten times as long.",
     ApplySeconds<&O::publish_after_milliseconds>, "publish_after_milliseconds",
     DescribeNumber<&O::publish_after_milliseconds>},
    {"publish_threads", "N", "2", "How many shards are rewritten at the same time.", "",
     ApplyCount<&O::publish_threads, kMostPublishThreads>, "publish_threads",
     DescribeNumber<&O::publish_threads>},
    {"sync", "spool|store", "spool",
     "What fsync(2) waits for. spool: the chunk survives a power loss in the spool. store: the "
     "chunk is in its shard.",
     "", ApplyChoice<kSyncChoices, &O::sync>, "sync", DescribeChoice<kSyncChoices, &O::sync>},
    {"strict", "", "",
     "Never replace a chunk that another program has changed since it was read here: quarantine "
     "the new chunk instead.",
     "The quarantined chunk stays in the spool; flush and umount name it and end with 1 until it "
     "is dropped. The same happens to a chunk or a file that was written while a remote store was "
     "unreachable, if the store turns out to have one. Without this option the last writer wins.",
     ApplyTrue<&O::strict>, "strict", DescribeBoolean<&O::strict>},
    {"single_writer", "", "", "Promise that no other host writes the source.",
     "File systems without locks between hosts (NFS mounted with nolock, sshfs, rclone and such), "
     "and object stores that ignore conditional writes, are writable only with this promise. "
     "Without it such a file system is mounted read-only, with a warning, and writing to such a "
     "store fails.",
     ApplyTrue<&O::single_writer>, "single_writer", DescribeBoolean<&O::single_writer>},
    {"shard", "SHAPE", "",
     "Store new Zarr v3 arrays in shards of this shape: in elements (256x1024x1024) or in chunks "
     "(8c, 1cx8cx8c).",
     "The mount shows these arrays as they were written. Arrays of another rank, and arrays that "
     "fit into one chunk, are stored as they were written.",
     ApplyShard, "shard", DescribeShard},
    {"anonymous", "", "",
     "s3://, gs://: look for no credentials and sign no request; for public buckets.", "",
     ApplyTrue<&O::anonymous>, "anonymous", DescribeBoolean<&O::anonymous>},
    {"allow_http", "", "", "s3://: send requests by plain http also to other hosts.",
     "Every host on the way can read and change such requests. Without this option plain http goes "
     "only to this machine.",
     ApplyTrue<&O::allow_http>, "allow_http", DescribeBoolean<&O::allow_http>},
    {"endpoint", "URL", "", "s3://, gs://: the service that has the bucket.",
     "In place of AWS_ENDPOINT_URL_S3, or of CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE.",
     ApplyText<kServiceUrl, &O::endpoint>, "endpoint", DescribeText<&O::endpoint>},
    {"region", "NAME", "", "s3://: the region of the bucket.", "In place of AWS_REGION.",
     ApplyText<kRegionOfS3, &O::region>, "region", DescribeText<&O::region>},
    {"profile", "NAME", "",
     "s3://: the profile of ~/.aws/config and ~/.aws/credentials that signs requests.",
     "In place of AWS_PROFILE, and of keys in the environment.",
     ApplyText<kProfileOfAws, &O::profile>, "profile", DescribeText<&O::profile>},
    {"cache", "DIR", "",
     "Keep indexes and chunks of remote sources in this folder, also for later mounts.",
     "A later mount then needs no request for an index that it has, and none for the chunks of an "
     "immutable source. Any number of mounts can share one folder, and it can be removed at any "
     "time. It is made for its owner alone (mode 0700), and refused if others may enter it.",
     ApplyText<kDirectory, &O::cache>, "cache", DescribeText<&O::cache>},
    {"cache_size", "BYTES", "4G", "Cap on the bytes in the folder of cache=.", "",
     ApplyBytes<&O::cache_bytes, 16>, "cache_bytes", DescribeNumber<&O::cache_bytes>},
    {"memory", "BYTES", "512M",
     "Cap on the memory of all caches together: shard indexes and decoded data.", "At least 16M.",
     ApplyBytes<&O::memory_bytes, 16>, "memory_bytes", DescribeNumber<&O::memory_bytes>},
    {"uid", "N", "", "Owner of the files shown; otherwise the user who mounts.", "",
     ApplyId<&O::user>, "", nullptr},
    {"gid", "N", "", "Group of the files shown; otherwise the group of the user who mounts.", "",
     ApplyId<&O::group>, "", nullptr},
    {"umask", "OCTAL", "022",
     "Permissions that files and directories lack: 002 lets the group write.",
     "By default all users who may enter the mount can read, and the owner can write; but on a "
     "writable mount files that pass through have their permissions in SRC.",
     ApplyMask<&O::umask>, "umask", DescribeMask<&O::umask>},
    {"fmask", "OCTAL", "", "The same for files alone.", "", ApplyMask<&O::file_mask>, "fmask",
     DescribeMask<&O::file_mask>},
    {"dmask", "OCTAL", "", "The same for directories alone.", "", ApplyMask<&O::directory_mask>,
     "dmask", DescribeMask<&O::directory_mask>},
    {"allow_other", "", "", "Let other users enter the mount; see fuse.conf(5).",
     "The daemon reads and writes for them as the user who mounted, and the permissions of the "
     "shards in SRC do not count: all who enter can read the chunks of a shard that has mode 0600 "
     "there, unless umask=, fmask= or dmask= forbid it.",
     ApplyTrue<&O::allow_other>, "allow_other", DescribeBoolean<&O::allow_other>},
    {"no_io_uring", "", "",
     "Read requests from /dev/fuse, also where the kernel offers them over io_uring, which is "
     "faster.",
     "The kernel offers that from Linux 6.14 on, if root has switched it on with the kernel "
     "parameter fuse.enable_uring=1, or by writing Y to /sys/module/fuse/parameters/enable_uring. "
     "Only mounts of directories use io_uring.",
     ApplyTrue<&O::no_io_uring>, "no_io_uring", DescribeBoolean<&O::no_io_uring>},
};

constexpr std::size_t kTextColumn = 26;
constexpr std::size_t kLastColumn = 88;

// `text` in lines between two columns; the first one begins behind `line`.
std::string Wrapped(std::string line, std::string_view text) {
  std::string result;
  if (line.size() + 2 > kTextColumn) {
    result = line + "\n";
    line.clear();
  }
  line.resize(kTextColumn, ' ');
  bool first = true;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    if (!first && line.size() + 1 + space > kLastColumn) {
      result += line + "\n";
      line = std::string(kTextColumn, ' ');
      first = true;
    }
    line += (first ? "" : " ") + std::string(text.substr(0, space));
    first = false;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return result + line + "\n";
}

}  // namespace

std::span<const MountOption> MountOptionTable() { return kMountOptions; }

const MountOption* FindMountOption(std::string_view name) {
  const auto found = std::ranges::find(kMountOptions, name, &MountOption::name);
  return found == std::end(kMountOptions) ? nullptr : &*found;
}

std::string MountOptionsHelp() {
  std::string help = "Options (-o), separated by commas:\n";
  for (const MountOption& option : kMountOptions) {
    std::string text(option.text);
    if (!option.fallback.empty()) text += " Default: " + std::string(option.fallback) + ".";
    help += Wrapped("  " + std::string(option.name) + (option.takes_value() ? "=" : "") +
                        std::string(option.values),
                    text);
  }
  return help;
}

JsonValue MountOptionsJson() {
  JsonValue rows = JsonValue::Array();
  for (const MountOption& option : kMountOptions) {
    JsonValue row = JsonValue::Object();
    row.Set("name", JsonValue::String(std::string(option.name)));
    row.Set("values", JsonValue::String(std::string(option.values)));
    row.Set("default", JsonValue::String(std::string(option.fallback)));
    row.Set("text", JsonValue::String(std::string(option.text)));
    row.Set("details", JsonValue::String(std::string(option.details)));
    rows.mutable_items().push_back(std::move(row));
  }
  return rows;
}

}  // namespace unshard
