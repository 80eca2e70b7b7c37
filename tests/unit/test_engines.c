/*
 * An engine through the interface that workers use: workers, buffers, chunks. Every element type,
 * byte order and distribution must give what the oracle says, bit for bit, however the data are cut
 * into chunks and shared between workers. Built a second time with TEST_CUDA, for the CUDA engine;
 * that skips where there is no usable GPU.
 */
#include "config.h"

#include "engine/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data_gen.h"
#include "lib/engine_workers.h"
#include "lib/oracle.h"
#include "lib/reference.h"
#include "lib/sanitized.h"
#include "lib/tap.h"
#include "sys/clock.h"

#define LANES 3

/* The logarithm to base 2 of many elements: the CPU's blocks are small. */
#ifdef TEST_CUDA
#    define MANY_LOG2 20
#else
#    define MANY_LOG2 18
#endif

/* Reduces data[0 .. n) in chunks of `piece` elements, dealt out to the workers in turn. */
static bool reduce(const struct engine *engine, struct engine_state *state,
                   const struct engine_setup *setup, const unsigned char *data, size_t n,
                   size_t piece, uint64_t index, struct partial *total)
{
    char reason[ENGINE_REASON_MAX] = "";
    size_t size = element_size(setup->type), at = 0;
    struct engine_worker *workers[LANES] = {0};
    bool good = true;

    partial_clear(total);
    for (int i = 0; i < LANES; i++) {
        workers[i] = engine->worker_open(state, setup, (unsigned)i, reason);
        if (!workers[i]) {
            tap_note("worker %d: %s", i, reason);
            good = false;
        }
    }
    for (int turn = 0; good && at < n; turn = (turn + 1) % LANES) {
        size_t room, count = n - at < piece ? n - at : piece;
        void *buffer = engine->buffer(workers[turn], &room);
        struct chunk chunk = {.index = index + at, .data = buffer};

        if (buffer == NULL) {
            good = false;
            break;
        }
        chunk.count = count < room / size ? count : room / size;
        memcpy(buffer, data + at * size, chunk.count * size);
        good = engine->reduce(workers[turn], &chunk) == ENGINE_TAKEN;
        at += chunk.count;
    }
    return engine_workers_end(engine, workers, LANES, total) && good;
}

static void check(struct tap_family *family, const struct engine *engine,
                  struct engine_state *state, const struct engine_setup *setup,
                  const unsigned char *native, size_t n, size_t piece, const char *what)
{
    size_t size = element_size(setup->type);
    unsigned char *data = malloc(n * size + 1);
    const uint64_t index = UINT64_C(1) << 40;
    struct reference expected;
    struct partial total;
    bool good;

    if (!data)
        abort();
    if (setup->swap)
        element_swap(data, native, n, size);
    else
        memcpy(data, native, n * size);
    reference_reduce(&expected, setup->type, native, n, index);
    good = reduce(engine, state, setup, data, n, piece, index, &total);
    for (int skip = 0; skip < 2; skip++) {
        struct result got;

        partial_finish(&total, skip, &got);
        tap_case(family, good && reference_same(&got, &expected.policy[skip], setup->wants),
                 "%s, %s, swap %d, %zu elements in pieces of %zu, wants %u, skip %d:\n%s\n"
                 "expected\n%s",
                 element_name(setup->type), what, setup->swap, n, piece, setup->wants, skip,
                 reference_show(&got), reference_show(&expected.policy[skip]));
    }
    free(data);
}

static const unsigned all_wants[] = {
    PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE,
    PARTIAL_EXTREMES | PARTIAL_WHERE,
    PARTIAL_SUM,
    PARTIAL_EXTREMES,
};

/* Around what a GPU block takes at a time (16 or 32 KiB), and up to many blocks. */
static const size_t lengths[] = {1,    2,    31,   33,   1023, 1025,  2047,  2048, 2049,
                                 4095, 4096, 4097, 8191, 8193, 16385, 32769, 70001};

static void check_engine(const struct engine *engine, struct engine_state *state)
{
    for (int t = 0; t < ELEMENT_FLOATS; t++) {
        enum element_type type = (enum element_type)t;
        size_t most = lengths[sizeof lengths / sizeof *lengths - 1];
        unsigned char *data = malloc(most * element_size(type));
        struct tap_family family = {0};
        int round = 0;

        if (!data)
            abort();
        for (int d = 0; d < DATA_KINDS; d++) {
            for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++, round++) {
                struct engine_setup setup = {.type = type,
                                             .swap = round % 5 == 1,
                                             .wants = all_wants[round % 7 < 4 ? round % 7 : 0]};
                size_t n = lengths[i];

                data_fill((enum data_kind)d, type, data, n, (uint64_t)round);
                for (int k = 0; k < (round % 3 == 2 ? 3 : 0); k++)
                    data_put_special(type, data, (size_t)(round * 31 + k * 977) % n,
                                     (enum data_special)((round + k) % DATA_SPECIALS));
                setup.chunk_size = round % 2 ? 20000 : 0;
                check(&family, engine, state, &setup, data, n, round % 4 ? n : 1 + n / 5,
                      data_kind_name((enum data_kind)d));
            }
        }
        tap_family_end(&family, "%s: %s, lengths and distributions", engine->name,
                       element_name(type));

        /* More data, one NaN or infinity among all. */
        {
            size_t n = (size_t)1 << (SANITIZED ? 16 : MANY_LOG2);
            unsigned char *large = malloc(n * element_size(type));
            struct engine_setup setup = {.type = type, .wants = all_wants[0]};

            if (!large)
                abort();
            for (int d = 0; d < DATA_KINDS; d++) {
                data_fill((enum data_kind)d, type, large, n, 77);
                if (d % 2)
                    data_put_special(type, large, n - 1 - (size_t)d,
                                     (enum data_special)(d % DATA_SPECIALS));
                check(&family, engine, state, &setup, large, n, n,
                      data_kind_name((enum data_kind)d));
            }
            tap_family_end(&family, "%s: %s, many elements", engine->name, element_name(type));
            /* Hardly a group without a NaN or an infinity, or with nothing else. */
            for (int d = 0; d < DATA_KINDS; d++) {
                n = (size_t)1 << (SANITIZED ? 14 : MANY_LOG2 - 3);
                data_fill((enum data_kind)d, type, large, n, 78);
                for (size_t i = 0; i < n; i += 1 + i % 7)
                    data_put_special(type, large, i,
                                     i < n / 8 ? DATA_QUIET_NAN
                                               : (enum data_special)(i % DATA_SPECIALS));
                check(&family, engine, state, &setup, large, n, n / 3,
                      data_kind_name((enum data_kind)d));
            }
            tap_family_end(&family, "%s: %s, many elements, many of them special", engine->name,
                           element_name(type));
            free(large);
        }
        free(data);
    }
}

