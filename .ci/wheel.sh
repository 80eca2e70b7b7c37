#!/bin/bash
# An sdist makes a wheel that has the licences of its libraries, and that an empty environment can use.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

python3 -c 'import venv, numpy' || skip 'there is no numpy, or no venv'
python3 python/backend.py sdist "$CI_WORK/sdist" && tar -xzf "$CI_WORK"/sdist/*.tar.gz -C "$CI_WORK/sdist" || exit
export GPUREDUCE_CONFIGURE="--without-cuda ${quick[*]} CC='${CC:-gcc}'"
python3 "$CI_WORK"/sdist/*/python/backend.py wheel "$CI_WORK/wheel" 2>&1 | tee "$CI_WORK/wheel.log" || exit
! grep 'No licence was found' "$CI_WORK/wheel.log" || exit
python3 -m venv --system-site-packages "$CI_WORK/user" && "$CI_WORK/user/bin/pip" install -q --no-deps "$CI_WORK"/wheel/*.whl || exit
cd "$CI_WORK" && user/bin/python -c '
import gpureduce, importlib.metadata, os, re, subprocess
print(gpureduce.sum([1e30, 1, -1e30]))
assert gpureduce.sum([1e30, 1, -1e30]) == 1
native = os.path.join(os.path.dirname(gpureduce.__file__), "native")
needed = {name for file in os.listdir(native) for name in re.findall(
    r"(\w+)\.so\S* => /", subprocess.run(["ldd", os.path.join(native, file)], stdout=subprocess.PIPE, text=True).stdout)}
licences = {file.name.split("-")[0] for file in importlib.metadata.files("gpureduce") if "licenses" in file.parts}
print(licences)
assert "LICENSE" in licences and needed - {"libc", "libm", "libdl", "librt", "libpthread"} <= licences
' && user/bin/gpureduce --version
