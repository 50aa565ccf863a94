#include "store/views/views.h"

#include <algorithm>
#include <array>

namespace unshard {
namespace {

using GetView = const View& (*)();
constexpr std::array kViews{
    GetView{NativeView},
};

}  // namespace

const View* FindView(std::string_view name) {
  const auto found = std::find_if(kViews.begin(), kViews.end(),
                                  [&](GetView view) { return view().name() == name; });
  return found == kViews.end() ? nullptr : &(*found)();
}

std::string ViewNames() {
  std::string names;
  for (const GetView view : kViews) {
    names += (names.empty() ? "" : ", ") + std::string(view().name());
  }
  return names;
}

}  // namespace unshard
