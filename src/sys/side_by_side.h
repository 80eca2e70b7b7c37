/*
 * A few calls side by side, each on a thread of its own: for what takes long and mostly waits, such
 * as making a context on each of several GPUs.
 */
#ifndef GPUREDUCE_SIDE_BY_SIDE_H
#define GPUREDUCE_SIDE_BY_SIDE_H

/* The most calls at a time. */
#define SIDE_BY_SIDE_MAX 64

/* Calls call(context, i) for all i below `count`, which is at most SIDE_BY_SIDE_MAX, and returns
   when all calls have. The calling thread makes the first one, and those for which no thread can be
   had. A single call takes no thread. */
void side_by_side(void (*call)(void *context, unsigned i), void *context, unsigned count);

#endif
