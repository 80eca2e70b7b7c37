/*
 * All signal handlers of the process.
 *
 * Signals that were ignored when the program started, as by nohup, stay ignored. Functions may be
 * called from any thread, and more than once.
 */
#ifndef GPUREDUCE_SIGNALS_H
#define GPUREDUCE_SIGNALS_H

#include <setjmp.h>

/* Has `clean` called before SIGINT, SIGTERM, SIGHUP or SIGQUIT end the process. It runs in the
   signal handler, so it may call async-signal-safe functions only. There are at most two such
   functions; calls for one that is known change nothing. */
void signals_before_end(void (*clean)(void));

/* Has this thread go on at `resume`, as siglongjmp does, when a mapped page that it touches cannot
   be read (SIGBUS). NULL ends that. A SIGBUS of any other thread ends the process, or calls
   the handler that there was before. `resume` need not have been set with the signal mask saved: the handler sets
   the mask that there was. */
void signals_resume_bus(sigjmp_buf *resume);

/* Makes writing beyond the limit of the file size (ulimit -f) an error, EFBIG, that is reported as
   others are. Without this, SIGXFSZ ends the process. */
void signals_ignore_file_size(void);

#endif
