#!/bin/bash
# A Python with the packages whose files and results the tests compare with, if there is none yet.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

modules=(astropy gguf h5py hdf5plugin hypothesis netCDF4 numpy pytest safetensors scipy)
[ "$tier" = fast ] || modules+=(dask ml_dtypes mypy nibabel pandas pyarrow xarray zarr) # of formats that are refused, and of python/
[ "$tier" != long ] || modules+=(torch) # some gigabytes
import="import $(IFS=,; echo "${modules[*]}")"
python3 -c "$import" && exit
# Compiling all that is installed would take half of the time, and the tests import little of it: so only what
# this import reads is compiled, even where the environment asks Python to write no such files.
python3 -m venv "$CI_WORK/python" && "$CI_WORK/python/bin/pip" install -q --no-compile "${modules[@]}" &&
    PYTHONDONTWRITEBYTECODE='' "$CI_WORK/python/bin/python3" -c "$import" && exit
rm -rf "$CI_WORK/python"
skip "cannot install ${modules[*]}"
