#include "store/source/zip_place.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "codec/core/lower_case.h"
#include "codec/core/text.h"
#include "store/object/key.h"
#include "store/source/source.h"

namespace unshard {
namespace {

namespace fs = std::filesystem;

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// "%20" and its like become bytes: the store escapes keys.
std::string Unescaped(std::string_view path) {
  constexpr int kHexadecimal = 16;
  std::string plain;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto code = path[i] == '%' && i + 2 < path.size()
                          ? ParseNumber<unsigned char>(path.substr(i + 1, 2), kHexadecimal)
                          : std::nullopt;
    plain += code ? static_cast<char>(*code) : path[i];
    if (code) i += 2;
  }
  return plain;
}

// Where the path of a URL begins, with its '/'; npos where it has none.
std::size_t PathOfUrl(std::string_view url) {
  constexpr std::string_view kAfterScheme = "://";
  const std::size_t scheme = url.find(kAfterScheme);
  return scheme == url.npos ? url.npos : url.find('/', scheme + kAfterScheme.size());
}

std::optional<ZipPlace> FindZipOfUrl(const std::string& url,
                                     const std::optional<std::string>& inside) {
  const std::size_t end = std::min(url.find_first_of("?#"), url.size());
  const std::size_t path = PathOfUrl(std::string_view(url).substr(0, end));
  if (path == std::string::npos) return std::nullopt;
  const std::size_t slash = url.rfind('/', end - 1);
  const std::string_view name = std::string_view(url).substr(slash + 1, end - slash - 1);
  if (name.empty() || (!inside && !HasZipName(name))) return std::nullopt;
  const bool is_http = LowerCase(url.substr(0, 4)) == "http";
  return ZipPlace{url.substr(0, slash) + url.substr(end),
                  is_http ? Unescaped(name) : std::string(name), inside.value_or("")};
}

std::optional<ZipPlace> FindZipOfPath(const std::string& source,
                                      const std::optional<std::string>& inside) {
  std::string below = inside.value_or("");
  // What is named so is opened as an archive, or refused.
  if (inside) {
    const fs::path path = WithoutSlashes(source);
    return ZipPlace{path.parent_path().string(), path.filename().string(), below};
  }
  for (fs::path path = WithoutSlashes(source); path.has_filename(); path = path.parent_path()) {
    std::error_code unknown;
    const std::string name = path.filename().string();
    if (HasZipName(name) && fs::is_regular_file(path, unknown)) {
      return ZipPlace{path.parent_path().string(), name, below};
    }
    if (fs::exists(path, unknown)) return std::nullopt;
    below = JoinPath(name, below);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ZipPlace> FindZip(const VolumeOptions& options) {
  if (!options.url.empty()) return FindZipOfUrl(options.url, options.inside_zip);
  return FindZipOfPath(options.source, options.inside_zip);
}

bool NamesZip(const NamedSource& name) {
  if (name.inside_zip) return true;
  if (IsUrl(name.place)) return FindZipOfUrl(name.place, std::nullopt).has_value();
  std::error_code unknown;
  const std::string place = WithoutSlashes(name.place);
  if (HasZipName(place)) return !fs::is_directory(place, unknown);
  return FindZipOfPath(fs::absolute(place, unknown).string(), std::nullopt).has_value();
}

}  // namespace unshard
