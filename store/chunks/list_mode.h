// Which chunks listings name.
#pragma once

namespace unshard {

enum class ListMode { kPresent, kGrid, kNone };

}  // namespace unshard
