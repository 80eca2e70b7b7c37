/*
 * As much of the CUDA runtime as the engine uses, without a GPU, for tests of it: it is linked in
 * place of the runtime, of cuda/zstd/kernels.cu and of cuda/reduce.cu.
 *
 * Streams are queues. Operations in them run only when someone asks about events or waits, and in
 * an order drawn anew each time, as far as streams and events allow it. So memory that is given
 * away too early, and a wait that is missing, show as wrong bytes. Some of it runs, or all; always
 * all where GPUREDUCE_EMULATED_FAST is in the environment. Any thread may call it; one at a time
 * gets through.
 *
 * There are four GPUs, of which CUDA_VISIBLE_DEVICES chooses. Each thread has a current one.
 * Streams, events and memory belong to the one that was current when they were made, and what mixes
 * those of two fails as it would, or ends the program. If GPUREDUCE_EMULATED_TOGETHER is in the
 * environment, a context is made only while those of all visible GPUs are being made.
 */
#include "config.h"

#include <cuda_runtime_api.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/moments.h"
#include "core/order.h"
#include "cuda/array_launch.h"
#include "cuda/kernels.h"
#include "cuda/zstd/kernels.h"
#include "lib/cuda_runtime_emulated.h"
#include "lib/zstd_emulated.h"
#include "lib/zstd_samples.h"
#include "sys/clock.h"

#define STREAMS_MAX 256
#define ARGUMENTS_MAX 4096

/* The free memory that the device reports, in bytes. */
#ifndef EMULATED_FREE
#    define EMULATED_FREE ((size_t)64 << 20)
#endif

/* GPUs that there are, and what of their numbers CUDA_VISIBLE_DEVICES can hold. */
#define GPUS 4

/* How long a context waits for the others, seconds. */
#define TOGETHER_SECONDS 10

/* Shared memory that a block may ask for, bytes: not enough for 2^16 counters of 32 bits. */
#define EMULATED_SHARED (160 << 10)

/* A recursive mutex: functions here call each other. */
static pthread_mutex_t runtime;
static pthread_once_t runtime_once = PTHREAD_ONCE_INIT;

static void make_runtime(void)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&runtime, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static int enter(void)
{
    pthread_once(&runtime_once, make_runtime);
    return pthread_mutex_lock(&runtime);
}

static void leave(const int *entered)
{
    (void)entered;
    pthread_mutex_unlock(&runtime);
}

/* In a function: until it returns, no other thread is in here. */
#define ONE_AT_A_TIME __attribute__((cleanup(leave), unused)) const int entered = enter()

static uint64_t random_state = 1;

static _Thread_local int current; /* device */

struct CUevent_st {
    int device;
    uint64_t recorded; /* times */
    uint64_t passed;   /* the last of them that has */
    unsigned uses;     /* operations in queues that need it */
    uint64_t time;     /* when; nanoseconds */
};

/* An operation in a queue: a function of a copy of its arguments. */
struct operation {
    struct operation *next;
    void (*run)(const void *arguments);
    _Alignas(16) unsigned char arguments[ARGUMENTS_MAX];
    cudaEvent_t event; /* to record, or to wait for */
    uint64_t number;   /* which record of it */
    bool waits;
};

struct CUstream_st {
    int device;
    struct operation *first, **end;
};

static struct CUstream_st *streams[STREAMS_MAX];

/* The stream of a handle: the legacy one of each device is made when it is first used. */
static cudaStream_t stream_of(cudaStream_t handle)
{
    static cudaStream_t legacy[GPUS];

    if (handle && handle != cudaStreamLegacy)
        return handle;
    if (!legacy[current] && cudaStreamCreateWithFlags(&legacy[current], 0) != cudaSuccess)
        abort();
    return legacy[current];
}

/* Device memory. */
struct allocation {
    struct allocation *next;
    const unsigned char *begin;
    size_t size;
    int device;
};

static struct allocation *allocations;

/* Ends the program where memory is another device's than the stream's: kernels and copies there
   have no business with it. Memory of the host is anybody's. */
