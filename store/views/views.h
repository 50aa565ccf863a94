// The views by name, and how they compress. Thread-safe.
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

// The options of views that compress the chunks that they encode with the codec `name`, a value of
// `view_codec=`; nothing for other names.
std::optional<ViewOptions> FindViewCodec(std::string_view name);
// These values, for messages: "none, …".
std::string ViewCodecNames();

// The views, in the order of messages: NativeView presents the dataset in its own format,
// unsharded, RawView without compression as well, the others in another format. Each is a function
// of this list, `const View& N5View()`, which a source of this folder defines.
#define UNSHARD_EACH_VIEW(view) \
  view(NativeView) view(RawView) view(PrecomputedView) view(Zarr3View) view(Zarr2View) view(N5View)

#define UNSHARD_DECLARE_VIEW(view) const View& view();
UNSHARD_EACH_VIEW(UNSHARD_DECLARE_VIEW)
#undef UNSHARD_DECLARE_VIEW

}  // namespace unshard
