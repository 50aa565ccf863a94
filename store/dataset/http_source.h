// Sources behind http and https URLs: read-only, without listings and without events.
#pragma once

#include "store/dataset/source.h"

namespace unshard {

// Sends no request.
Result<SourceParts> OpenHttpSource(const VolumeOptions& options,
                                   const ChangeWatcher::Listener& on_change);

}  // namespace unshard
