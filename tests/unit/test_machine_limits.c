/*
 * machine_limits.h: the record of a machine's limits; whatever stands in its place does no harm.
 */
#include "config.h"

#include "profile/machine_limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/tap.h"

/* As gpureduce-bench writes it, but for the length. */
static const char record[] =
    "{\"table\": \"limits\", \"cpu\": \"Some CPU @ 2.00GHz\", \"threads\": 8, "
    "\"instruction_set\": \"avx512\", \"bytes\": 4294967296, \"temporary_file_in\": \"/tmp\", "
    "\"gpu\": \"Some GPU\", \"gpu_l2_bytes\": 62914560, \"rows\": [\n"
    "{\"group\": \"link to the GPU\", \"limit\": \"host-to-device-pinned\", \"threads\": null, "
    "\"piece_kibibytes\": 1024, \"gigabytes_per_second\": 48.25, "
    "\"lowest_gigabytes_per_second\": 48, \"percent_of_peak\": null, \"what\": \"copies\"},\n"
    "{\"limit\": \"host-to-device-pinned\", \"threads\": null, \"gigabytes_per_second\": 55.5},\n"
    "{\"limit\": \"cached-mapped\", \"threads\": 1, \"gigabytes_per_second\": 10},\n"
    "{\"limit\": \"cached-mapped\", \"threads\": 8, \"gigabytes_per_second\": 60},\n"
    "{\"limit\": \"cached-mapped\", \"threads\": 2, \"gigabytes_per_second\": 18},\n"
    "{\"limit\": \"without-a-rate\", \"threads\": 8, \"gigabytes_per_second\": null}\n"
    "]}\n";

static struct machine machine;
static char reason[MACHINE_REASON_MAX];

/* Whether a record with these rows, and maybe more members, is taken. */
static bool rows(const char *text)
{
    static char all[4096];

    snprintf(all, sizeof all, "{\"table\": \"limits\", \"cpu\": \"c\", \"rows\": [%s]}", text);
    return machine_parse(&machine, all, reason);
}

static void test_good(void)
{
    static const struct {
        unsigned threads;
        double rate;
    } mapped[] = {{1, 10}, {2, 18}, {3, 25}, {5, 39}, {8, 60}, {9, 60}, {4096, 60}};
    struct tap_family family = {0};

    tap_ok(machine_parse(&machine, record, reason), "a record is read");
    tap_ok(strcmp(machine.cpu, "Some CPU @ 2.00GHz") == 0 && strcmp(machine.gpu, "Some GPU") == 0,
           "the names of the CPU and the GPU");
    tap_ok(machine_best(&machine, "host-to-device-pinned") == 55.5, "the best of several");
    tap_ok(machine_best(&machine, "host-to-device") == 0 &&
               machine_rate(&machine, "host-to-device", 1) == 0 &&
               machine_best(&machine, "without-a-rate") == 0,
           "what is not there is 0");
    for (size_t i = 0; i < sizeof mapped / sizeof *mapped; i++)
        tap_case(&family,
                 machine_rate(&machine, "cached-mapped", mapped[i].threads) == mapped[i].rate,
                 "%u threads: %g", mapped[i].threads,
                 machine_rate(&machine, "cached-mapped", mapped[i].threads));
    tap_family_end(&family, "rates by threads: recorded, between, beyond");
    rows("{\"limit\": \"a\", \"threads\": 4, \"gigabytes_per_second\": 7}");
    tap_ok(machine_rate(&machine, "a", 1) == 7, "fewer threads than any recorded");
    tap_ok(rows("") && machine_best(&machine, "a") == 0, "a record may be empty");
}

