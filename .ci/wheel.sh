#!/bin/bash
# An sdist makes wheels, for this machine and for others, that have the licences of their libraries, and that
# an empty environment without a compiler can use.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

python3 -c 'import venv' || skip 'there is no venv'
python3 python/backend.py sdist "$CI_WORK/sdist" && tar -xzf "$CI_WORK"/sdist/*.tar.gz -C "$CI_WORK/sdist" || exit
top=$(echo "$CI_WORK"/sdist/*/)
head -c 1000 "$top/configure" >"$CI_WORK/bytes"

# use WHEEL: installs and uses it. Prints the instruction set that its program takes.
use() {
    python3 -m venv --clear "$CI_WORK/user" && "$CI_WORK/user/bin/pip" install -q "$1" && cd "$CI_WORK" || return
    env -i PATH="$CI_WORK/user/bin" user/bin/python -c '
import gpureduce, importlib.metadata, os, re, subprocess
assert gpureduce.sum([1e30, 1, -1e30]) == 1
native = os.path.join(os.path.dirname(gpureduce.__file__), "native")
needed = {name for file in os.listdir(native) for name in re.findall(
    r"(\w+)\.so\S* => /", subprocess.run(["/usr/bin/ldd", os.path.join(native, file)], stdout=subprocess.PIPE, text=True).stdout)}
licences = {file.name.split("-")[0] for file in importlib.metadata.files("gpureduce") if "licenses" in file.parts}
assert {"LICENSE", "libzstd"} | needed - {"libc", "libm", "libdl", "librt", "libpthread"} <= licences, licences
' && env -i PATH="$CI_WORK/user/bin" gpureduce -v -t u8 "$CI_WORK/bytes" 2>&1 | sed -n 's/^  cpu *\([a-z0-9]*\),.*/\1/p'
}

export GPUREDUCE_CONFIGURE="--without-cuda ${quick[*]} CC='${CC:-gcc}'"
python3 "$top/python/backend.py" wheel "$CI_WORK/wheel" 2>&1 | tee "$CI_WORK/wheel.log" || exit
! grep 'No licence was found' "$CI_WORK/wheel.log" || exit
here=$(use "$CI_WORK"/wheel/*.whl) && [ -n "$here" ] || exit

mkdir "$CI_WORK/manylinux" && cd "$CI_WORK/manylinux" || exit
"$top/python/manylinux.sh" --without-cuda "${quick[@]}" 2>&1 | tee "$CI_WORK/manylinux.log" || exit
! grep 'No licence was found' "$CI_WORK/manylinux.log" || exit
ls wheels && ls wheels/*-py3-none-manylinux_2_2[78]_"$(uname -m)".whl || exit
others=$(use "$PWD"/wheels/*.whl) && [ "$others" = "$here" ] && echo "both take $here"
