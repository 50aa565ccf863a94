// The table of views.
#pragma once

#include <string>
#include <string_view>

#include "store/views/view.h"

namespace unshard {

// Null where there is no view of this name.
const View* FindView(std::string_view name);
// All of them, for messages: "native, …".
std::string ViewNames();

// The views. The dataset in its own format, unsharded:
const View& NativeView();

}  // namespace unshard
