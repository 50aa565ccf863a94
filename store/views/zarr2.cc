#include "store/views/other_format.h"
#include "store/views/views.h"

namespace unshard {

const View& Zarr2View() {
  static const FormatView view(Dialect::kZarr2);
  return view;
}

}  // namespace unshard