static void check_memory(cudaStream_t stream, const void *memory)
{
    for (const struct allocation *a = allocations; a; a = a->next)
        if ((uintptr_t)memory - (uintptr_t)a->begin < a->size &&
            a->device != stream_of(stream)->device) {
            fprintf(stderr, "emulated CUDA: memory of GPU %d is used on GPU %d\n", a->device,
                    stream_of(stream)->device);
            abort();
        }
}

/* Launches are on streams of the current device only. */
static bool is_current(cudaStream_t stream)
{
    return stream_of(stream)->device == current;
}

static struct operation *queue(cudaStream_t stream)
{
    struct operation *o = calloc(1, sizeof *o);

    if (!o)
        abort();
    stream = stream_of(stream);
    *stream->end = o;
    stream->end = &o->next;
    return o;
}

static void queue_call(cudaStream_t stream, void (*run)(const void *), const void *arguments,
                       size_t size)
{
    struct operation *o = queue(stream);

    if (size > sizeof o->arguments)
        abort();
    o->run = run;
    memcpy(o->arguments, arguments, size);
}

/* Queues a kernel that uses these parts of memory, each perhaps NULL. */
static cudaError_t queue_kernel(cudaStream_t stream, void (*run)(const void *),
                                const void *arguments, size_t size, const void *one,
                                const void *other, const void *third)
{
    ONE_AT_A_TIME;

    check_memory(stream, one);
    check_memory(stream, other);
    check_memory(stream, third);
    if (!is_current(stream))
        return cudaErrorInvalidResourceHandle;
    queue_call(stream, run, arguments, size);
    return cudaSuccess;
}

void emulated_queue(cudaStream_t stream, void (*run)(const void *), const void *arguments,
                    size_t size)
{
    ONE_AT_A_TIME;

    if (!is_current(stream))
        abort();
    queue_call(stream, run, arguments, size);
}

/* Runs the first operation of a stream, if there is one that need not wait. */
static bool run_first(cudaStream_t stream)
{
    struct operation *o = stream ? stream->first : NULL;

    if (!o || (o->waits && o->event->passed < o->number))
        return false;
    stream->first = o->next;
    if (!stream->first)
        stream->end = &stream->first;
    if (o->run)
        o->run(o->arguments);
    else if (!o->waits && o->number > o->event->passed) {
        o->event->passed = o->number;
        o->event->time = clock_now();
    }
    if (o->event)
        o->event->uses--;
    free(o);
    return true;
}

/* Runs one operation of any stream. False when there is none. */
static bool run_any(void)
{
    const unsigned begin = (unsigned)(sample_random(&random_state) % STREAMS_MAX);

    for (unsigned i = 0; i < STREAMS_MAX; i++)
        if (run_first(streams[(begin + i) % STREAMS_MAX]))
            return true;
    return false;
}

/* Time goes by: as much as up to three operations take, or all. */
static void run_some(void)
{
    const uint64_t drawn = sample_random(&random_state);
    unsigned count = (unsigned)(drawn % 4);

    if (drawn / 4 % 16 == 0 || getenv("GPUREDUCE_EMULATED_FAST"))
        count = UINT_MAX;

    while (count-- > 0 && run_any())
        ;
}

/* How many devices can be seen: as many as the list begins with that there are. */
static int visible_devices(void)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int count = 0;

    if (!list)
        return GPUS;
    while (*list >= '0' && *list < '0' + GPUS && (list[1] == ',' || list[1] == '\0')) {
        count++;
        if (!list[1])
            break;
        list += 2;
    }
    return count;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = visible_devices();
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= visible_devices())
        return cudaErrorInvalidDevice;
    current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current;
    return cudaSuccess;
}

/* Makes the current device's context, if it has none: as soon as those of all are being made, where
   that is asked for. */
