#include "store/views/other_format.h"
#include "store/views/views.h"

namespace unshard {

const View& Zarr3View() {
  static const FormatView view(Dialect::kZarr3);
  return view;
}

}  // namespace unshard
