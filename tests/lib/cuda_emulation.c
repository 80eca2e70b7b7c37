#include "config.h"

#include "lib/cuda_emulation.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#if defined __SANITIZE_ADDRESS__
#    define FIBERS_FOR_ASAN
#elif defined __has_feature
#    if __has_feature(address_sanitizer)
#        define FIBERS_FOR_ASAN
#    endif
#endif
#ifdef FIBERS_FOR_ASAN
#    include <sanitizer/asan_interface.h>
#endif

#define THREADS_MAX 1024
#define STACK_SIZE ((size_t)64 << 10)
#define COPIES_MAX 1024
#define WARP 32

struct emulation_index threadIdx, blockIdx;
uint64_t emulation_seed = 1;

struct copy {
    uint32_t *to;
    const uint32_t *from;
    unsigned group;
};

/* A thread of the block. Its copies stand in a ring. */
struct fiber {
    ucontext_t context;
    void *stack;
    bool ended;
    int line;       /* of the barrier that it waits at */
    unsigned round; /* in which it came there */
    bool at_warp;   /* waits for its warp, with a value */
    uint64_t value;
    struct copy copies[COPIES_MAX];
    unsigned first_copy, next_copy, group;
};

static struct fiber *fibers, *running;
static int any_flag, collected_flag;
static unsigned current_round;
static uint64_t warp_values[WARP]; /* of the warp that is running */
static void (*kernel)(const void *);
static const void *kernel_argument;

static void fail(const char *what)
{
    fprintf(stderr, "emulated kernel: %s (block %u, thread %u)\n", what, blockIdx.x, threadIdx.x);
    abort();
}

/*
 * A switch of fibers. ucontext makes a system call for each, which is most of the time that kernels
 * with barriers take: on x86-64 a few instructions do.
 */
#if defined __x86_64__
struct stack_pointer {
    void *value;
};
static struct stack_pointer scheduler_stack, fiber_stacks[THREADS_MAX];

/* Keeps the stack pointer in *from, and takes that in *to. It jumps to where it returns: processors
   predict returns from the calls before, which are those of another fiber. */
void emulation_switch(struct stack_pointer *from, struct stack_pointer *to);
__asm__(".text\n"
        ".type emulation_switch, @function\n"
        "emulation_switch:\n"
        "    endbr64\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq (%rsi), %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    popq %rcx\n"
        "    notrack jmp *%rcx\n"
        ".size emulation_switch, . - emulation_switch\n");
#else
static ucontext_t scheduler;
#endif

#ifdef FIBERS_FOR_ASAN
static void *scheduler_fake_stack;
static const void *scheduler_bottom;
static size_t scheduler_size;
#endif

static void to_scheduler(void)
{
#ifdef FIBERS_FOR_ASAN
    void *fake = NULL;

    __sanitizer_start_switch_fiber(running->ended ? NULL : &fake, scheduler_bottom, scheduler_size);
#endif
#if defined __x86_64__
    emulation_switch(&fiber_stacks[running - fibers], &scheduler_stack);
#else
    swapcontext(&running->context, &scheduler);
#endif
#ifdef FIBERS_FOR_ASAN
    __sanitizer_finish_switch_fiber(fake, &scheduler_bottom, &scheduler_size);
#endif
}

static void to_fiber(struct fiber *f)
{
    running = f;
    threadIdx.x = (uint32_t)(f - fibers);
#ifdef FIBERS_FOR_ASAN
    __sanitizer_start_switch_fiber(&scheduler_fake_stack, f->stack, STACK_SIZE);
#endif
#if defined __x86_64__
    emulation_switch(&scheduler_stack, &fiber_stacks[f - fibers]);
#else
    swapcontext(&scheduler, &f->context);
#endif
#ifdef FIBERS_FOR_ASAN
    __sanitizer_finish_switch_fiber(scheduler_fake_stack, NULL, NULL);
#endif
}

/* The function of a fiber. It does not return. */
static void fiber_main(void)
{
#ifdef FIBERS_FOR_ASAN
    __sanitizer_finish_switch_fiber(NULL, &scheduler_bottom, &scheduler_size);
#endif
    kernel(kernel_argument);
    emulation_copy_wait(0);
    running->ended = true;
    to_scheduler();
    abort();
}

static void fiber_begin(struct fiber *f)
{
    f->ended = f->at_warp = false;
    f->line = 0;
    f->round = 0;
    f->first_copy = f->next_copy = f->group = 0;
    if (!f->stack)
        f->stack = malloc(STACK_SIZE);
    if (!f->stack)
        fail("out of memory");
#ifdef FIBERS_FOR_ASAN
    __asan_unpoison_memory_region(f->stack, STACK_SIZE); /* the frames that were left there */
#endif
#if defined __x86_64__
    {
        /* As emulation_switch leaves a stack: six registers, and where to return to. */
        uint64_t *top = (uint64_t *)((unsigned char *)f->stack + STACK_SIZE) - 8;

        memset(top, 0, 8 * sizeof *top);
        top[6] = (uint64_t)(uintptr_t)fiber_main;
        fiber_stacks[f - fibers].value = top;
    }
#else
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK_SIZE;
    f->context.uc_link = NULL;
    makecontext(&f->context, fiber_main, 0);
#endif
}