static cudaError_t make_context(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    static bool made[GPUS];
    static int begun;
    struct timespec until;
    int error = 0;

    pthread_mutex_lock(&mutex);
    if (!made[current]) {
        made[current] = true;
        begun++;
        pthread_cond_broadcast(&changed);
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += TOGETHER_SECONDS;
    while (getenv("GPUREDUCE_EMULATED_TOGETHER") && begun < visible_devices() && error == 0)
        error = pthread_cond_timedwait(&changed, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    return error == 0 ? cudaSuccess : cudaErrorUnknown;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    (void)device;
    *value = attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? EMULATED_SHARED : 1;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    (void)device;
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "emulated GPU");
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    *free = *total = EMULATED_FREE;
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *memory, size_t size, unsigned flags)
{
    static unsigned windows;
    ONE_AT_A_TIME;

    (void)memory;
    (void)size;
    /* Some files cannot be pinned. */
    if (flags & cudaHostRegisterReadOnly)
        return windows++ % 3 == 2 ? cudaErrorNotSupported : cudaSuccess;
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory)
{
    (void)memory;
    return cudaSuccess;
}

bool emulated_full;

/* The last failure of an allocation, which the next launch finds. */
static _Thread_local cudaError_t last_error;

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "success" : "an error";
}

/* Memory has the size that was asked for: sanitizers see what is behind it. */
cudaError_t cudaMalloc(void **memory, size_t size)
{
    ONE_AT_A_TIME;
    struct allocation *a = malloc(sizeof *a);

    if (emulated_full)
        last_error = cudaErrorMemoryAllocation;
    if (emulated_full || !a || posix_memalign(memory, 4096, size) != 0) {
        free(a);
        return cudaErrorMemoryAllocation;
    }
    *a = (struct allocation){allocations, *memory, size, current};
    allocations = a;
    return cudaSuccess;
}

static void free_memory(void *memory)
{
    ONE_AT_A_TIME;

    for (struct allocation **a = &allocations; *a; a = &(*a)->next)
        if ((*a)->begin == memory) {
            struct allocation *freed = *a;

            *a = freed->next;
            free(freed);
            break;
        }
    free(memory);
}

cudaError_t cudaFree(void *memory)
{
    if (!memory)
        return make_context();
    free_memory(memory);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t size, unsigned flags)
{
    (void)flags;
    return posix_memalign(memory, 4096, size) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void *memory)
{
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void **device, void *memory, unsigned flags)
{
    (void)flags;
    *device = memory;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory)
{
    ONE_AT_A_TIME;
    const unsigned char *at = memory;

    memset(attributes, 0, sizeof *attributes);
    attributes->type = cudaMemoryTypeUnregistered;
    for (const struct allocation *a = allocations; a; a = a->next)
        if (at >= a->begin && at < a->begin + a->size) {
            attributes->type = cudaMemoryTypeDevice;
            attributes->device = a->device;
        }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = *greatest = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    ONE_AT_A_TIME;
    (void)flags;
    for (unsigned i = 0; i < STREAMS_MAX; i++)
        if (!streams[i]) {
            *stream = streams[i] = calloc(1, sizeof **stream);
            if (!*stream)
                return cudaErrorMemoryAllocation;
            (*stream)->end = &(*stream)->first;
            (*stream)->device = current;
            return cudaSuccess;
        }
    return cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    (void)priority;
    return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    ONE_AT_A_TIME;
    while (stream_of(stream)->first)
        if (!run_any())
            return cudaErrorUnknown; /* it waits for what never comes */
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    ONE_AT_A_TIME;
    run_some();
    return stream_of(stream)->first ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    ONE_AT_A_TIME;
    (void)cudaStreamSynchronize(stream);
    for (unsigned i = 0; i < STREAMS_MAX; i++)
        if (streams[i] == stream)
            streams[i] = NULL;
    free(stream);
    return cudaSuccess;
}

/* Nothing is captured here. */
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    static _Thread_local enum cudaStreamCaptureMode present;
    const enum cudaStreamCaptureMode before = present;

    present = *mode;
    *mode = before;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    (void)stream;
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **edges, size_t *count)
{
    (void)id;
    (void)graph;
    (void)dependencies;
    (void)edges;
    (void)count;
    return cudaStreamIsCapturing(stream, status);
}