static void test_nonsense(void)
{
    static const char *const bad[] = {
        "{\"limit\": \"a\", \"gigabytes_per_second\": 0}",
        "{\"limit\": \"a\", \"gigabytes_per_second\": -1}",
        "{\"limit\": \"a\", \"gigabytes_per_second\": 1e7}",
        "{\"limit\": \"a\", \"gigabytes_per_second\": 1e999}",
        "{\"limit\": \"a\", \"gigabytes_per_second\": \"55\"}",
        "{\"limit\": \"a\", \"gigabytes_per_second\": [55]}",
        "{\"limit\": \"a\", \"gigabytes_per_second\": true}",
        "{\"limit\": 1, \"gigabytes_per_second\": 55}",
        "{\"limit\": \"a name of more than thirty-one bytes\", \"gigabytes_per_second\": 55}",
        "{\"limit\": \"a\", \"threads\": 0, \"gigabytes_per_second\": 55}",
        "{\"limit\": \"a\", \"threads\": -1, \"gigabytes_per_second\": 55}",
        "{\"limit\": \"a\", \"threads\": 1.5, \"gigabytes_per_second\": 55}",
        "{\"limit\": \"a\", \"threads\": 1e300, \"gigabytes_per_second\": 55}",
        "1",
        "null",
        "[]",
        "{},",
    };
    static const char *const others[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"table\": \"ladder\", \"cpu\": \"c\", \"rows\": []}",
        "{\"table\": \"limits\", \"rows\": []}",
        "{\"table\": \"limits\", \"cpu\": \"\", \"rows\": []}",
        "{\"table\": \"limits\", \"cpu\": 1, \"rows\": []}",
        "{\"table\": \"limits\", \"cpu\": null, \"rows\": []}",
        "{\"table\": \"limits\", \"cpu\": \"c\", \"rows\": {}}",
        "{\"table\": \"limits\", \"cpu\": \"c\", \"rows\": []} x",
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        tap_case(&family, !rows(bad[i]) && reason[0], "taken: %s", bad[i]);
    tap_family_end(&family, "rows that make no sense");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        tap_case(&family, !machine_parse(&machine, others[i], reason) && reason[0], "taken: %s",
                 others[i]);
    tap_family_end(&family, "what is no such record");
}

/* Cut off and changed at every byte: it is refused, or makes sense. */
static void test_damage(void)
{
    struct tap_family family = {0};
    char text[sizeof record];

    for (size_t i = 0; i + 2 < sizeof record; i++) {
        memcpy(text, record, i);
        text[i] = '\0';
        tap_case(&family, !machine_parse(&machine, text, reason), "taken when cut off at %zu", i);
    }
    tap_family_end(&family, "cut off anywhere");
    for (size_t i = 0; i + 1 < sizeof record; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bool good;

            memcpy(text, record, sizeof record);
            text[i] = (char)((unsigned char)text[i] ^ 1 << bit);
            good = machine_parse(&machine, text, reason);
            for (size_t j = 0; good && j < machine.count; j++)
                tap_case(&family, machine.limits[j].rate > 0 && machine.limits[j].rate <= 1e6,
                         "byte %zu, bit %d: %g", i, bit, machine.limits[j].rate);
        }
    }
    tap_family_end(&family, "a bit flipped anywhere");
}

/* More rows than there is room for. */
static void test_many(void)
{
    static char text[(MACHINE_LIMITS_MAX + 1) * 64];
    static const char row[] = "{\"limit\": \"a\", \"gigabytes_per_second\": 1}";
    struct tap_family family = {0};

    for (size_t count = MACHINE_LIMITS_MAX; count <= MACHINE_LIMITS_MAX + 1; count++) {
        size_t used = (size_t)sprintf(text, "{\"table\": \"limits\", \"cpu\": \"c\", \"rows\": [");

        for (size_t i = 0; i < count; i++)
            used += (size_t)sprintf(text + used, "%s%s", i ? "," : "", row);
        sprintf(text + used, "]}");
        tap_case(&family,
                 machine_parse(&machine, text, reason) == (count == MACHINE_LIMITS_MAX) &&
                     machine.count <= MACHINE_LIMITS_MAX,
                 "%zu rows", count);
    }
    tap_family_end(&family, "as many rows as there is room for");
}

