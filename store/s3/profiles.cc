#include "store/s3/profiles.h"

#include <algorithm>
#include <utility>

#include "codec/core/lower_case.h"
#include "codec/core/text.h"

namespace unshard {
namespace {

constexpr std::string_view kBlanksOfLine = " \t\r";

std::string_view TrimmedLine(std::string_view text) { return Trimmed(text, kBlanksOfLine); }

// The name of the profile that a section describes; "" if it describes none.
std::string ProfileOf(std::string_view section, bool is_config) {
  section = TrimmedLine(section);
  if (!is_config || section == "default") return std::string(section);
  constexpr std::string_view kWord = "profile";
  if (!section.starts_with(kWord)) return "";
  const std::string_view name = section.substr(kWord.size());
  if (name.empty() || kBlanksOfLine.find(name.front()) == std::string_view::npos) return "";
  return std::string(TrimmedLine(name));
}

// A comment begins at the start of a line, or behind white space.
std::string_view WithoutComment(std::string_view value) {
  for (std::size_t at = 1; at < value.size(); ++at) {
    const bool begins = value[at] == '#' || value[at] == ';';
    if (begins && kBlanksOfLine.find(value[at - 1]) != std::string_view::npos) {
      return TrimmedLine(value.substr(0, at));
    }
  }
  return value;
}

AwsProfiles ParseSections(std::string_view text, bool is_config) {
  AwsProfiles profiles;
  AwsProfile* profile = nullptr;  // null: in no profile
  std::string outer;              // the setting without value whose nested settings follow
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string_view content = TrimmedLine(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    const bool nested = kBlanksOfLine.find(line.front()) != std::string_view::npos;
    if (!nested && content.front() == '[') {
      const std::size_t end = content.find(']');
      const std::string name =
          end == std::string_view::npos ? "" : ProfileOf(content.substr(1, end - 1), is_config);
      profile = name.empty() ? nullptr : &profiles[name];
      outer.clear();
      continue;
    }
    const std::size_t equals = content.find('=');
    if (profile == nullptr || equals == std::string_view::npos) continue;
    const std::string name = LowerCase(std::string(TrimmedLine(content.substr(0, equals))));
    const std::string value(WithoutComment(TrimmedLine(content.substr(equals + 1))));
    if (!nested) outer = value.empty() ? name : "";
    if (nested && outer.empty()) continue;  // goes on with the value of the line before
    (*profile)[nested ? outer + '.' + name : name] = value;
  }
  return profiles;
}

}  // namespace

AwsProfiles ParseCredentialsFile(std::string_view text) { return ParseSections(text, false); }

AwsProfiles ParseConfigFile(std::string_view text) { return ParseSections(text, true); }

AwsProfiles MergeProfiles(AwsProfiles config, const AwsProfiles& credentials) {
  for (const auto& [name, profile] : credentials) {
    for (const auto& [setting, value] : profile) config[name][setting] = value;
  }
  return config;
}

std::string SettingOf(const AwsProfile& profile, std::string_view name) {
  const auto found = profile.find(name);
  return found == profile.end() ? "" : found->second;
}

}  // namespace unshard