cudaError_t cudaDeviceSynchronize(void)
{
    ONE_AT_A_TIME;
    while (run_any())
        ;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    if (!*event)
        return cudaErrorMemoryAllocation;
    (*event)->device = current;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, 0);
}

/* Operations that need it go on. */
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    ONE_AT_A_TIME;

    while (event->uses > 0)
        if (!run_any())
            return cudaErrorUnknown;
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    ONE_AT_A_TIME;
    struct operation *o;

    if (event->device != stream_of(stream)->device)
        return cudaErrorInvalidResourceHandle;
    o = queue(stream);
    o->event = event;
    o->number = ++event->recorded;
    event->uses++;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    ONE_AT_A_TIME;
    struct operation *o = queue(stream);

    (void)flags;
    o->event = event;
    o->number = event->recorded;
    o->waits = true;
    event->uses++;
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    ONE_AT_A_TIME;
    run_some();
    return event->passed < event->recorded ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    ONE_AT_A_TIME;
    while (event->passed < event->recorded)
        if (!run_any())
            return cudaErrorUnknown;
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    ONE_AT_A_TIME;

    if (from->device != to->device)
        return cudaErrorInvalidResourceHandle;
    *milliseconds = (float)((double)(int64_t)(to->time - from->time) * 1e-6);
    return cudaSuccess;
}

struct copying {
    void *to;
    const void *from;
    size_t size;
    int byte;
};

static void run_copying(const void *arguments)
{
    const struct copying *c = arguments;

    memcpy(c->to, c->from, c->size);
}

/* Memory of so many bytes is cleared by giving its pages back, bytes. */
#define CLEARED_PAGES ((size_t)1 << 20)

/* Most of the memory that a decoder clears as it opens is never touched: whole pages are given back
   to the system, which makes new ones of zeros where they are. valgrind does not know that, so
   under a command (tests/lib/under.sh) all is written. */
static void clear(unsigned char *to, size_t size)
{
    const char *under = getenv("CHECK_UNDER");
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t before = (page - (uintptr_t)to % page) % page;
    const size_t pages = size > before ? (size - before) / page * page : 0;

    if (pages < CLEARED_PAGES || (under && *under) ||
        madvise(to + before, pages, MADV_DONTNEED) != 0) {
        memset(to, 0, size);
        return;
    }
    memset(to, 0, before);
    memset(to + before + pages, 0, size - before - pages);
}

static void run_setting(const void *arguments)
{
    const struct copying *c = arguments;

    if (c->byte == 0)
        clear(c->to, c->size);
    else
        memset(c->to, c->byte, c->size);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    ONE_AT_A_TIME;
    const struct copying c = {to, from, size, 0};

    (void)kind;
    check_memory(stream, to);
    check_memory(stream, from);
    queue_call(stream, run_copying, &c, sizeof c);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    (void)kind;
    memcpy(to, from, size);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t size, cudaStream_t stream)
{
    const struct copying c = {to, NULL, size, byte};

    return queue_kernel(stream, run_setting, &c, sizeof c, to, NULL, NULL);
}

/*
 * The kernels.
 */

static void run_literals(const void *arguments)
{
    emulated_literals(arguments);
}

cudaError_t zstd_launch_literals(const struct zstd_literals_launch *launch, cudaStream_t stream)
{
    return queue_kernel(stream, run_literals, launch, sizeof *launch, launch->jobs, launch->codes,
                        NULL);
}

static void run_sequences(const void *arguments)
{
    emulated_sequences(arguments);
}

cudaError_t zstd_launch_sequences(const struct zstd_sequences_launch *launch, cudaStream_t stream)
{
    return queue_kernel(stream, run_sequences, launch, sizeof *launch, launch->jobs, launch->tables,
                        launch->results);
}

static void run_execute(const void *arguments)
{
    emulated_execute(arguments);
}

