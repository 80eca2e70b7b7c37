#!/bin/sh
# How the code is laid out, as far as a machine can see it: which folder may include from which, that
# nothing includes or calls in a circle, and what every file begins with. What is planted in a copy of
# the sources at the end shows that each rule is enforced.
# Tags: smoke ports

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

# What is to be mended, one finding a line as look prints them. It must end empty: a finding that is
# not there any more fails the test.
known='
cli/axis.c: run/axis.h is behind the library
cli/axis.c: source/inputs.h is behind the library
cli/check.c: run/session.h is behind the library
cli/diff.c: run/diff_row.h is behind the library
cli/list.c: source/facts.h is behind the library
cli/list.c: source/inputs.h is behind the library
cli/manifest.c: run/session.h is behind the library
cli/options.h: run/session.h is behind the library
cli/options.h: run/shard.h is behind the library
cli/options.h: source/sets.h is behind the library
cli/process.h: run/session_options.h is behind the library
cli/record.h: run/session_options.h is behind the library
cli/reduce.c: run/session.h is behind the library
cli/report.c: profile/bottleneck.h is behind the library
cli/report.c: profile/machine_limits.h is behind the library
cli/report.c: run/arrays.h is behind the library
cli/report.h: run/reduction.h is behind the library
cli/report.h: run/total.h is behind the library
'

# look DIRECTORY: what breaks the rules in the sources there, a line each, sorted.
#
# The floors, from the bottom up. A file includes from floors below its own, and from its own room;
# rooms of one floor stand beside each other. A subfolder is a room of its own: it includes nothing of
# the folder that it is in. What stands in bench itself puts its rooms together. Engines know nothing
# of sources, nor sources of engines. The program is to be a client of the library: what cli includes
# from between lib and core is to be mended.
look() {
    (
        cd "$1" && find . -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' | sed 's|^\./||' | LC_ALL=C sort
    ) >files
    (cd "$1" && xargs grep -n '^[[:blank:]]*#[[:blank:]]*\(include\|define\)' /dev/null) <files >directives
    (cd "$1" && xargs grep -n '"[^"]*--[a-z]\|stderr\|perror' /dev/null) <files >spoken
    LC_ALL=C awk '
        BEGIN {
            tower["source"] = tower["engine"] = tower["cpu"] = tower["cuda"] = 1
            floors = "sys core zstd source/format source engine cpu,cuda/runtime cuda/zstd cuda" \
                     " profile run lib cli bench/common" \
                     " bench/generate,bench/limits,bench/ladder bench,hdf5 ."
            count = split(floors, floor, " ")
            for (i = 1; i <= count; i++) {
                rooms = split(floor[i], room, ",")
                for (j = 1; j <= rooms; j++)
                    height[room[j]] = i
            }
        }
        # The room that a file stands in: its folder, or the nearest one above that has a floor.
        function room_of(file) {
            do {
                if (!sub("/[^/]*$", "", file))
                    return "."
            } while (!(file in height))
            return file
        }
        # Towers of floors stand beside each other; those of engines stand on the floor engine.
        function apart(one, other) {
            sub("/.*", "", one)
            sub("/.*", "", other)
            return one != other && (one in tower) && (other in tower) && other != "engine"
        }
        # A source and its header are one.
        function module_of(file) {
            sub("[.][a-z]*$", "", file)
            return file
        }
        function include(file, line, name,   from, to) {
            if (!(file in first))
                first[file] = name
            if (name == "config.h")
                return
            if (!(name in exists)) {
                print file ": " name " is no path of a file from src/"
                return
            }
            from = room_of(file)
            to = room_of(name)
            if (from != to && (height[to] >= height[from] || apart(from, to)))
                print file ": " name " is no floor below"
            if (from == "cli" && height[to] > height["core"] && height[to] < height["lib"])
                print file ": " name " is behind the library"
            if (module_of(file) != module_of(name))
                reaches[module_of(file), module_of(name)] = 1
        }
        FILENAME == "files" {
            exists[$0] = 1
            if (room_of($0) == "." && $0 != "main.c" && $0 != "mpi_main.c")
                print $0 ": it stands on no floor"
            modules[module_of($0)] = 1
            next
        }
        # Errors go up as values; cli prints them, and knows what options are called.
        FILENAME == "spoken" {
            split($0, part, ":")
            if (height[room_of(part[1])] < height["cli"])
                print part[1] ": names an option in a text, or standard error"
            next
        }
        {
            split($0, part, ":")
            file = part[1]
            text = substr($0, length(file) + length(part[2]) + 3)
            if (text ~ /define[ \t]+_(GNU|DEFAULT|POSIX_C|XOPEN)_SOURCE/ || text ~ /define[ \t]+_FILE_OFFSET_BITS/)
                print file ": asks for extensions by hand; configure does"
            else if (text ~ /include[ \t]*"/) {
                sub("^[^\"]*\"", "", text)
                sub("\".*", "", text)
                include(file, part[2], text)
            } else if (text ~ /include[ \t]*</ && !(file in first))
                first[file] = "a header of the system"
        }
        END {
            for (file in exists)
                if (file ~ /[.]c$/ && first[file] != "config.h")
                    print file ": does not include config.h first"
            for (k in modules)
                for (i in modules)
                    if ((i, k) in reaches)
                        for (j in modules)
                            if ((k, j) in reaches)
                                reaches[i, j] = 1
            for (i in modules)
                if ((i, i) in reaches) {
                    circle = ""
                    for (j in modules)
                        if ((i, j) in reaches && (j, i) in reaches && (circle == "" || j < circle))
                            circle = j
                    print i ": in a circle of includes with " circle
                }
        }' files directives spoken | LC_ALL=C sort
}

