/*
 * A word from the program's threads to the service thread: code was prepared, so kernels whose names nobody has seen
 * may be launched next. Their names are pointers in CUPTI's records, and have to be read before the process can die.
 */
#ifndef GPUTRACE_AGENT_CUPTI_NAMES_DUE_H
#define GPUTRACE_AGENT_CUPTI_NAMES_DUE_H

#include <stdbool.h>
#include <stdint.h>

/* Names are due. From any thread, also within a callback of CUPTI's: takes no lock, and calls the system only when the
 * service thread waits. */
void names_due(void);

/* For the service thread alone: waits until names are due, NS at most. True: they are; said once for each time. */
bool names_due_wait(uint64_t ns);

/* In a forked child: nobody waits. */
void names_due_leave(void);

#endif
