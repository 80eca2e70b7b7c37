/*
 * mapping_guard: a mapped file that becomes shorter ends the reading of it, not the process.
 * mapping_alloc: memory of any size.
 */
#include "config.h"

#include "sys/mapping.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/tap.h"

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

int main(void)
{
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

    tap_ok(mapping_guard(read_all, &r) && r.finished, "a whole file is read");
    if (ftruncate(fileno(file), 4096) != 0)
        return 99;
    tap_ok(!mapping_guard(read_all, &r) && !r.finished, "a truncated one is not");
    tap_ok(!mapping_guard(read_all, &r), "nor the second time");
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
    return tap_done();
}
