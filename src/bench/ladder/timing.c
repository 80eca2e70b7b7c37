#include "config.h"

#include "bench/ladder/timing.h"

#include <pthread.h>
#include <time.h>

/* Milliseconds that the timed launches of a rung may take, all together, if three of them fit. */
#define TIME_BUDGET 1000.0
#define REPEAT_LEAST 3

/* Holds a stream back until a batch is queued. */
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
};

/* Queueing a batch takes a millisecond. A launch that itself waits for the stream, as under some
   debugging tools, would never come to an end: then the gate opens by itself. */
#define GATE_NANOSECONDS 100000000

/* On a thread of the CUDA runtime. */
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

/* Runs the subjects in turn, `rounds` times, at most WORKBENCH_BATCH launches in all, and adds the
   times to theirs where `timed`. On an error the subject that had it keeps it. */
static bool run_batch(struct workbench *b, struct inputs *in, struct subject *subjects,
                      unsigned count, unsigned rounds, bool timed)
{
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    cudaError_t error = cudaSuccess, behind;
    unsigned queued = 0;

    if (timed)
        error = subjects[0].error = cudaLaunchHostFunc(b->stream, gate_wait, &gate);
    for (; queued < rounds * count && error == cudaSuccess; queued++) {
        struct subject *s = &subjects[queued % count];
        unsigned char *data;

        error = inputs_take(b, in, s, &data);
        if (error == cudaSuccess)
            error = cudaEventRecord(b->begun[queued], b->stream);
        if (error == cudaSuccess)
            error = subject_start(b, s, data);
        if (error == cudaSuccess)
            error = cudaEventRecord(b->ended[queued], b->stream);
        s->error = error;
    }
    gate_open(&gate);
    /* The gate must not go before the stream has passed it. */
    behind = cudaStreamSynchronize(b->stream);
    if (error == cudaSuccess && behind != cudaSuccess)
        error = subjects[0].error = behind;
    for (unsigned i = 0; timed && i < queued && error == cudaSuccess; i++) {
        struct subject *s = &subjects[i % count];
        float milliseconds;

        error = s->error = cudaEventElapsedTime(&milliseconds, b->begun[i], b->ended[i]);
        if (error == cudaSuccess)
            s->times[s->timed++] = (double)milliseconds;
    }
    if (error != cudaSuccess)
        workbench_note_error(b);
    return error == cudaSuccess;
}

bool timing_measure(struct workbench *b, struct inputs *in, struct subject *subjects,
                    unsigned count)
{
    unsigned repeat = b->repeat, rounds = WORKBENCH_BATCH / count;
    double round = 0;

    for (unsigned i = 0; i < count; i++) {
        subjects[i].timed = 0;
        subjects[i].copy = 0;
        subjects[i].error = subject_reset(b, &subjects[i], subjects[i].slots);
        if (subjects[i].error != cudaSuccess)
            return false;
    }
    if (!run_batch(b, in, subjects, count, SUBJECT_WARM_UPS, false) ||
        !run_batch(b, in, subjects, count, SUBJECT_TRIALS, true))
        return false;
    for (unsigned i = 0; i < count; i++) {
        round += subjects[i].times[0];
        subjects[i].timed = 0; /* this one was to know how long it takes */
    }
    if (round * repeat > TIME_BUDGET)
        repeat =
            TIME_BUDGET / round > REPEAT_LEAST ? (unsigned)(TIME_BUDGET / round) : REPEAT_LEAST;
    repeat = repeat < b->repeat ? repeat : b->repeat;
    for (unsigned done = 0; done < repeat; done += rounds)
        if (!run_batch(b, in, subjects, count, repeat - done < rounds ? repeat - done : rounds,
                       true))
            return false;
    return true;
}
