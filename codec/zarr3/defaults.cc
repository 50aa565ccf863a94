#include "codec/zarr3/defaults.h"
#include "codec/json/writer.h"

#include <algorithm>
#include <array>

namespace unshard {
namespace {

// An empty `value`: every value is a default, because decoding ignores the member.
struct ConfigurationDefault {
  std::string_view name;
  std::string_view member;
  std::string_view value;
};
constexpr std::array<ConfigurationDefault, 7> kDefaults = {{{"bytes", "endian", "\"little\""},
                                                            {"zstd", "checksum", "false"},
                                                            {"numcodecs.zstd", "checksum", "false"},
                                                            {"blosc", "blocksize", "0"},
                                                            {"blosc", "typesize", ""},
                                                            {"default", "separator", "\"/\""},
                                                            {"v2", "separator", "\".\""}}};

}  // namespace

bool IsZarrDefault(std::string_view name, std::string_view member, const JsonValue& value) {
  return std::any_of(kDefaults.begin(), kDefaults.end(), [&](const ConfigurationDefault& known) {
    return known.name == name && known.member == member &&
           (known.value.empty() || known.value == WriteJson(value, 0));
  });
}

}  // namespace unshard