cudaError_t zstd_launch_execute(const struct zstd_execute_launch *launch, cudaStream_t stream)
{
    return queue_kernel(stream, run_execute, launch, sizeof *launch, launch->blocks, launch->units,
                        launch->symbols);
}

struct resolving {
    struct zstd_ring_slice slice;
    const uint32_t *symbols;
    uint32_t wave;
};

static void run_resolve(const void *arguments)
{
    const struct resolving *l = arguments;

    emulated_resolve(&l->slice, l->symbols, l->wave);
}

cudaError_t zstd_launch_resolve(const struct zstd_ring_slice *slice, const uint32_t *symbols,
                                uint32_t wave, cudaStream_t stream)
{
    const struct resolving l = {*slice, symbols, wave};

    return queue_kernel(stream, run_resolve, &l, sizeof l, symbols, NULL, NULL);
}

static void run_copy(const void *arguments)
{
    emulated_copy(arguments);
}

cudaError_t zstd_launch_copy(const struct zstd_copy_launch *launch, cudaStream_t stream)
{
    return queue_kernel(stream, run_copy, launch, sizeof *launch, launch->blocks, NULL, NULL);
}

static void run_hash(const void *arguments)
{
    emulated_hash(arguments);
}

cudaError_t zstd_launch_hash(const struct zstd_hash_launch *launch, cudaStream_t stream)
{
    return queue_kernel(stream, run_hash, launch, sizeof *launch, launch->jobs, launch->wrong,
                        NULL);
}

static void run_move(const void *arguments)
{
    const struct copying *c = arguments;

    emulated_move(c->to, c->from, c->size);
}

cudaError_t zstd_launch_move(void *to, const void *from, size_t size, cudaStream_t stream)
{
    const struct copying c = {to, from, size, 0};

    return queue_kernel(stream, run_move, &c, sizeof c, to, from, NULL);
}

/*
 * The reduction.
 */

cudaError_t cuda_reduce_check(void)
{
    return cudaSuccess;
}

/* Whether an element is missing. Floats of one byte are looked for as f16. */
static bool is_missing(const struct cuda_launch *l, const void *element)
{
    uint64_t bits = order_load(l->type, element);

    if (!element_is_integer(l->type) && element_size(l->type) == 1) {
        const double x = element_load(l->type, element);
        const uint64_t nan = order_greatest(ELEMENT_F16) + 1;

        bits = order_bits(ELEMENT_F16, isnan(x) ? nan : order_first(ELEMENT_F16, x, false));
    }
    for (unsigned i = 0; i < l->missing->count; i++)
        if ((bits & l->missing->ranges[i].mask) - l->missing->ranges[i].first <=
            l->missing->ranges[i].distance)
            return true;
    return false;
}

/* An element at a time. */
static void run_reduce(const void *arguments)
{
    const struct cuda_launch *l = arguments;
    const size_t size = element_size(l->type);
    const size_t aligned = l->count < CUDA_UNALIGNED_MAX || l->rows.stride ? size : CUDA_ROWS_UNIT;

    if ((uintptr_t)l->rows.data % aligned != 0 ||
        (l->rows.row.inverse && l->count % CUDA_TILES != 0))
        abort();
    for (size_t i = 0; i < l->count; i++) {
        const unsigned char *at = cuda_rows_at(&l->rows, (unsigned)size, i);
        unsigned char element[8];

        if (l->swap)
            element_swap(element, at, 1, size);
        else
            memcpy(element, at, size);
        if ((l->wants & PARTIAL_MISSING) && is_missing(l, element)) {
            l->partial->count++;
            l->partial->missing++;
            continue;
        }
        partial_take_element(l->partial, l->type, element, l->index + i);
        if (l->wants & MOMENTS_WANTS)
            moments_take_element(l->partial, l->type, element);
    }
    exact_carry(&l->partial->sum);
}

cudaError_t cuda_reduce(const struct cuda_launch *launch, cudaStream_t stream)
{
    return queue_kernel(stream, run_reduce, launch, sizeof *launch, launch->rows.data,
                        launch->partial, launch->scratch);
}

