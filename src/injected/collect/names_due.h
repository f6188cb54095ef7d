/*
 * A word from the program's threads to the service thread: code was prepared, so kernels whose names nobody has seen
 * may be launched next. Their names are pointers in CUPTI's records, and have to be read before the process can die.
 */
#ifndef GPUTRACE_INJECTED_COLLECT_NAMES_DUE_H
#define GPUTRACE_INJECTED_COLLECT_NAMES_DUE_H

#include <stdbool.h>
#include <stdint.h>

/* Names are due. From any thread, also within a callback of CUPTI's: takes no lock, and calls the system only when the
 * service thread waits. */
void names_due(void);

/* For the service thread alone: waits until names are due, NS at most. True: they are; said once for each time. */
bool names_due_wait(uint64_t ns);

/*
 * The program got FUNCTION, whose code is loaded: its first launch would pass unheard. Launches are heard of until it
 * is launched, for NAMES_DUE_NS at most. Does nothing when nobody wants phases of compilation, as callbacks are then
 * off.
 */
#define NAMES_DUE_NS UINT64_C(100000000)
void names_due_of(const void *function);

/* A launch of FUNCTION begins; it has returned: then names are to be read when this is true. */
void names_due_launch(const void *function);
bool names_due_launched(void);

/* In a forked child: nobody waits. */
void names_due_leave(void);

#endif
