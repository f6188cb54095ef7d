/*
 * The service thread: every flush interval it collects the GPU's times and follows the clock; the names behind pointers
 * it reads more often, and at once when code was prepared.
 */
#ifndef GPUTRACE_AGENT_MAIN_SERVICE_H
#define GPUTRACE_AGENT_MAIN_SERVICE_H

#include <stdint.h>

/* Starts the thread. Returns 0, or -1 with errno set. */
int service_start(uint64_t flush_interval_ns);

/* CUDA has begun: what the driver has open is looked for when the program has closed what is not its own. */
void service_driver_started(void);

/* CUDA is about to end with the process: waits for the round that is going on, and switches nothing of CUPTI's from
 * then on, which would crash while CUDA is taken down. */
void service_driver_ends(void);

/* At the end of the process: waits a moment for the times of GPU work that is done or almost done, and stops the
 * thread. */
void service_finish(void);

#endif
