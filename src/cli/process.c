#include "config.h"

#include "cli/process.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Bytes that the heap grows by, beyond what is asked for; and the largest blocks in it, as large as
   glibc allows. */
#define HEAP_PAD (16 << 20)
#define HEAP_BLOCK (32 << 20)

/* Lets all threads take memory from one heap, which grows by large steps and holds blocks of up to
   32 MiB, if the C library is glibc. Heaps of threads, and large blocks that come and go, change
   the map of memory, which stops threads that make pages present. */
static void widen_heap(void)
{
#ifdef M_ARENA_MAX
    (void)mallopt(M_ARENA_MAX, 1);
#endif
#ifdef M_MMAP_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, HEAP_BLOCK);
    (void)mallopt(M_TRIM_THRESHOLD, 2 * HEAP_BLOCK);
    (void)mallopt(M_TOP_PAD, HEAP_PAD);
#endif
}

static void set_variable(const char *name, const char *value, bool replace)
{
    (void)setenv(name, value, replace);
}

static enum source_access access_method(const char *word)
{
    static const struct {
        const char *word;
        enum source_access access;
    } words[] = {{"mapped", SOURCE_ACCESS_MAPPED},
                 {"populated", SOURCE_ACCESS_POPULATED},
                 {"copied", SOURCE_ACCESS_COPIED}};

    for (size_t i = 0; word && i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i].word) == 0)
            return words[i].access;
    return SOURCE_ACCESS_BEST;
}

void process_settings(struct session_options *options)
{
    const char *direct = getenv("GPUREDUCE_DIRECT");

    options->kernels = getenv("GPUREDUCE_CPU");
    options->visible_devices = getenv("CUDA_VISIBLE_DEVICES");
    options->input.access = access_method(getenv("GPUREDUCE_CACHED"));
    options->input.no_direct = direct && strcmp(direct, "0") == 0;
    options->widen_heap = widen_heap;
    options->set_variable = set_variable;
}

void process_allow_files(uint64_t files)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= files)
        return;
    limit.rlim_cur = files < limit.rlim_max ? (rlim_t)files : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}
