// The table of views.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/views/view.h"

namespace unshard {

// Null where there is no view of this name.
const View* FindView(std::string_view name);
// All of them, in the order of the table.
std::vector<std::string_view> AllViewNames();
// The same for messages: "native, …".
std::string ViewNames();

// How views compress chunks that they encode, by the name that `view_codec=` gives it; nothing for
// other names.
std::optional<ViewOptions> FindViewCodec(std::string_view name);
// "none, …".
std::string ViewCodecNames();

// The views. The dataset in its own format, unsharded:
const View& NativeView();
// The same, and without compression:
const View& RawView();
// In another format:
const View& PrecomputedView();
const View& Zarr3View();
const View& Zarr2View();
const View& N5View();

}  // namespace unshard
