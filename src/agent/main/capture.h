/*
 * When recording is on: within the time interval, and within whatever `--capture-range` names.
 *
 * Everything that turns recording on does so before the call returns, so that what follows it is recorded. What turns
 * it off marks the time. The service thread switches CUPTI's kinds off a little later, when no GPU work is on its way
 * any more, and the reader leaves out what was launched after the mark. API calls stay on (activity_kinds.c); what
 * CUPTI records of them outside of recording is thrown away.
 */
#ifndef GPUTRACE_AGENT_MAIN_CAPTURE_H
#define GPUTRACE_AGENT_MAIN_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

struct settings;

/* Subscribes, before the recorder does, to what opens a range, so that the range itself is recorded. */
int capture_init(const struct settings *settings);
/* Subscribes, after the recorder, to what closes a range. */
int capture_init_last(void);

/* Whether NVTX ranges switch recording on and off. */
bool capture_hears_nvtx(void);

/* The program asks to switch recording (gputrace.h). */
void capture_ask(bool on);
bool capture_is_on(void);

/* Follows the clock: turns recording on or off as the time interval says. Returns the time (ns) until it wants to be
 * called again, UINT64_MAX for never. Called by the service thread, and in a forked child with a spool of its own, into
 * which it writes whether recording is on. */
uint64_t capture_follow_clock(void);

/* The spool is no longer read: recording stays off from now on. */
void capture_end(void);

/* In a forked child: forgets the parent's CUPTI. */
void capture_atfork_child(void);

/* CUPTI has been loaded: its kinds are switched as recording is now. */
void capture_cupti_ready(void);

/* The process runs Python: call stacks of its functions are recorded from now on. */
void capture_python_found(void);

/* For the service thread: switches CUPTI's kinds off when recording is off and UNTIMED records are none. */
void capture_settle(unsigned untimed);

#endif