static uint32_t draw(void)
{
    emulation_seed = emulation_seed * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(emulation_seed >> 33);
}

/* Runs a thread up to where it waits, or to its end. */
static void run_thread(struct fiber *f)
{
    if (f->ended)
        fail("a thread is at an end where others are at a barrier");
    to_fiber(f);
    f->round = current_round;
}

/* The threads of a warp, one of which waits for the others: hands values round until none does. */
static void run_warp(struct fiber *first, uint32_t threads)
{
    const uint32_t count = threads < WARP ? threads : WARP;
    uint32_t waiting = 0;

    do {
        const uint32_t turn = draw() % WARP;

        for (uint32_t i = 0; i < count; i++) {
            struct fiber *f = &first[(i ^ turn) % count];

            if (!f->at_warp && (f->ended || f->round == current_round))
                fail("a thread of a warp is not where the others are");
            if (!f->at_warp)
                run_thread(f);
            if (!f->at_warp)
                fail("a thread of a warp is not where the others are");
        }
        for (uint32_t i = 0; i < count; i++) {
            if (first[i].line != first->line)
                fail("threads of a warp are at different places");
            warp_values[i] = first[i].value;
            first[i].at_warp = false;
        }
        waiting = 0;
        for (uint32_t i = 0; i < count; i++) {
            struct fiber *f = &first[(i ^ turn) % count];

            run_thread(f);
            waiting += f->at_warp;
        }
    } while (waiting > 0);
}

/* Runs a block: all its threads from barrier to barrier. */
static void run_block(uint32_t threads)
{
    uint32_t ended = 0;

    for (uint32_t i = 0; i < threads; i++)
        fiber_begin(&fibers[i]);
    current_round = 0;
    while (ended < threads) {
        /* Any step without a common divisor visits all of them. */
        uint32_t step = draw() % threads | 1, at = draw() % threads;

        while (threads % step == 0 && step > 1)
            step += 2;
        if (threads & (threads - 1)) /* not a power of two: only neighbours are sure to visit all */
            step = 1;
        any_flag = 0;
        current_round++;
        for (uint32_t i = 0; i < threads; i++) {
            struct fiber *f = &fibers[at];

            if (f->round != current_round)
                run_thread(f);
            if (f->at_warp)
                run_warp(&fibers[at - at % WARP], threads);
            at = (at + step) % threads;
        }
        for (uint32_t i = 0; i < threads; i++) {
            ended += fibers[i].ended;
            if (!fibers[i].ended && fibers[i].line != fibers[0].line)
                fail("threads are at different barriers");
        }
        collected_flag = any_flag;
        if (ended > 0 && ended < threads)
            fail("a thread is at an end where others are at a barrier");
    }
}

void emulation_run(uint32_t width, uint32_t height, uint32_t threads, void (*body)(const void *),
                   const void *argument)
{
    if (!fibers)
        fibers = calloc(THREADS_MAX, sizeof *fibers);
    if (!fibers || threads > THREADS_MAX)
        fail("too many threads");
    kernel = body;
    kernel_argument = argument;
    for (blockIdx.y = 0; blockIdx.y < height; blockIdx.y++)
        for (blockIdx.x = 0; blockIdx.x < width; blockIdx.x++)
            run_block(threads);
}

int emulation_barrier(int flag, int line)
{
    any_flag |= flag != 0;
    running->line = line;
    to_scheduler();
    return collected_flag;
}

uint64_t emulation_warp(uint64_t value, int line, uint64_t all[32])
{
    running->value = value;
    running->line = line;
    running->at_warp = true;
    to_scheduler();
    memcpy(all, warp_values, sizeof warp_values);
    return (uint64_t)(running - fibers) % WARP;
}

void copy_begin(uint32_t *to, const uint32_t *from)
{
    struct copy *c = &running->copies[running->next_copy++ % COPIES_MAX];

    if (running->next_copy - running->first_copy > COPIES_MAX)
        fail("too many copies under way");
    if (((uintptr_t)to | (uintptr_t)from) & 15)
        fail("a copy is not aligned");
    c->to = to;
    c->from = from;
    c->group = running->group;
}

void copy_group(void)
{
    running->group++;
}

void emulation_copy_wait(unsigned groups)
{
    while (running->first_copy != running->next_copy) {
        const struct copy *c = &running->copies[running->first_copy % COPIES_MAX];

        if (c->group + groups >= running->group)
            break;
        memcpy(c->to, c->from, 16);
        running->first_copy++;
    }
}