# lines TEXT: its lines that are not empty, sorted.
lines() {
    printf '%s\n' "$1" | sed '/^$/d' | LC_ALL=C sort
}

look "$sources/src" >found
ok 'the sources are there' [ "$(wc -l <files)" -gt 50 ]
lines "$known" >allowed
comm -13 allowed found >new
comm -23 allowed found >gone
ok 'every rule is kept' cmp /dev/null new
show new
ok 'what is excepted is there' cmp /dev/null gone
show gone

#
# The same with slips in a copy, which has a header more in each room: each slip is a file of its own,
# and all are looked for at once.
#
mkdir copy || fatal 'cannot make a directory'
cp -R "$sources/src/." copy || fatal 'cannot copy the sources'
chmod -R u+w copy
for room in sys core zstd source source/format engine cpu cuda cuda/runtime cuda/zstd \
    profile run lib cli bench/common bench/generate bench/limits bench/ladder bench hdf5; do
    [ -d "copy/$room" ] || fatal "no folder src/$room"
    : >"copy/$room/made.h"
done

# slip NAME FILE LINES FINDING...: with these lines in a new file the copy breaks these rules besides,
# one a word. The word "new" in FILE and FINDING gets a number.
slips=0
: >planted
slip() {
    slips=$((slips + 1))
    slip_file=$(printf '%s\n' "$2" | sed "s/new/new$slips/g")
    mkdir -p "copy/${slip_file%/*}"
    printf '%s\n' "$3" >"copy/$slip_file"
    printf '%s\t%s\n' "$slip_file" "$1" >>planted
    shift 3
    lines "$(printf '%s\n' "$@" | sed "s/new/new$slips/g")" >"wanted.$slips"
}

# below FILE HEADER: it may include that. above: it may not.
below() {
    slip "$1 may include $2" "$1" "#include \"$2\"" ''
}
above() {
    slip "$1 may not include $2" "$1" "  # include \"$2\"" "$1: $2 is no floor below"
}

above sys/new.h core/made.h
above core/new.h source/made.h
above zstd/new.h source/made.h
above source/format/new.h source/made.h
above engine/new.h cpu/made.h
above engine/new.h source/made.h
above cuda/new.h source/format/made.h
above cpu/new.cuh cuda/made.h
above cuda/new.cuh cpu/made.h
above cuda/zstd/new.h cuda/made.h
above cuda/runtime/new.h cuda/zstd/made.h
above cuda/new.cu profile/made.h
above profile/new.h run/made.h
above run/new.h lib/made.h
above lib/new.h cli/made.h
above cli/new.h bench/common/made.h
above bench/common/new.h bench/limits/made.h
above bench/generate/new.h bench/limits/made.h
above bench/limits/new.h bench/ladder/made.h
above bench/ladder/new.h bench/generate/made.h
above bench/ladder/new.h bench/made.h
below cli/new.h lib/made.h
below bench/new.h bench/ladder/made.h
below bench/common/new.h cli/made.h
below profile/new.h cuda/made.h
below cpu/new.h engine/made.h
below source/new.h zstd/made.h
below source/new.h source/format/made.h
below cuda/new.h zstd/made.h
below cuda/new.h cuda/zstd/made.h
below cuda/zstd/new.h cuda/runtime/made.h
below zstd/new.h core/made.h
below core/new.h core/made.h

