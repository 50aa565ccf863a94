#include "store/gcs/listing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codec/json/json.h"
#include "codec/json/parser.h"

namespace unshard {
namespace {

constexpr std::size_t kMostNameBytes = 255;  // of a component of a path
constexpr JsonLimits kListingLimits{std::size_t{16} << 20, 8, 100'000};

// The component of a key that `name` adds to `below`; nothing: it adds none.
std::optional<std::string> NameBelow(std::string_view name, std::string_view below) {
  if (!name.starts_with(below)) return std::nullopt;
  name.remove_prefix(below.size());
  if (name.empty() || name.size() > kMostNameBytes || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos) {
    return std::nullopt;
  }
  return std::string(name);
}

}  // namespace

Result<ListedPage> ParseGcsListPage(std::string_view text, std::string_view below) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue answer, ParseJson(text, kListingLimits));
  if (!answer.is_object()) {
    return Fail(ErrorCode::kDataLoss, "expected a JSON object with the names of objects");
  }
  ListedPage page;
  page.next = TextOf(answer, "nextPageToken");
  const auto is_below = [&](std::string_view key) {
    return !key.empty() && key.starts_with(below);
  };
  for (const JsonValue& item : ItemsOf(answer, "items")) {
    const std::string key = TextOf(item, "name");
    page.any = page.any || is_below(key);
    if (auto name = NameBelow(key, below)) {
      page.entries.push_back({*std::move(name), ObjectInfo::Kind::kFile});
    }
  }
  for (const JsonValue& prefix : ItemsOf(answer, "prefixes")) {
    std::string_view directory = prefix.is_string() ? std::string_view(prefix.text()) : "";
    if (!directory.ends_with('/')) continue;
    page.any = page.any || is_below(directory);
    directory.remove_suffix(1);
    if (auto name = NameBelow(directory, below)) {
      page.entries.push_back({*std::move(name), ObjectInfo::Kind::kDirectory});
    }
  }
  const auto by_name = [](const auto& a, const auto& b) {
    return a.name != b.name ? a.name < b.name : a.kind < b.kind;
  };
  const auto same = [](const auto& a, const auto& b) { return a.name == b.name; };
  std::sort(page.entries.begin(), page.entries.end(), by_name);
  page.entries.erase(std::unique(page.entries.begin(), page.entries.end(), same),
                     page.entries.end());
  return page;
}

}  // namespace unshard
