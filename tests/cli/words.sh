#!/bin/sh
# Comments and documents are in plain words: a comment can be read alone, and a sentence names a thing
# before it says something about it.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

# Prints FILE:LINE: and the beginning of each comment or sentence that breaks a rule. The files are C if
# their names say so, and text otherwise, where headings and indented examples do not count.
cat >words.awk <<'END'
function report(what) { printf "%s:%d: %s\n", FILENAME, FNR, what }

# Judges a line of text. `fresh`: a sentence begins with it; `first`: a comment does.
function judge(line,    rest) {
    if (line == "")
        return
    if (first && line ~ /^(The same|[Ll]ikewise|Then[:,]|[Aa]s above)([^a-z]|$)/)
        report(line)
    rest = (fresh ? ". " : "") line
    gsub(/(e\.g|i\.e|etc|vs)\. /, "", rest)
    if (match(rest, /[.!?] +(What|Who|Whoever|Whose|Of|Where|Behind|That|Likewise) /))
        report(substr(rest, RSTART + 2))
    fresh = line ~ /[.!?:]$/
    first = 0
}

FNR == 1 { inside = 0; fenced = 0; code = FILENAME ~ /\.(c|h|cu|cuh)$/; fresh = 1; first = 0 }

code {
    line = $0
    while (line != "") {
        if (!inside) {
            start = index(line, "/*")
            if (!start)
                next
            line = substr(line, start + 2)
            inside = first = fresh = 1
        }
        end = index(line, "*/")
        text = end ? substr(line, 1, end - 1) : line
        sub(/^[ \t]*\**[ \t]*/, "", text)
        sub(/[ \t]+$/, "", text)
        judge(text)
        if (!end)
            next
        inside = 0
        line = substr(line, end + 2)
    }
    next
}

/^```/ { fenced = !fenced; next }
fenced || /^(    |\t|#|\.[A-Z]|\.\\|'|\||$)/ { fresh = 1; next }
{
    line = $0
    if (line ~ /^([-*]|[0-9]+\.) +/) {
        sub(/^[^ ]+ +/, "", line)
        fresh = 1
    }
    sub(/^ +/, "", line)
    gsub(/\\f[BIRP]/, "", line)
    judge(line)
}
END

# The rules are held where they are broken.
mkdir planted
cat >planted/a.h <<'END'
int a; /* The same of another. */
/* Fine at first. What comes
   next is not. */
int b; /* likewise */
/*
 * Where it begins, it ends.
 */
int c; /* Counts the Of and What inside of a sentence. */
int d; /* Then: a comment. */
END
cat >planted/b.md <<'END'
# What a heading asks

Whoever reads this is wrong. Of these, two.

    What is an example stays.
END
for want in a.h:1 a.h:2 a.h:4 a.h:6 a.h:9 b.md:3; do
    ok "a broken rule is found at $want" sh -c \
        "awk -f words.awk planted/a.h planted/b.md | grep -q '^planted/$want:'"
done
ok 'and nothing else is' test "$(awk -f words.awk planted/a.h planted/b.md | wc -l)" -eq 6

# The whole tree.
(cd "$sources" && find src tests -type d ! -name '.*') | sort >folders
while read -r folder; do
    find "$sources/$folder" -maxdepth 1 -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) \
        -exec awk -f words.awk {} + >broken
    ok "$folder" test ! -s broken
    sed "s|^$sources/|# |" broken
done <folders
for file in "$sources"/*.md "$sources/NEWS" "$sources"/data/*.md "$sources"/doc/*.md "$sources"/man/*.[1357]; do
    awk -f words.awk "$file" >broken
    ok "${file#"$sources/"}" test ! -s broken
    sed "s|^$sources/|# |" broken
done

finish
