// The environment variables of a process, which hold settings of S3.
#pragma once

#include <functional>
#include <string>

namespace unshard {

// The value of a variable; "" where it is unset or empty.
using Environment = std::function<std::string(const std::string& name)>;

// Of this process.
Environment ProcessEnvironment();

// "~/name" of the user whose process it is; "" where the home is unknown.
std::string InHome(const Environment& environment, const std::string& name);
// Whether a switch is on: "1", "true", "yes", "on", in any case.
bool IsOn(const std::string& value);

}  // namespace unshard
