/*
 * All that can come of steps whose order is open: for a test that plays several workers by one
 * thread. It plays from the beginning again and again, each time with other choices, and never goes
 * on twice from the same state.
 *
 *     explore_begin();
 *     do
 *         explore_play(play);
 *     while (!explore_trouble() && explore_next());
 *     explore_end();
 *
 * `play` puts everything back to the beginning, and then calls explore_visit in each state, and
 * explore_choose for what is done next. The same choices always come to the same states.
 */
#ifndef TESTS_EXPLORE_H
#define TESTS_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Forgets all that was found. Ends the test without memory, as the other functions do. */
void explore_begin(void);

/* Plays once. It returns also where explore_visit ended the play. */
void explore_play(void (*play)(void));

/* Has the next play make another choice. False when all have been made. */
bool explore_next(void);

/* Comes to the state that `key` tells from all others: all that what follows depends on. Does not
   return if the state has been seen before: then it ends the play, by longjmp. */
void explore_visit(uint64_t (*key)(void));

/* One of so many ways to go on, from 0: in time, all of them. */
unsigned explore_choose(unsigned options);

/* Notes the next step, for explore_way: up to 15 bytes. */
void explore_step(const char *what);

/* The state that was visited last is an end. */
void explore_final(void);

/* Something is not as it should be: notes it, and how it was come to. The first counts. */
void explore_fail(const char *what);

/* Looks for states that are no end, and from which nothing is done that changes them; and for ways
   that lead back to where they began: it is trouble, if what does not change anything is waiting.
 */
void explore_end(void);

/* The first trouble that was noted; NULL if there was none. explore_way: the last steps before
   it. */
const char *explore_trouble(void);
const char *explore_way(void);

/* How many states were found. */
size_t explore_states(void);

#endif
