/*
 * The progress line: what it shows, and that it is never wider than the terminal.
 */
#include "config.h"

#include <stdint.h>

#include "cli/progress.h"
#include "lib/tap.h"
#include "sys/clock.h"
#include "sys/escape.h"

#define GB UINT64_C(1000000000)

/* The columns of a text as terminals show it: Han characters are wide. */
static size_t columns_of(const char *text)
{
    size_t columns = 0;

    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if ((*p & 0xc0) != 0x80)
            columns += *p >= 0xe3 ? 2 : 1;
    return columns;
}

static bool is_utf8(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t length = 1;

    for (; *p && length; p += length)
        length = escape_utf8_length(p);
    return length > 0;
}

static void line(const char *name, uint64_t total, uint64_t done, double seconds, unsigned columns,
                 char text[PROGRESS_TEXT_MAX])
{
    const struct progress p = {.name = name, .begun = CLOCK_SECOND, .total = total};

    progress_text(&p, done, CLOCK_SECOND + (uint64_t)(seconds * 1e9), columns, text);
}

static void test_lines(void)
{
    static const struct {
        const char *name;
        uint64_t total, done;
        double seconds;
        unsigned columns;
        const char *text;
    } cases[] = {
        {NULL, 8 * GB, 2 * GB, 2, 79, "2.00 of 8.00 GB   25 %  1.00 GB/s  0:06 left"},
        {NULL, 800 * GB, 2 * GB, 2, 79, "2 of 800 GB    0 %  1.00 GB/s  13:18 left"},
        {NULL, 8000 * GB, 8 * GB, 2, 79, "0.01 of 8.00 TB    0 %  4.00 GB/s  33:18 left"},
        {NULL, 80000 * GB, 8 * GB, 2, 79, "0.0 of 80.0 TB    0 %  4.00 GB/s  5:33:18 left"},
        {NULL, 40000000, 10000000, 2, 79, "10.0 of 40.0 MB   25 %  5.00 MB/s  0:06 left"},
        {NULL, 40000, 10000, 2, 79, "10.0 of 40.0 kB   25 %  5.00 kB/s  0:06 left"},
        {NULL, 40000000, 0, 2, 79, "0.0 of 40.0 MB    0 %  0.00 kB/s  -:-- left"},
        {NULL, 40000000, 40000000, 2, 79, "40.0 of 40.0 MB  100 %  20.0 MB/s  0:00 left"},
        {NULL, 40000000, 50000000, 2, 79, "50.0 of 40.0 MB  100 %  25.0 MB/s  0:00 left"},
        {NULL, UINT64_MAX, 999 * GB / 1000, 3, 79, "999 MB  333 MB/s  3 s"},
        {NULL, UINT64_MAX, 9996 * GB / 10000, 3, 79, "1.00 GB  333 MB/s  3 s"},
        {NULL, UINT64_MAX, 0, 3, 79, "0.00 kB  0.00 kB/s  3 s"},
        {"a.f32", 8 * GB, 2 * GB, 2, 79, "a.f32  2.00 of 8.00 GB   25 %  1.00 GB/s  0:06 left"},
        /* The name fits, is shortened, and has figures left out for it; then it is left out. */
        {"abcdefghijklmnopqrst", 8 * GB, 2 * GB, 2, 66,
         "abcdefghijklmnopqrst  2.00 of 8.00 GB   25 %  1.00 GB/s  0:06 left"},
        {"abcdefghijklmnopqrst", 8 * GB, 2 * GB, 2, 65,
         "abcdefgh...mnopqrst  2.00 of 8.00 GB   25 %  1.00 GB/s  0:06 left"},
        {"abcdefghijklmnopqrst", 8 * GB, 2 * GB, 2, 58,
         "abcd...pqrst  2.00 of 8.00 GB   25 %  1.00 GB/s  0:06 left"},
        {"abcdefghijklmnopqrst", 8 * GB, 2 * GB, 2, 57,
         "abcdefghijklmnopqrst   25 %  1.00 GB/s  0:06 left"},
        {"abcdefghijklmnopqrst", 8 * GB, 2 * GB, 2, 41,
         "abcd...pqrst   25 %  1.00 GB/s  0:06 left"},
        {"abcdefghijklmnopqrst", 8 * GB, 2 * GB, 2, 20, "abcde...pqrst   25 %"},
        {"abcdefghijklmnopqrst", 8 * GB, 2 * GB, 2, 19, "abcd...pqrst   25 %"},
        {"abcdefghijklmnopqrst", 8 * GB, 2 * GB, 2, 18, " 25 %  0:06 left"},
        {NULL, 8 * GB, 2 * GB, 2, 15, " 25 %"},
        {NULL, 8 * GB, 2 * GB, 2, 4, ""},
        {NULL, UINT64_MAX, 2 * GB, 2, 8, "2.00 GB"},
        {NULL, UINT64_MAX, 2 * GB, 2, 0, ""},
    };
    struct tap_family family = {0};
    char text[PROGRESS_TEXT_MAX];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        line(cases[i].name, cases[i].total, cases[i].done, cases[i].seconds, cases[i].columns,
             text);
        tap_case(&family, strcmp(text, cases[i].text) == 0, "shows '%s', not '%s'", text,
                 cases[i].text);
    }
    tap_family_end(&family, "lines");
}

static void test_widths(void)
{
    static const char *const names[] = {
        NULL,
        "a",
        "data.f32",
        "a/rather/long/path/to/some/data/of/the/twenty-first/of/november.f32.zst",
        ("\xe6\x95\xb0\xe6\x8d\xae/\xe6\xb5\xae\xe7\x82\xb9\xe6\x95\xb0/"
         "\xe6\x95\xb0\xe6\x8d\xae.f32"),
        "caf\xc3\xa9s/\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
        "\xf0\x9f\x93\x88\xf0\x9f\x93\x88\xf0\x9f\x93\x88\xf0\x9f\x93\x88\xf0\x9f\x93\x88\xf0\x9f",
    };
    static const uint64_t totals[] = {UINT64_MAX, 0, 1, 40000000, 8 * GB, UINT64_MAX / 2};
    struct tap_family family = {0};
    char long_name[1024], text[PROGRESS_TEXT_MAX];

    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    for (size_t n = 0; n <= sizeof names / sizeof *names; n++) {
        const char *name = n < sizeof names / sizeof *names ? names[n] : long_name;

        for (size_t t = 0; t < sizeof totals / sizeof *totals; t++) {
            for (unsigned columns = 0; columns < 1200; columns += columns < 130 ? 1 : 17) {
                line(name, totals[t], totals[t] / 3, 7, columns, text);
                tap_case(&family,
                         columns_of(text) <= columns &&
                             (is_utf8(text) || (name && !is_utf8(name))) && (columns < 24 || *text),
                         "%u columns: '%s'", columns, text);
            }
        }
    }
    tap_family_end(&family, "never wider than the terminal, and no character in parts");
}

int main(void)
{
    test_lines();
    test_widths();
    return tap_done();
}
