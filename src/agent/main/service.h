/*
 * The service thread: collects the times of GPU work at each flush interval, and checks the time interval of recording.
 * It reads the names behind pointers in CUPTI's records more often, and at once when code was prepared.
 */
#ifndef GPUTRACE_AGENT_MAIN_SERVICE_H
#define GPUTRACE_AGENT_MAIN_SERVICE_H

#include <stdint.h>

/* Starts the thread. Returns 0, or -1 with errno set. */
int service_start(uint64_t flush_interval_ns);

/* Called when CUDA has started: remembers whether the driver has device descriptors, to notice later that the program
 * closed them. */
void service_driver_started(void);

/* Called when CUDA is about to end with the process: waits for the current round, and prevents further changes of
 * CUPTI's switches, which would crash while CUDA is taken down. */
void service_driver_ends(void);

/* At the end of the process: waits a moment for the times of GPU work that is done or almost done, and stops the
 * rounds. */
void service_finish(void);

#endif