slip 'a file that is not there' cli/new.h '#include "cli/mad.h"' \
    'cli/new.h: cli/mad.h is no path of a file from src/'
slip 'a path from its own folder' cli/new.h '#include "made.h"' \
    'cli/new.h: made.h is no path of a file from src/'
slip 'a folder that has no floor' new/new.h '' 'new/new.h: it stands on no floor'
slip 'a header of the system first' run/new.c '#include <stdio.h>
#include "config.h"' 'run/new.c: does not include config.h first'
slip 'an option in a text' run/new.h 'static const char *advice = "use --device=cpu";' \
    'run/new.h: names an option in a text, or standard error'
slip 'standard error' core/new.h '    fprintf(stderr, "no\\n");' \
    'core/new.h: names an option in a text, or standard error'
slip 'which cli may' cli/new.h '    fputs("use --device=cpu", stderr);' ''
slip 'cli may not reach behind the library' cli/new.h '#include "run/made.h"' \
    'cli/new.h: run/made.h is behind the library'
slip 'nor for inputs' cli/new.h '#include "source/made.h"' \
    'cli/new.h: source/made.h is behind the library'
slip 'but what stands on the ground' cli/new.h '#include "core/made.h"' ''
slip 'no config.h' zstd/new.c 'extern int x;' \
    'zstd/new.c: does not include config.h first'
for macro in _GNU_SOURCE _POSIX_C_SOURCE _FILE_OFFSET_BITS; do
    slip "$macro by hand" sys/new.h "#define $macro 1" \
        'sys/new.h: asks for extensions by hand; configure does'
done

look copy >after
comm -13 found after >new
number=0
while IFS=$tab read -r file name; do
    number=$((number + 1))
    grep "^$file: " new >"found.$number"
    ok "$name" cmp "wanted.$number" "found.$number"
    cmp -s "wanted.$number" "found.$number" || show "found.$number"
done <planted
ok 'no other rule is broken' test "$number:$(wc -l <new)" = "$slips:$(cat wanted.* | wc -l)"

printf '#include "config.h"\n#include "core/other.h"\n' >copy/core/new.c
printf '#include "core/new.h"\n' >copy/core/other.h
: >copy/core/new.h
look copy | comm -13 after - >new
lines 'core/new: in a circle of includes with core/new
core/other: in a circle of includes with core/new' >wanted
ok 'a circle of a source and its header with another' cmp wanted new
cmp -s wanted new || show new

#
# Calls: which object takes a name that another defines. nm(1) tells; two objects may have one name.
#
# circles <LISTING: the objects of nm's listing that call each other in a circle, a line each.
circles() {
    awk '
        NF == 1 && /:$/ { object = ++objects; name[object] = substr($1, 1, length($1) - 1) }
        NF == 3 && $2 ~ /^[TDBR]$/ { defines[$3] = object }
        NF == 2 && $1 == "U" { takes[object, $2] = 1 }
        END {
            for (pair in takes) {
                split(pair, part, SUBSEP)
                if (part[2] in defines && defines[part[2]] != part[1])
                    print part[1] ":" name[part[1]], defines[part[2]] ":" name[defines[part[2]]]
            }
        }' >pairs
    tsort pairs 2>&1 >/dev/null | sed -n 's/^tsort: [0-9]*:\(.*\)/\1/p'
}

library=${program%gpureduce}libinternal.a
if nm "$library" >listing 2>nm.log && grep -q ' T ' listing; then
    circles <listing >found
    ok 'nothing calls in a circle' cmp /dev/null found
    show found
    ok 'there are calls' test "$(wc -l <pairs)" -gt 300
else
    skip 'nothing calls in a circle' 'nm cannot list the library'
fi
printf '%s\n' 'one.o:' '0 T one' ' U two' '' 'two.o:' '0 T two' ' U one' ' U three' '' 'three.o:' '0 T three' |
    circles | LC_ALL=C sort >found
lines 'one.o
two.o' >wanted
ok 'a circle of calls' cmp wanted found
cmp -s wanted found || show found

finish
