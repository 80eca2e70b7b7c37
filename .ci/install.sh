#!/bin/bash
# make install puts every file where it belongs, and make uninstall leaves none behind.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

there=$CI_WORK/there
make -s install DESTDIR="$there" prefix=/usr || exit
helper=$(ls src/gpureduce-hdf5 2>/dev/null)
for file in bin/gpureduce bin/gpureduce-bench share/man/man1/gpureduce.1 \
    share/man/man5/gpureduce-json.5 share/man/man5/gpureduce-partial.5 \
    share/man/man7/gpureduce-formats.7 share/man/man7/gpureduce-merge.7 share/doc/gpureduce/LICENSE \
    share/doc/gpureduce/README.md share/bash-completion/completions/gpureduce \
    share/fish/vendor_completions.d/gpureduce.fish share/zsh/site-functions/_gpureduce \
    ${helper:+libexec/gpureduce-hdf5}; do
    [ -s "$there/usr/$file" ] || { echo "not installed: $file" && exit 1; }
done
make -s uninstall DESTDIR="$there" prefix=/usr && [ -z "$(find "$there" ! -type d)" ]
