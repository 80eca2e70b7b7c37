/*
 * The floating-point mode of a thread: how it rounds, whether it flushes subnormal numbers to zero, and
 * which exceptions trap. A thread begins with that of the one that makes it. The functions of <fenv.h>
 * would have the mathematics library loaded.
 */
#ifndef GPUREDUCE_FLOAT_MODE_H
#define GPUREDUCE_FLOAT_MODE_H

#include <stdbool.h>
#include <stdint.h>

#if defined __x86_64__ || (defined __i386__ && defined __SSE2__)

struct float_mode {
    uint32_t sse; /* MXCSR */
    uint16_t x87; /* its control word */
};

#    define FLOAT_MODE_USUAL ((struct float_mode){0x1f80, 0x37f})
#    define FLOAT_MODE_DOWN ((struct float_mode){0x3f80, 0x77f})
#    define FLOAT_MODE_UP ((struct float_mode){0x5f80, 0xb7f})

static inline struct float_mode float_mode_get(void)
{
    struct float_mode mode;

    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mode.sse), "=m"(mode.x87));
    return mode;
}
static inline void float_mode_set(struct float_mode mode)
{
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mode.sse), "m"(mode.x87) : "memory");
}
static inline bool float_mode_is_usual(struct float_mode mode)
{
    const struct float_mode usual = FLOAT_MODE_USUAL;
    const uint32_t raised = 0x3f; /* exceptions that have been */

    return (mode.sse & ~raised) == usual.sse && mode.x87 == usual.x87;
}

#elif defined __aarch64__

struct float_mode {
    uint64_t control; /* FPCR */
};

#    define FLOAT_MODE_USUAL ((struct float_mode){0})
#    define FLOAT_MODE_DOWN ((struct float_mode){2 << 22})
#    define FLOAT_MODE_UP ((struct float_mode){1 << 22})

static inline struct float_mode float_mode_get(void)
{
    struct float_mode mode;

    __asm__ volatile("mrs %0, fpcr" : "=r"(mode.control));
    return mode;
}
static inline void float_mode_set(struct float_mode mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode.control) : "memory");
}
static inline bool float_mode_is_usual(struct float_mode mode)
{
    return mode.control == 0;
}

#else

#    include <fenv.h>

struct float_mode {
    int rounding;
};

#    define FLOAT_MODE_USUAL ((struct float_mode){FE_TONEAREST})
#    define FLOAT_MODE_DOWN ((struct float_mode){FE_DOWNWARD})
#    define FLOAT_MODE_UP ((struct float_mode){FE_UPWARD})

static inline struct float_mode float_mode_get(void)
{
    return (struct float_mode){fegetround()};
}
static inline void float_mode_set(struct float_mode mode)
{
    (void)fesetround(mode.rounding);
}
static inline bool float_mode_is_usual(struct float_mode mode)
{
    return mode.rounding == FE_TONEAREST;
}

#endif

/* Has the calling thread compute in the mode that programs begin with. Returns that before, for
   float_mode_restore. */
static inline struct float_mode float_mode_begin(void)
{
    const struct float_mode given = float_mode_get();

    if (!float_mode_is_usual(given))
        float_mode_set(FLOAT_MODE_USUAL);
    return given;
}
static inline void float_mode_restore(const struct float_mode *given)
{
    if (!float_mode_is_usual(*given))
        float_mode_set(*given);
}

/* A declaration: the block computes in that mode, and at its end the thread is in the one before. It leaves
   arithmetic to functions of other files, since compilers move its own across changes of the mode. */
#define FLOAT_MODE_DEFAULT                                                                    \
    const struct float_mode float_mode __attribute__((cleanup(float_mode_restore), unused)) = \
        float_mode_begin()

#endif
