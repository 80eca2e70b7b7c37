/*
 * mapping_guard: a mapped file that becomes shorter ends the reading of it, not the process.
 * Outside of it the handler that was there before is called. mapping_alloc: memory of any size.
 * mapping_populate and mapping_release: what they are for, which no result shows.
 */
/* Tags: threads ports */
#include "config.h"

#include "sys/mapping.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/tap.h"
#include "sys/signals.h"

#define SIZE ((size_t)1 << 20)

struct reading {
    const volatile unsigned char *map;
    unsigned long sum;
    bool finished;
};

static void read_all(void *argument)
{
    struct reading *r = argument;

    r->finished = false;
    for (size_t i = 0; i < SIZE; i += 512)
        r->sum += r->map[i];
    r->finished = true;
}

/* Several times in one thread: the guard must leave SIGBUS as it was. */
static void *read_often(void *argument)
{
    struct reading r = {.map = argument};
    unsigned long caught = 0;

    for (int i = 0; i < 100; i++)
        caught += !mapping_guard(read_all, &r);
    return (void *)caught;
}

/* All of it can be written to, and keeps what was. */
static void check_alloc(size_t size)
{
    unsigned char *memory = mapping_alloc(size);
    bool good = memory && (uintptr_t)memory % mapping_page() == 0;

    for (size_t i = 0; good && i < size; i++)
        memory[i] = (unsigned char)(i % 251);
    for (size_t i = 0; good && i < size; i++)
        good = memory[i] == i % 251;
    tap_ok(good, "memory for %zu bytes", size);
    free(memory);
}

/* Page faults of the process so far. */
static long faults(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_minflt + usage.ru_majflt : 0;
}

/* Page faults of reading a byte of each page. */
static long faults_of_reading(const volatile unsigned char *data, size_t size)
{
    const long before = faults();

    for (size_t i = 0; i < size; i += mapping_page())
        (void)data[i];
    return faults() - before;
}

/* The bytes of a mapping that are in the process's memory, as the kernel says; false where it does
   not. Those of neighbours that it shows with it count, too. */
static bool resident(const void *map, size_t *bytes)
{
    FILE *smaps = fopen("/proc/self/smaps", "re");
    char line[512], *dash, *blank;
    bool within = false, found = false;

    *bytes = 0;
    while (smaps && !found && fgets(line, sizeof line, smaps)) {
        const unsigned long long begin = strtoull(line, &dash, 16);

        if (*dash == '-') { /* a mapping: BEGIN-END ... */
            const unsigned long long end = strtoull(dash + 1, &blank, 16);

            within = *blank == ' ' && begin <= (uintptr_t)map && (uintptr_t)map < end;
        } else if (within && strncmp(line, "Rss:", 4) == 0) {
            *bytes = (size_t)strtoull(line + 4, NULL, 10) * 1024;
            found = true;
        }
    }
    if (smaps)
        fclose(smaps);
    return found;
}

/* Whether a page of a mapped file is in the process's memory: counted by kernel pages in a table of
   64 bits each, whose highest one says so. */
static bool is_resident(int pagemap, const unsigned char *at)
{
    uint64_t entry = 0;

    return pread(pagemap, &entry, sizeof entry,
                 (off_t)((uintptr_t)at / mapping_page() * sizeof entry)) == sizeof entry &&
           entry >> 63;
}

/* Pieces that are given back together, more of them than there is room for: their own pages are
   gone, and all others stay. */
static void check_pieces(unsigned char *map, size_t size)
{
    const size_t unit = mapping_page(), stride = 4 * unit, count = size / stride;
    const int pagemap = open("/proc/self/pagemap", O_RDONLY);
    struct mapping_pieces pieces = {NULL, 0, 0};
    size_t gone = 0, left = 0;

    (void)faults_of_reading(map, size);
    mapping_release(map, unit);
    if (pagemap < 0 || !is_resident(pagemap, map + unit)) {
        tap_skip("pieces that are given back", "the kernel does not tell what is in memory, or "
                                               "takes more of it");
    } else {
        /* From within the first page of four to within the second. */
        for (size_t i = 0; i < count; i++)
            mapping_pieces_add(&pieces, map + i * stride + unit / 2, unit);
        mapping_pieces_release(&pieces);
        mapping_pieces_close(&pieces);
        for (size_t i = 0; i < count; i++) {
            gone += !is_resident(pagemap, map + i * stride);
            gone += !is_resident(pagemap, map + i * stride + unit);
            left += is_resident(pagemap, map + i * stride + 2 * unit);
            left += is_resident(pagemap, map + i * stride + 3 * unit);
        }
        tap_ok(gone == 2 * count && left == 2 * count,
               "%zu pieces that are given back: %zu pages are gone, and %zu stay", count, gone,
               left);
    }
    if (pagemap >= 0)
        close(pagemap);
}