#ifdef TEST_CUDA
/* Checks the times of a worker after two chunks of 4096 bytes between `begun` and `ended`. */
static void check_times(struct engine_times *times, uint64_t begun, uint64_t ended)
{
    const struct timeline *lines[] = {&times->lines[ENGINE_COPIES], &times->lines[ENGINE_KERNELS]};
    struct tap_family family = {0};

    for (int i = 0; i < 2; i++) {
        tap_case(&family, lines[i]->count == 2 && lines[i]->bytes == 8192, "%zu stretches",
                 lines[i]->count);
        for (size_t j = 0; j < lines[i]->count; j++) {
            struct timeline_span span = lines[i]->spans[j];
            tap_case(&family, begun <= span.begin && span.begin <= span.end && span.end <= ended,
                     "stretch %zu", j);
        }
    }
    for (size_t j = 0; j < lines[0]->count && j < lines[1]->count; j++)
        tap_case(&family, lines[0]->spans[j].begin <= lines[1]->spans[j].begin,
                 "kernel %zu is before its copy", j);
    tap_family_end(&family, "cuda: copies and kernels have their time, and on the host's clock");
    engine_times_free(times);
}

/* A chunk that cannot be copied fails; it, and what follows, is handed back, and what came before
   counts. */
static void check_failure(const struct engine *engine, struct engine_state *state)
{
    char reason[ENGINE_REASON_MAX] = "";
    struct engine_setup setup = {
        .type = ELEMENT_F32, .wants = PARTIAL_SUM | PARTIAL_EXTREMES, .chunk_size = 4096};
    uint64_t begun = clock_now();
    struct engine_worker *worker = engine->worker_open(state, &setup, 0, reason);
    struct chunk chunk = {0}, left[ENGINE_PENDING_MAX];
    struct partial partial;
    struct engine_times times;
    struct result result;
    enum engine_status status;
    unsigned count;
    size_t size;
    float *buffer;

    if (!tap_ok(worker != NULL, "cuda: a worker opens"))
        return;
    for (uint64_t i = 0; i < 3; i++) {
        buffer = engine->buffer(worker, &size);
        for (int j = 0; j < 1024; j++)
            buffer[j] = (float)i;
        chunk = (struct chunk){.index = 1024 * i, .count = 1024, .data = buffer};
        /* The last one says that it is larger than the buffers are. */
        if (i == 2)
            chunk.count = (size_t)1 << 28;
        status = engine->reduce(worker, &chunk);
        tap_ok(status == (i == 2 ? ENGINE_FAILED : ENGINE_TAKEN), "cuda: chunk %d of 3", (int)i);
    }
    tap_ok(!engine->finish(worker, &partial, &times), "cuda: finish says that it failed");
    count = engine->unfinished(worker, left);
    tap_ok(count == 1 && left[0].index == 2048, "cuda: the failed chunk is handed back");
    partial_finish(&partial, 0, &result);
    tap_ok(partial.count == 2048 && result.sum == 1024, "cuda: the chunks before it count");
    tap_ok(engine->worker_error(worker)[0] != '\0', "cuda: there is a reason: %s",
           engine->worker_error(worker));
    check_times(&times, begun, clock_now());
    engine->worker_close(worker);
}
#endif

int main(void)
{
    char reason[ENGINE_REASON_MAX] = "";
    const int devices[] = {0};
    const struct engine_needs needs = {.devices = devices, .device_count = 1, .workers = 2};
#ifdef TEST_CUDA
    const struct engine *engine = &engine_cuda;
    struct engine_state *state = engine->open(&needs, reason);

    if (!state)
        return tap_skip_all(reason);
    tap_note("%s", engine->describe(state));
    check_failure(engine, state);
#else
    const struct engine *engine = &engine_cpu;
    struct engine_state *state = engine->open(&needs, reason);
#endif
    if (tap_ok(state != NULL, "%s opens", engine->name)) {
        check_engine(engine, state);
        engine->close(state);
    }
    return tap_done();
}
