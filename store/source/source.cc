#include "store/source/source.h"

#include <algorithm>

#include "store/source/named_source.h"

namespace unshard {
namespace {

const std::vector<SourceKind>& Kinds() {
#define UNSHARD_VALUE_OF(kind) kind(),
  static const std::vector<SourceKind> kinds{UNSHARD_EACH_SOURCE_KIND(UNSHARD_VALUE_OF)};
#undef UNSHARD_VALUE_OF
  return kinds;
}

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

Result<const SourceKind*> FindKindOfScheme(std::string_view source) {
  const std::string name = SchemeOf(source);
  std::string known;
  for (const SourceKind& kind : Kinds()) {
    for (const std::string_view scheme : kind.schemes) {
      if (scheme == name) return &kind;
      if (!scheme.empty()) known += (known.empty() ? "" : ", ") + std::string(scheme) + "://";
    }
  }
  return Fail(ErrorCode::kInvalidArgument, ShownUrl(source), ": sources of the scheme ", name,
              ":// are not supported; expected ", known, " or the path of a directory");
}

Result<const SourceKind*> FindKind(const VolumeOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const SourceKind* of_scheme,
                           FindKindOfScheme(options.url.empty() ? options.source : options.url));
  for (const SourceKind& kind : Kinds()) {
    if (kind.takes != nullptr && kind.takes(options)) return &kind;
  }
  return of_scheme;
}

}  // namespace

std::string UnlistedAdvice(const std::string& denied, const std::string& scheme) {
  return "the bucket cannot be listed, so files that may not be read look missing: " + denied +
         "; name the " + scheme + ":// URL of a dataset, and use a credential that may read it";
}

bool IsUrl(std::string_view source) { return !SchemeOf(source).empty(); }

std::string ShownUrl(std::string_view url) {
  std::string shown(url.substr(0, url.find_first_of("?#")));
  std::size_t host = shown.find(kAfterScheme) + kAfterScheme.size();
  while (IsUrl(std::string_view(shown).substr(host))) {  // "precomputed://https://…"
    host = shown.find(kAfterScheme, host) + kAfterScheme.size();
  }
  const std::size_t end = std::min(shown.find('/', host), shown.size());
  const std::size_t at = end > host ? shown.rfind('@', end - 1) : std::string::npos;
  if (at != std::string::npos && at >= host) shown.erase(host, at + 1 - host);
  while (shown.size() > host && shown.ends_with('/')) shown.pop_back();
  return shown;
}

bool IsOnlyRead(const VolumeOptions& options) {
  if (options.enters_zips) return true;
  const auto kind = FindKind(options);
  return kind && !(*kind)->is_written;
}

Status NameUrl(std::string_view url, VolumeOptions& options) {
  UNSHARD_RETURN_IF_ERROR(FindKindOfScheme(url));
  options.url = url;
  options.source = ShownUrl(url);
  if (IsOnlyRead(options)) options.read_only = true;
  return {};
}

Result<SourceIdentity> IdentifyVolume(const VolumeOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const SourceKind* kind, FindKind(options));
  if (options.url.empty() && kind->is_written) return IdentifySource(options.source);
  SourceIdentity identity;
  identity.url = options.source;
  if (kind->locate != nullptr) {
    UNSHARD_ASSIGN_OR_RETURN(identity.url, kind->locate(options));
  }
  return identity;
}

Result<SourceParts> OpenSource(const VolumeOptions& options,
                               const ChangeWatcher::Listener& on_change) {
  UNSHARD_ASSIGN_OR_RETURN(const SourceKind* kind, FindKind(options));
  if (options.enters_zips && (!options.url.empty() || kind->takes != nullptr)) {
    return Fail(ErrorCode::kInvalidArgument, options.source,
                ": option zip=enter: expected a directory of this machine");
  }
  UNSHARD_ASSIGN_OR_RETURN(SourceParts parts, kind->open(options, on_change));
  UNSHARD_RETURN_IF_ERROR(ExpectFormat(*parts.store, options.format, CallerDeadline()));
  return parts;
}

}  // namespace unshard
