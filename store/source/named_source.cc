#include "store/source/named_source.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>

#include "codec/core/lower_case.h"
#include "store/source/source.h"

namespace unshard {
namespace {

constexpr const char* kFormats = "precomputed, zarr, zarr2, zarr3 or n5";
constexpr std::string_view kZipAdapter = "zip:";

struct FormatDocument {
  std::string_view format;
  std::string_view name;
};
constexpr std::array kFormatDocuments = {
    FormatDocument{"precomputed", "info"},  FormatDocument{"zarr3", "zarr.json"},
    FormatDocument{"zarr2", ".zarray"},     FormatDocument{"zarr2", ".zgroup"},
    FormatDocument{"zarr2", ".zattrs"},     FormatDocument{"zarr2", ".zmetadata"},
    FormatDocument{"n5", "attributes.json"}};

// The format that people call so; nothing where it is none.
std::optional<std::string_view> FormatCalled(std::string_view word) {
  constexpr std::string_view kNeuroglancer = "neuroglancer-";
  if (word == "neuroglancer-precomputed") word.remove_prefix(kNeuroglancer.size());
  for (const std::string_view format : {"precomputed", "zarr", "zarr2", "zarr3", "n5"}) {
    if (word == format) return format;
  }
  return std::nullopt;
}

// Takes "scheme://" off the front of a URL, in lower case; "" where it is none.
std::string TakeScheme(std::string& place) {
  constexpr std::string_view kEnd = "://";
  if (!IsUrl(place)) return "";
  const std::size_t end = place.find(kEnd);
  std::string scheme = LowerCase(place.substr(0, end));
  place.erase(0, end + kEnd.size());
  return scheme;
}

tl::unexpected<Error> WrongName(std::string_view given, const std::string& why) {
  const std::string shown = IsUrl(given) ? ShownUrl(given) : std::string(given);
  return Fail(ErrorCode::kInvalidArgument, shown, ": ", why);
}

Status SetFormat(std::string_view given, std::string_view format, NamedSource& name) {
  if (!name.format.empty() && name.format != format) {
    return WrongName(
        given, "names two formats, " + std::string(format) + " and " + name.format + "; name one");
  }
  name.format = format;
  return {};
}

// The position of "|zarr3:…" at the end of a name; npos where it has no adapter.
std::size_t LastAdapter(std::string_view place) {
  const std::size_t bar = place.rfind('|');
  if (bar == std::string_view::npos || bar == 0) return std::string_view::npos;
  const std::string_view adapter = place.substr(bar + 1);
  const std::size_t word = std::min(adapter.find(':'), adapter.size());
  const bool named = word > 0 && word < adapter.size() &&
                     std::all_of(adapter.begin(), adapter.begin() + word, [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                     });
  return named ? bar : std::string_view::npos;
}

// "a/b?query" and "c" give "a/b/c?query".
std::string Below(const std::string& place, std::string_view path) {
  if (path.empty()) return place;
  const bool ends_with_path = !IsUrl(place) || LastAdapter(place) != std::string_view::npos;
  const std::size_t end =
      ends_with_path ? place.size() : std::min(place.find_first_of("?#"), place.size());
  std::string below = place.substr(0, end);
  if (!below.ends_with('/') && !below.ends_with(':')) below += '/';
  while (path.starts_with('/')) path.remove_prefix(1);
  return below.append(path).append(place, end);
}

Status SetZip(std::string_view given, std::string_view inside, NamedSource& name) {
  if (name.inside_zip) {
    return WrongName(given, "names an archive in another one; expected one |zip:");
  }
  while (inside.ends_with('/')) inside.remove_suffix(1);
  while (inside.starts_with('/')) inside.remove_prefix(1);
  if (!CheckKey(inside)) {
    return WrongName(given,
                     "expected a directory of the archive after |zip:, such as labels/cells");
  }
  name.inside_zip = inside;
  return {};
}

Status TakeAdapters(std::string_view given, NamedSource& name) {
  for (std::size_t bar = 0; (bar = LastAdapter(name.place)) != std::string::npos;) {
    const std::string adapter = name.place.substr(bar + 1);
    const std::size_t colon = adapter.find(':');
    if (adapter.starts_with(kZipAdapter)) {
      UNSHARD_RETURN_IF_ERROR(SetZip(given, std::string_view(adapter).substr(colon + 1), name));
      name.place.resize(bar);
      continue;
    }
    const auto format = FormatCalled(std::string_view(adapter).substr(0, colon));
    if (!format) {
      return WrongName(given, "the adapter |" + adapter.substr(0, colon + 1) +
                                  " is not supported; expected zip, " + kFormats);
    }
    UNSHARD_RETURN_IF_ERROR(SetFormat(given, *format, name));
    name.place = Below(name.place.substr(0, bar), std::string_view(adapter).substr(colon + 1));
  }
  return {};
}

}  // namespace

Result<NamedSource> ParseNamedSource(std::string_view given) {
  NamedSource name{std::string(given), {}, {}};
  if (given.empty()) return WrongName("\"\"", "expected a directory or a URL");
  std::error_code unknown;
  if (!IsUrl(given) && std::filesystem::exists(name.place, unknown)) return name;
  UNSHARD_RETURN_IF_ERROR(TakeAdapters(given, name));
  std::string place = name.place;
  if (const auto format = FormatCalled(TakeScheme(place))) {
    UNSHARD_RETURN_IF_ERROR(SetFormat(given, *format, name));
    name.place = place;
  }
  place = name.place;
  if (TakeScheme(place) == "file") {
    constexpr std::string_view kThisHost = "localhost/";
    if (place.starts_with(kThisHost)) place.erase(0, kThisHost.size() - 1);
    name.place = place;
  }
  if (name.place.empty()) return WrongName(given, "expected a directory or a URL after this");
  return name;
}

bool IsOfFormat(std::string_view document, std::string_view format) {
  return std::any_of(kFormatDocuments.begin(), kFormatDocuments.end(),
                     [&](const FormatDocument& one) {
                       const bool either = format == "zarr" && one.format.starts_with("zarr");
                       return one.name == document && (one.format == format || either);
                     });
}

// A store may deny what is missing.
Status ExpectFormat(ObjectStore& store, const std::string& format, const Deadline& deadline) {
  if (format.empty()) return {};
  const auto has = [&](const FormatDocument& one) {
    const auto opened = store.Open(one.name, RangeRequest::At(0, 0), deadline);
    return opened && opened->version;
  };
  const FormatDocument* other = nullptr;
  for (const bool named : {true, false}) {
    for (const FormatDocument& one : kFormatDocuments) {
      if (IsOfFormat(one.name, format) != named || other != nullptr || !has(one)) continue;
      if (named) return {};
      other = &one;
    }
  }
  if (other == nullptr) return {};
  return Fail(ErrorCode::kInvalidArgument, store.Describe(""), ": its name says ", format,
              ", but it holds ", other->format, " (", other->name, "); name that format, or none");
}

}  // namespace unshard
