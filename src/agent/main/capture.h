/*
 * Decides when recording is on: within the time interval and within the range of `--capture-range`.
 *
 * A function that turns recording on does so before it returns, so that everything after it is recorded. A function
 * that turns recording off only stores the time. The service thread disables CUPTI's kinds a little later, when no GPU
 * work is under way any more, and the reader leaves out what was launched after the stored time. API calls stay enabled
 * (activity_kinds.c); CUPTI's records of calls outside of recording are discarded.
 */
#ifndef GPUTRACE_AGENT_MAIN_CAPTURE_H
#define GPUTRACE_AGENT_MAIN_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

struct settings;

/* Subscribes to what opens a range. Must be called before the recorder subscribes, so that the range itself is
 * recorded. */
int capture_init(const struct settings *settings);
/* Subscribes to what closes a range. Must be called after the recorder subscribed. */
int capture_init_last(void);

/* Whether NVTX ranges switch recording on and off. */
bool capture_hears_nvtx(void);

/* Turns recording on or off for the program (gputrace.h). */
void capture_ask(bool on);

/* Whether `gputrace start` or `gputrace stop` has asked for something that was not followed yet. */
bool capture_is_asked(void);

/* Does what `gputrace start` and `gputrace stop` ask (spool.h). Returns the time (ns) until the next call is due,
 * UINT64_MAX for never. For the service thread. */
uint64_t capture_follow_requests(void);

/* Waits until recording is asked for, for at most NS. Returns false at once if recording is on or may be turned on by
 * something else, or *UNLESS is set. For the service thread, which has nothing to do meanwhile. */
bool capture_sleep(uint64_t ns, const bool *unless);

/* Ends capture_sleep(). */
void capture_wake(void);

/* Turns recording on or off as the time interval and the clock say. Returns the time (ns) until the next call is due,
 * UINT64_MAX for never. The service thread calls this, and so does a forked child with a spool of its own, whose spool
 * thereby records whether recording is on. */
uint64_t capture_follow_clock(void);

/* Turns recording off for good, because nobody will read the spool. */
void capture_end(void);

/* In a forked child: forgets the parent's CUPTI. */
void capture_atfork_child(void);

/* Enables or disables CUPTI's kinds as recording is now. Called when CUPTI has been loaded. */
void capture_cupti_ready(void);

/* Records call stacks of Python functions from now on. Called when the process is found to run Python. */
void capture_python_found(void);

/* Disables CUPTI's kinds if recording is off and UNTIMED, the number of records without times, is 0. For the service
 * thread. */
void capture_settle(unsigned untimed);

/*
 * The service thread (service.c) collects the times of GPU work at each flush interval, and checks the time interval of
 * recording. It reads the names behind pointers in CUPTI's records more often, and at once when code was prepared.
 */

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
