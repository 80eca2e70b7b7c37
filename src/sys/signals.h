/*
 * All signal handlers of the process, which its main function asks for, or, of SIGBUS alone, who uses
 * the library: nothing else installs one.
 *
 * But for signals_open, functions may be called from any thread, and more than once.
 */
#ifndef GPUREDUCE_SIGNALS_H
#define GPUREDUCE_SIGNALS_H

#include <setjmp.h>

/* Installs the handlers: of signals that end the process, so that it leaves nothing behind
   (signals_before_end), and of SIGBUS (signals_resume_bus), which calls the one that was there
   before where no thread goes on. Makes writing beyond the limit of the file size (ulimit -f) an
   error, EFBIG, that is reported as others are, in place of SIGXFSZ. Children can be waited for, even
   if SIGCHLD was ignored when the program started. Other signals that were ignored then, as by
   nohup, stay ignored. To be called once, before there are other
   threads. */
void signals_open(void);

/* Installs the handler of SIGBUS alone, the first time. */
void signals_open_bus(void);

/* Has `clean` called before SIGINT, SIGTERM, SIGHUP, SIGQUIT or SIGPIPE end the process. It runs in
   the signal handler, so it may call async-signal-safe functions only. There are at most two such
   functions; calls for one that is known change nothing. */
void signals_before_end(void (*clean)(void));

/* Has this thread go on at `resume`, as siglongjmp does, when a mapped page that it touches cannot
   be read (SIGBUS). NULL ends that. `resume` need not have been set with the signal mask saved: the
   handler sets the mask that there was. Without the handler, and in other threads, SIGBUS does
   what it did before. */
void signals_resume_bus(sigjmp_buf *resume);

#endif
