#include "store/views/other_format.h"
#include "store/views/views.h"

namespace unshard {

const View& PrecomputedView() {
  static const FormatView view(Dialect::kPrecomputed);
  return view;
}

}  // namespace unshard