/*
 * Files.
 */
static char directory[] = "/tmp/test_machine.XXXXXX";

/* Puts `size` bytes where the record is looked for. */
static void put(const char *text, size_t size)
{
    char name[sizeof directory + 32];
    FILE *file;

    snprintf(name, sizeof name, "%s/gpureduce/limits.json", directory);
    file = fopen(name, "w");
    if (!file || fwrite(text, 1, size, file) != size || fclose(file) != 0)
        exit(99);
}

static void test_files(void)
{
    char name[sizeof directory + 32], cpu[MACHINE_NAME_MAX], text[2 * MACHINE_NAME_MAX];
    static char large[1 << 20];

    tap_ok(machine_load(&machine, reason) && machine.count == 0, "no file is no error");
    snprintf(name, sizeof name, "%s/gpureduce", directory);
    if (mkdir(name, 0700) != 0)
        exit(99);
    tap_ok(machine_load(&machine, reason) && machine.count == 0, "nor no file in it");

    put(record, sizeof record - 1);
    tap_ok(!machine_load(&machine, reason) && machine.count == 0 && strstr(reason, "another CPU"),
           "a record of another machine is refused");
    machine_processor(cpu);
    snprintf(text, sizeof text,
             "{\"table\": \"limits\", \"cpu\": \"%s\", \"rows\": "
             "[{\"limit\": \"a\", \"gigabytes_per_second\": 2.5}]}",
             cpu);
    put(text, strlen(text));
    tap_ok(machine_load(&machine, reason) && machine_best(&machine, "a") == 2.5,
           "one of this machine is taken");
    put(text, strlen(text) + 1);
    tap_ok(!machine_load(&machine, reason) && machine.count == 0, "a NUL is refused");
    put("", 0);
    tap_ok(!machine_load(&machine, reason) && reason[0], "an empty file is refused");
    memset(large, ' ', sizeof large);
    put(large, sizeof large);
    tap_ok(!machine_load(&machine, reason) && strcmp(reason, "too large") == 0,
           "a large file is not read");

    snprintf(name, sizeof name, "%s/gpureduce/limits.json", directory);
    if (unlink(name) != 0 || mkfifo(name, 0600) != 0)
        exit(99);
    tap_ok(!machine_load(&machine, reason) && reason[0], "a FIFO is not waited for");
    unlink(name);
    if (mkdir(name, 0700) != 0)
        exit(99);
    tap_ok(!machine_load(&machine, reason) && reason[0], "a directory is refused");
    rmdir(name);
    snprintf(name, sizeof name, "%s/gpureduce", directory);
    rmdir(name);
}

static void test_cache(void)
{
    static char cache[MACHINE_CACHE_MAX], longer[MACHINE_CACHE_MAX + 1];

    setenv("HOME", "/home/somebody", 1);
    setenv("XDG_CACHE_HOME", "relative", 1);
    tap_ok(!machine_cache(cache) && strcmp(cache, "/home/somebody/.cache") == 0,
           "a relative XDG_CACHE_HOME is ignored");
    setenv("XDG_CACHE_HOME", "/somewhere", 1);
    tap_ok(!machine_cache(cache) && strcmp(cache, "/somewhere") == 0, "an absolute one is not");
    memset(longer, '/', sizeof longer - 1);
    setenv("XDG_CACHE_HOME", longer, 1);
    tap_ok(machine_cache(cache) && machine_load(&machine, reason) && machine.count == 0,
           "a path that is too long means that there is none");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    tap_ok(machine_cache(cache) && machine_load(&machine, reason) && machine.count == 0,
           "without any, there is none");
}

int main(void)
{
    if (!mkdtemp(directory) || setenv("XDG_CACHE_HOME", directory, 1) != 0)
        return 99;
    test_good();
    test_nonsense();
    test_damage();
    test_many();
    test_files();
    rmdir(directory);
    test_cache();
    return tap_done();
}
