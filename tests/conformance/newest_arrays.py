"""Runs in the newest environment, with zarr-python 3.4: newest_arrays.py FOLDER OUTPUT NAME...

Writes OUTPUT/NAME.npy, the voxels of the array FOLDER/NAME, and prints {NAME: why it cannot be read}.
"""

import json
import sys
import warnings

import numpy as np
import zarr

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # numcodecs' codecs are not a part of the specification
    folder, output, *names = sys.argv[1:]
    refused = {}
    for name in names:
        try:
            np.save(f"{output}/{name}.npy", zarr.open_array(f"{folder}/{name}", mode="r")[...])
        except Exception as error:  # whatever a library raises
            refused[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(refused))
