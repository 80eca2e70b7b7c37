/*
 * A mutex that clang's thread-safety analysis understands: it says at compile time where a guarded
 * field is used, or a function called, without the mutex that this needs. pthread_mutex_t has no
 * annotations on Linux. Other compilers see plain POSIX threads. CI builds with -Wthread-safety
 * -Werror. See https://clang.llvm.org/docs/ThreadSafetyAnalysis.html.
 *
 *     static struct mutex lock = MUTEX_INITIALIZER;
 *     static unsigned count GUARDED_BY(lock);
 *     static void increase_locked(void) REQUIRES(lock);
 *     static void reset_locked(struct finder *f) REQUIRES(f->mutex);
 *
 * In C, the annotation of a member cannot name its neighbour, the mutex in the same structure
 * (clang before 21). A role stands for it: a capability that exists for the analysis only, one for
 * each structure that has a mutex. MUTEX_ROLE_OF ties them together: it defines finder_lock,
 * finder_unlock and finder_wait_for, which is mutex_wait.
 *
 *     MUTEX_ROLE(finder_role);
 *
 *     struct finder {
 *         struct mutex mutex;
 *         size_t found GUARDED_BY(finder_role);
 *     };
 *
 *     MUTEX_ROLE_OF(finder, struct finder, mutex);
 *
 *     REQUIRES(finder_role)
 *     static void find_next_locked(struct finder *f)
 *     {
 *
 * The analysis cannot tell the mutexes of two such structures apart. Structures that are being set
 * up or taken down belong to one thread: functions that do that are UNCHECKED.
 *
 * An attribute stands after a declaration, and before a definition, since gcc refuses it after the
 * head of one. UNCHECKED stands before either.
 */
#ifndef GPUREDUCE_MUTEX_H
#define GPUREDUCE_MUTEX_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#ifdef __clang__
#    define MUTEX_ATTRIBUTE(x) __attribute__((x))
#else
#    define MUTEX_ATTRIBUTE(x)
#endif

/* For a type: it is a capability, which can be held. */
#define CAPABILITY(name) MUTEX_ATTRIBUTE(capability(name))
/* For a variable or a member: it is used only by the holder of x. */
#define GUARDED_BY(x) MUTEX_ATTRIBUTE(guarded_by(x))
/* For a function: the caller holds these, or holds them afterwards or no longer. */
#define REQUIRES(...) MUTEX_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) MUTEX_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RELEASE(...) MUTEX_ATTRIBUTE(release_capability(__VA_ARGS__))
/* For a function, before it: the analysis does not look inside. */
#define UNCHECKED MUTEX_ATTRIBUTE(no_thread_safety_analysis)

struct CAPABILITY("role") mutex_role {
    char unused;
};

/* Declares a role. It has no definition: only annotations name it. */
#define MUTEX_ROLE(name) extern struct mutex_role name

struct CAPABILITY("mutex") mutex {
    pthread_mutex_t native;
};

#define MUTEX_INITIALIZER         \
    {                             \
        PTHREAD_MUTEX_INITIALIZER \
    }

static inline void mutex_lock(struct mutex *m) ACQUIRE(m);
static inline void mutex_unlock(struct mutex *m) RELEASE(m);

/* Waits for the condition; the mutex is free meanwhile. As ever, it may return for no reason. */
static inline void mutex_wait(struct mutex *m, pthread_cond_t *condition) REQUIRES(m);

/* Waits as mutex_wait does, until the condition's own clock says `until`. False if that came
   first. */
static inline bool mutex_wait_until(struct mutex *m, pthread_cond_t *condition,
                                    const struct timespec *until) REQUIRES(m);

static inline void mutex_init(struct mutex *m)
{
    pthread_mutex_init(&m->native, NULL);
}

/* Makes a condition whose clock is the monotonic one, for mutex_wait_until. */
static inline void mutex_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static inline void mutex_destroy(struct mutex *m)
{
    pthread_mutex_destroy(&m->native);
}

UNCHECKED static inline void mutex_lock(struct mutex *m)
{
    pthread_mutex_lock(&m->native);
}

UNCHECKED static inline void mutex_unlock(struct mutex *m)
{
    pthread_mutex_unlock(&m->native);
}

static inline void mutex_wait(struct mutex *m, pthread_cond_t *condition)
{
    pthread_cond_wait(condition, &m->native);
}

static inline bool mutex_wait_until(struct mutex *m, pthread_cond_t *condition,
                                    const struct timespec *until)
{
    return pthread_cond_timedwait(condition, &m->native, until) == 0;
}

/* Defines the functions of the role NAME_role of a structure, whose member is its mutex. */
#define MUTEX_ROLE_OF(name, type, member)                                       \
    ACQUIRE(name##_role)                                                        \
    UNCHECKED __attribute__((unused)) static inline void name##_lock(type *x)   \
    {                                                                           \
        mutex_lock(&x->member);                                                 \
    }                                                                           \
    RELEASE(name##_role)                                                        \
    UNCHECKED __attribute__((unused)) static inline void name##_unlock(type *x) \
    {                                                                           \
        mutex_unlock(&x->member);                                               \
    }                                                                           \
    REQUIRES(name##_role)                                                       \
    UNCHECKED __attribute__((unused)) static inline void name##_wait_for(       \
        type *x, pthread_cond_t *condition)                                     \
    {                                                                           \
        mutex_wait(&x->member, condition);                                      \
    }                                                                           \
    MUTEX_ROLE(name##_role)

#endif