static void run_digest(const void *arguments)
{
    const struct cuda_launch *l = arguments;
    const size_t size = element_size(l->type);
    const unsigned char *at = l->rows.data;
    struct digest_sum *sum = malloc(sizeof *sum);
    struct digest found;

    if (!sum || l->scratch->digest.ticket != 0)
        abort();
    digest_sum_open(sum, digest_add_pairs, l->type);
    for (size_t i = 0; i < l->count; i++) {
        unsigned char element[8];

        if (l->swap)
            element_swap(element, at + i * size, 1, size);
        else
            memcpy(element, at + i * size, size);
        digest_sum_take(sum, element, 1, l->index + i);
        if (l->wants == PARTIAL_DIGEST) {
            struct partial one;

            partial_clear(&one);
            partial_take_element(&one, l->type, element, l->index + i);
            l->partial->count++;
            l->partial->nan += one.nan;
            l->partial->positive_infinity += one.positive_infinity;
            l->partial->negative_infinity += one.negative_infinity;
            if (one.first_nan < l->partial->first_nan)
                l->partial->first_nan = one.first_nan;
        }
    }
    found = digest_sum_find(sum);
    l->partial->digest = digest_plus(l->partial->digest, found);
    free(sum);
}

cudaError_t cuda_digest(const struct cuda_launch *launch, cudaStream_t stream)
{
    return queue_kernel(stream, run_digest, launch, sizeof *launch, launch->rows.data,
                        launch->partial, launch->scratch);
}

static void run_publish(const void *arguments)
{
    const struct cuda_publish *job = arguments;

    memcpy(&job->to->partial, job->from, job->words * sizeof(uint64_t));
    if (job->clear)
        *job->clear = *job->cleared;
    __atomic_store_n(&job->to->number, job->number, __ATOMIC_RELEASE);
}

cudaError_t cuda_publish(const struct cuda_publish *publish, cudaStream_t stream)
{
    return queue_kernel(stream, run_publish, publish, sizeof *publish, publish->from,
                        publish->cleared, publish->clear);
}

static void run_gather(const void *arguments)
{
    const struct cuda_gather *job = arguments;

    for (uint64_t i = 0; i < job->count; i++)
        memcpy(job->to + i * job->size, cuda_gather_from(job, i), job->size);
}

cudaError_t cuda_gather(const struct cuda_gather *gather, int multiprocessors, cudaStream_t stream)
{
    (void)multiprocessors;
    if (last_error != cudaSuccess) /* as cudaGetLastError tells after a launch */
        return cudaGetLastError();
    return queue_kernel(stream, run_gather, gather, sizeof *gather, gather->from.data, gather->to,
                        NULL);
}

static void run_keep(const void *arguments)
{
    const struct cuda_keep *job = arguments;

    for (uint64_t i = job->gather.count; i-- > 0;) /* in any order */
        if (cuda_keep_has(job, i))
            memcpy(job->gather.to + (*job->kept)++ * job->gather.size,
                   cuda_gather_from(&job->gather, i), job->gather.size);
}

cudaError_t cuda_keep(const struct cuda_keep *keep, int multiprocessors, cudaStream_t stream)
{
    ONE_AT_A_TIME;

    (void)multiprocessors;
    check_memory(stream, keep->kept);
    return queue_kernel(stream, run_keep, keep, sizeof *keep, keep->gather.from.data,
                        keep->gather.to, keep->mask);
}

static void run_mask(const void *arguments)
{
    const struct cuda_mask *job = arguments;
    const struct cuda_gather *elements = &job->of.gather;

    for (uint64_t i = 0; i < elements->count; i++) {
        uint64_t bits = 0;

        memcpy(&bits, cuda_gather_from(elements, i), elements->size);
        bits = cuda_mask_bits(job, cuda_keep_has(&job->of, i), bits);
        memcpy(elements->to + i * elements->size, &bits, elements->size);
    }
}