/* Reading pages that have been made present takes hardly a page fault, and those that were given
   back are in memory no more. A page fault may bring neighbours. */
static void check_pages(void)
{
    const size_t size = 4096 * mapping_page(), odd = mapping_page() / 2;
    FILE *file = tmpfile();
    unsigned char *map;
    size_t bytes;
    long without, with;

    if (!file || ftruncate(fileno(file), (off_t)size) != 0)
        exit(99);
    for (size_t i = 0; i < size; i++) /* the page cache has it */
        putc((int)(i % 251), file);
    fflush(file);
    map = mmap(NULL, size, PROT_READ, MAP_SHARED, fileno(file), 0);
    if (map == MAP_FAILED)
        exit(99);
    without = faults_of_reading(map, size);
    if (!resident(map, &bytes) || bytes < size) {
        tap_skip("pages that are given back", "the kernel does not tell what is in memory");
    } else {
        mapping_release(map, size / 2);
        (void)resident(map, &bytes);
        tap_ok(bytes <= size / 2 + 2 * mapping_page(),
               "pages that are given back: %zu of %zu KiB are left", bytes / 1024, size / 1024);
    }
    check_pieces(map, size);
    mapping_release(map, size);
    if (!mapping_populate(map + odd, size - odd)) {
        tap_skip("pages that are made present", "the kernel cannot do that");
    } else {
        if (resident(map, &bytes))
            tap_ok(bytes >= size, "pages that are made present: %zu KiB", bytes / 1024);
        with = faults_of_reading(map, size);
        if (without < 16)
            tap_skip("reading them", "pages come with few page faults here");
        else
            tap_ok(with <= without / 4, "reading them: %ld page faults, and %ld without", with,
                   without);
    }
    munmap(map, size);
    fclose(file);
}

static sigjmp_buf resume;
static volatile sig_atomic_t handled;

static void on_bus(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    handled += signal_number == SIGBUS && info->si_addr;
    siglongjmp(resume, 1);
}

/* Reads what is not there, outside of mapping_guard. */
static void read_unguarded(const void *map)
{
    struct reading r = {.map = map};

    if (sigsetjmp(resume, 1) == 0)
        read_all(&r);
}

int main(void)
{
    const struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    struct sigaction now;
    FILE *file = tmpfile();
    struct reading r = {0};
    pthread_t threads[4];
    void *map;
    bool all = true;

    if (!file || ftruncate(fileno(file), (off_t)SIZE) != 0)
        return 99;
    map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fileno(file), 0);
    if (map == MAP_FAILED)
        return 99;
    r.map = map;
    sigaction(SIGBUS, &action, NULL);

    tap_ok(mapping_guard(read_all, &r) && r.finished && sigaction(SIGBUS, NULL, &now) == 0 &&
               now.sa_sigaction == on_bus,
           "a whole file is read, and no handler of signals is changed for it");
    signals_open();
    tap_ok(mapping_guard(read_all, &r) && r.finished, "nor does the handler matter for that");
    if (ftruncate(fileno(file), 4096) != 0)
        return 99;
    tap_ok(!mapping_guard(read_all, &r) && !r.finished, "a truncated one is not");
    tap_ok(!mapping_guard(read_all, &r), "nor the second time");
    tap_ok(handled == 0, "the handler that was there before is not called");
    read_unguarded(map);
    tap_ok(handled == 1, "it is called for what is read unguarded");
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, read_often, map) != 0)
            return 99;
    for (int i = 0; i < 4; i++) {
        void *caught;
        pthread_join(threads[i], &caught);
        all = all && (unsigned long)caught == 100;
    }
    tap_ok(all, "nor in any of several threads at once");
    if (ftruncate(fileno(file), (off_t)SIZE) != 0)
        return 99;
    tap_ok(mapping_guard(read_all, &r) && r.finished, "it is read when it is whole again");
    fclose(file);
    check_alloc(1);
    check_alloc(mapping_page() + 1);
    check_alloc(((size_t)2 << 20) - 1);
    check_alloc(((size_t)4 << 20) + 12345);
    check_pages();
    return tap_done();
}
