// Sources in Google Cloud Storage: read-only and without events.
#pragma once

#include "store/dataset/source.h"

namespace unshard {

// Sends one request, as the environment says (store/gcs/environment.h).
Result<SourceParts> OpenGcsSource(const VolumeOptions& options,
                                  const ChangeWatcher::Listener& on_change);

}  // namespace unshard
