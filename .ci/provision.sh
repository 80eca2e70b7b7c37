#!/bin/bash
# Installs the Debian packages that checks and tests need, as root where apt-get works. Checks whose tools
# cannot be installed are skipped.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

# apt COMMAND-OR-EMPTY PACKAGE: notes a package whose command is not installed.
packages=() foreign=()
apt() {
    has "$1" || packages+=("$2")
}
apt clang clang
apt clang-format clang-format
apt groff groff
apt strace strace
apt lzip lzip
apt lzop lzop
# Programs that tests run if they are installed, and MPI, which gpureduce-mpi is built with.
apt fish fish
apt gnuplot gnuplot-nox
apt jq jq
apt mpicc libopenmpi-dev
apt mpirun openmpi-bin
apt parallel parallel
apt python3 python3-venv
apt zsh zsh
if [ "$tier" != fast ]; then
    apt clang-tidy clang-tidy
    apt cppcheck cppcheck
    apt shellcheck shellcheck
    if [ "$(uname -m)" = x86_64 ]; then
        # port COMPILER ARCHITECTURE PACKAGE...: and the libraries of the tests for it.
        port() {
            links "$1" && return
            packages+=("${@:3}" "libzstd-dev:$2" "libmpfr-dev:$2")
            foreign+=("$2")
        }
        port i686-linux-gnu-gcc i386 gcc-i686-linux-gnu libc6-dev-i386-cross
        port aarch64-linux-gnu-gcc arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross
        apt qemu-aarch64-static qemu-user-static
    fi
    [ "$tier" = long ] && apt musl-gcc musl-tools
fi
status=0
if [ ${#packages[@]} -gt 0 ]; then
    echo "packages: ${packages[*]}"
    if [ "$(id -u)" -ne 0 ] || ! has apt-get; then
        skip "only root can install them, by apt-get"
    fi
    for architecture in "${foreign[@]}"; do
        dpkg --add-architecture "$architecture" || status=77
    done
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # One by one if not all at once, so that one that cannot be had leaves the others.
    apt-get install -y -qq --no-install-recommends "${packages[@]}" ||
        for package in "${packages[@]}"; do
            apt-get install -y -qq --no-install-recommends "$package" || { status=77 && lacking+=" $package"; }
        done
fi
[ $status = 0 ] || echo "cannot install${lacking-}"
exit $status
