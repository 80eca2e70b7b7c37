#include "config.h"

#include "bench/ladder/timing.h"

#include <pthread.h>
#include <time.h>

/* The timed launches of all cases together may take so many milliseconds, but there are at least
   REPEAT_LEAST of each. */
#define TIME_BUDGET 1000.0
#define REPEAT_LEAST 3

/* Holds a stream back until a batch is queued. The mutex guards `open`. */
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
};

/* The gate opens by itself after so long. Queueing a batch takes a millisecond. But under some
   debugging tools a launch waits for the stream, which would wait for the gate forever. */
#define GATE_NANOSECONDS 100000000

/* Runs on a thread of the CUDA runtime. */
static void gate_wait(void *argument)
{
    struct gate *gate = argument;
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (until.tv_nsec + GATE_NANOSECONDS) / 1000000000;
    until.tv_nsec = (until.tv_nsec + GATE_NANOSECONDS) % 1000000000;
    pthread_mutex_lock(&gate->mutex);
    while (!gate->open && pthread_cond_timedwait(&gate->changed, &gate->mutex, &until) == 0)
        ;
    pthread_mutex_unlock(&gate->mutex);
}

static void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

/* Queues launch `i` of a batch: an event, a reduction by the case, another event. */
static cudaError_t queue_launch(struct workbench *b, struct inputs *in, struct bench_case *c,
                                unsigned i)
{
    unsigned char *data;
    cudaError_t error = inputs_take(b, in, c, &data);

    if (error == cudaSuccess)
        error = cudaEventRecord(b->begun[i], b->stream);
    if (error == cudaSuccess)
        error = bench_case_start(b, c, data);
    if (error == cudaSuccess)
        error = cudaEventRecord(b->ended[i], b->stream);
    return c->error = error;
}

/* Adds the time of launch `i` of a batch to the case's. */
static cudaError_t take_time(const struct workbench *b, struct bench_case *c, unsigned i)
{
    float milliseconds;

    c->error = cudaEventElapsedTime(&milliseconds, b->begun[i], b->ended[i]);
    if (c->error == cudaSuccess)
        c->times[c->timed++] = (double)milliseconds;
    return c->error;
}

/* Runs the cases in turn, `rounds` times, at most WORKBENCH_BATCH launches in all, and takes their
   times if `timed`. The case that failed has the error. */
static bool run_batch(struct workbench *b, struct inputs *in, struct bench_case *cases,
                      unsigned count, unsigned rounds, bool timed)
{
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    cudaError_t error = cudaSuccess, late;
    unsigned queued = 0;

    if (timed)
        error = cases[0].error = cudaLaunchHostFunc(b->stream, gate_wait, &gate);
    for (; queued < rounds * count && error == cudaSuccess; queued++)
        error = queue_launch(b, in, &cases[queued % count], queued);
    gate_open(&gate);
    /* Also after an error: the gate must exist until the stream has passed it. */
    late = cudaStreamSynchronize(b->stream);
    if (error == cudaSuccess && late != cudaSuccess)
        error = cases[0].error = late;
    for (unsigned i = 0; timed && i < queued && error == cudaSuccess; i++)
        error = take_time(b, &cases[i % count], i);
    if (error != cudaSuccess)
        workbench_note_error(b);
    return error == cudaSuccess;
}

bool timing_measure(struct workbench *b, struct inputs *in, struct bench_case *cases,
                    unsigned count)
{
    unsigned repeat = b->repeat, rounds = WORKBENCH_BATCH / count;
    double round = 0;

    for (unsigned i = 0; i < count; i++) {
        cases[i].timed = 0;
        cases[i].copy = 0;
        cases[i].error = bench_case_reset(b, &cases[i], cases[i].slots);
        if (cases[i].error != cudaSuccess)
            return false;
    }
    if (!run_batch(b, in, cases, count, CASE_WARM_UPS, false) ||
        !run_batch(b, in, cases, count, CASE_TRIALS, true))
        return false;
    for (unsigned i = 0; i < count; i++) {
        round += cases[i].times[0];
        cases[i].timed = 0; /* the trial's time does not count */
    }
    if (round * repeat > TIME_BUDGET)
        repeat =
            TIME_BUDGET / round > REPEAT_LEAST ? (unsigned)(TIME_BUDGET / round) : REPEAT_LEAST;
    repeat = repeat < b->repeat ? repeat : b->repeat;
    for (unsigned done = 0; done < repeat; done += rounds)
        if (!run_batch(b, in, cases, count, repeat - done < rounds ? repeat - done : rounds, true))
            return false;
    return true;
}