cudaError_t cuda_mask(const struct cuda_mask *mask, int multiprocessors, cudaStream_t stream)
{
    (void)multiprocessors;
    return queue_kernel(stream, run_mask, mask, sizeof *mask, mask->of.gather.from.data,
                        mask->of.mask, mask->of.gather.to);
}

static void run_find(const void *arguments)
{
    const struct cuda_find *job = arguments;

    for (uint64_t i = job->of.gather.count; i-- > 0;) { /* in any order */
        uint64_t bits = 0;

        if (!cuda_keep_has(&job->of, i))
            continue;
        memcpy(&bits, cuda_gather_from(&job->of.gather, i), job->of.gather.size);
        for (unsigned t = 0, in = cuda_find_ranges(job, bits); in; t++, in >>= 1)
            if ((in & 1) && i < job->found[t])
                job->found[t] = i;
    }
}

cudaError_t cuda_find(const struct cuda_find *find, int multiprocessors, cudaStream_t stream)
{
    (void)multiprocessors;
    return queue_kernel(stream, run_find, find, sizeof *find, find->of.gather.from.data,
                        find->of.mask, find->found);
}

static void run_find_pieces(const void *arguments)
{
    const struct cuda_find_pieces *job = arguments;

    for (uint64_t at = 0; at < job->bytes; at += CUDA_PIECE_BYTES) {
        const size_t size =
            job->bytes - at < CUDA_PIECE_BYTES ? (size_t)(job->bytes - at) : CUDA_PIECE_BYTES;
        const uint64_t to = job->pieces.found[0];

        if (memcmp(job->sides[0] + at, job->sides[1] + at, size) == 0)
            continue;
        if (to < job->pieces.room) {
            job->pieces.found[1 + to] = job->first + at / CUDA_PIECE_BYTES;
            for (int side = 0; side < 2; side++) {
                unsigned char *copy = job->copies[side] + to * CUDA_PIECE_BYTES;

                memset(copy, 0, CUDA_PIECE_BYTES);
                memcpy(copy, job->sides[side] + at, size);
            }
        }
        job->pieces.found[0]++;
    }
}

cudaError_t cuda_find_pieces(const struct cuda_find_pieces *find, int multiprocessors,
                             cudaStream_t stream)
{
    ONE_AT_A_TIME;

    (void)multiprocessors;
    check_memory(stream, find->sides[1]);
    return queue_kernel(stream, run_find_pieces, find, sizeof *find, find->sides[0],
                        find->copies[0], find->pieces.found);
}

static void run_merge(const void *arguments)
{
    const struct cuda_merge *job = arguments;

    for (uint64_t i = 0; i < job->slices * job->groups; i++) {
        const uint64_t slice = i / job->groups, end = cuda_merge_first(job, i % job->groups + 1);
        struct cuda_slice_state state;

        cuda_slice_clear(&state);
        for (uint64_t part = cuda_merge_first(job, i % job->groups); part < end; part++)
            cuda_parts_take(&job->from, cuda_merge_at(job, slice, part), &state);
        if (!cuda_merge_put(job, i, &state))
            cuda_list_append(&job->unknown, job->first + i);
    }
}

cudaError_t cuda_merge(const struct cuda_merge *merge, int multiprocessors, cudaStream_t stream)
{
    (void)multiprocessors;
    return queue_kernel(stream, run_merge, merge, sizeof *merge, merge->from.high, merge->to,
                        merge->unknown.found);
}

static void run_find_unknown(const void *arguments)
{
    const struct cuda_find_unknown *job = arguments;

    for (uint64_t i = job->first; i < job->first + job->count; i++)
        if (job->results[i] == CUDA_SLICE_UNKNOWN)
            cuda_list_append(&job->unknown, i);
}

cudaError_t cuda_find_unknown(const struct cuda_find_unknown *find, int multiprocessors,
                              cudaStream_t stream)
{
    (void)multiprocessors;
    return queue_kernel(stream, run_find_unknown, find, sizeof *find, find->results,
                        find->unknown.found, NULL);
}
