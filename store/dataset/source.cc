#include "store/dataset/source.h"

#include <algorithm>
#include <array>

#include "store/dataset/directory_source.h"
#include "store/dataset/gcs_source.h"
#include "store/dataset/http_source.h"
#include "store/dataset/s3_source.h"

namespace unshard {
namespace {

struct Scheme {
  std::string_view name;  // "": directories
  bool is_written;
  Result<SourceParts> (*open)(const VolumeOptions&, const ChangeWatcher::Listener&);
  // Where the objects of its URLs are; null where nothing is written.
  Result<std::string> (*locate)(const VolumeOptions&) = nullptr;
};

constexpr std::array<Scheme, 5> kSchemes = {{{"", true, OpenDirectorySource},
                                             {"gs", true, OpenGcsSource, LocateGcsSource},
                                             {"http", false, OpenHttpSource},
                                             {"https", false, OpenHttpSource},
                                             {"s3", true, OpenS3Source, LocateS3Source}}};

constexpr std::string_view kAfterScheme = "://";

// Lower case, as far as it may be one (RFC 3986, 3.1); "" where `source` is no URL.
std::string SchemeOf(std::string_view source) {
  const std::size_t end = source.find(kAfterScheme);
  if (end == std::string_view::npos || end == 0) return "";
  std::string scheme(source.substr(0, end));
  for (char& c : scheme) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool letter = c >= 'a' && c <= 'z';
    const bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!letter && !(other && &c != scheme.data())) return "";
  }
  return scheme;
}

Result<const Scheme*> FindScheme(std::string_view source) {
  const std::string name = SchemeOf(source);
  const auto found = std::find_if(kSchemes.begin(), kSchemes.end(),
                                  [&](const Scheme& scheme) { return scheme.name == name; });
  if (found != kSchemes.end()) return &*found;
  std::string known;
  for (const Scheme& scheme : kSchemes) {
    if (scheme.name.empty()) continue;
    known += (known.empty() ? "" : ", ") + std::string(scheme.name) + "://";
  }
  return Fail(ErrorCode::kInvalidArgument, ShownUrl(source) + ": sources of the scheme " + name +
                                               ":// are not supported; expected " + known +
                                               " or the path of a directory");
}

}  // namespace

bool IsUrl(std::string_view source) { return !SchemeOf(source).empty(); }

std::string ShownUrl(std::string_view url) {
  std::string shown(url.substr(0, url.find_first_of("?#")));
  const std::size_t host = shown.find(kAfterScheme) + kAfterScheme.size();
  const std::size_t end = std::min(shown.find('/', host), shown.size());
  const std::size_t at = end > host ? shown.rfind('@', end - 1) : std::string::npos;
  if (at != std::string::npos && at >= host) shown.erase(host, at + 1 - host);
  while (shown.size() > host && shown.ends_with('/')) shown.pop_back();
  return shown;
}

Status NameUrl(std::string_view url, VolumeOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const Scheme* scheme, FindScheme(url));
  options.url = url;
  options.source = ShownUrl(url);
  if (!scheme->is_written) options.read_only = true;
  return {};
}

Result<SourceIdentity> IdentifyVolume(const VolumeOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const Scheme* scheme,
                           FindScheme(options.url.empty() ? options.source : options.url));
  if (scheme->name.empty()) return IdentifySource(options.source);
  SourceIdentity identity;
  identity.url = options.source;
  if (scheme->locate != nullptr) {
    UNSHARD_ASSIGN_OR_RETURN(identity.url, scheme->locate(options));
  }
  return identity;
}

Result<SourceParts> OpenSource(const VolumeOptions& options,
                               const ChangeWatcher::Listener& on_change) {
  UNSHARD_ASSIGN_OR_RETURN(const Scheme* scheme,
                           FindScheme(options.url.empty() ? options.source : options.url));
  return scheme->open(options, on_change);
}

}  // namespace unshard
