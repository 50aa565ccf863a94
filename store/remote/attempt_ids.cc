#include "store/remote/attempt_ids.h"

#include <algorithm>
#include <random>

#include "codec/core/text.h"

namespace unshard {
namespace {

constexpr std::size_t kDigits = 16;

bool IsAttemptId(std::string_view text) {
  return text.size() == kDigits && text.find_first_not_of(kHexDigits) == std::string_view::npos;
}

}  // namespace

std::string NewAttemptId() {
  std::random_device random;
  std::string id;
  while (id.size() < kDigits) {
    for (auto bits = random(); bits != 0 && id.size() < kDigits; bits >>= 4) {
      id += kHexDigits[bits & 15];
    }
  }
  return id;
}

std::vector<std::string> ParseAttemptIds(std::string_view text) {
  std::vector<std::string> ids;
  while (!text.empty() && ids.size() < kMostAttemptIds) {
    const std::string_view id = text.substr(0, text.find(','));
    text.remove_prefix(std::min(id.size() + 1, text.size()));
    if (IsAttemptId(id)) ids.emplace_back(id);
  }
  return ids;
}

std::string FormatAttemptIds(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ",") + id;
  return text;
}

std::vector<std::string> WithAttemptBefore(const std::string& id,
                                           const std::vector<std::string>& before) {
  std::vector<std::string> ids{id};
  for (const std::string& each : before) {
    if (ids.size() < kMostAttemptIds && each != id) ids.push_back(each);
  }
  return ids;
}

}  // namespace unshard
