#!/bin/bash
# make install puts every file where it belongs, and make uninstall leaves none behind.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

there=$CI_WORK/there
make -s install-strip DESTDIR="$there" prefix=/usr || exit
version=$(sed -n 's/^PACKAGE_VERSION = //p' Makefile)
helper=$(ls src/gpureduce-hdf5 2>/dev/null)
for file in bin/gpureduce bin/gpureduce-bench share/man/man1/gpureduce.1 \
    share/man/man5/gpureduce-json.5 share/man/man5/gpureduce-partial.5 \
    share/man/man3/libgpureduce.3 share/man/man7/gpureduce-formats.7 share/man/man7/gpureduce-merge.7 share/doc/gpureduce/LICENSE \
    share/doc/gpureduce/README.md share/bash-completion/completions/gpureduce \
    share/fish/vendor_completions.d/gpureduce.fish share/zsh/site-functions/_gpureduce \
    include/gpureduce.h lib/libgpureduce.a lib/pkgconfig/gpureduce.pc \
    lib/libgpureduce.so{,.0,."$version"} ${helper:+libexec/gpureduce-hdf5}; do
    [ -s "$there/usr/$file" ] || { echo "not installed: $file" && exit 1; }
done
if has readelf && readelf -S -W "$there/usr/lib/libgpureduce.so" | grep '\.symtab'; then
    echo 'the shared library is not stripped' && exit 1
fi
# A program is built with either library by what pkg-config says.
mkdir "$CI_WORK/static" && cp "$there/usr/lib/libgpureduce.a" "$CI_WORK/static" || exit
export PKG_CONFIG_PATH=$there/usr/lib/pkgconfig LD_LIBRARY_PATH=$there/usr/lib
printf '#include <gpureduce.h>\n#include <stdio.h>\nint main(void) { return puts(gpr_version()) < 0; }\n' \
    >"$CI_WORK/version.c"
for how in '' --static; do
    # shellcheck disable=SC2046,SC2086 # several words or none
    if ! gcc -o "$CI_WORK/version" "$CI_WORK/version.c" ${how:+-L"$CI_WORK/static"} \
        $(pkg-config --define-variable=prefix="$there/usr" $how --cflags --libs gpureduce) ||
        [ "$("$CI_WORK/version")" != "$version" ]; then
        echo "no program can be built by pkg-config $how" && exit 1
    fi
done
make -s uninstall DESTDIR="$there" prefix=/usr && [ -z "$(find "$there" ! -type d)" ]
