/*
 * When recording is on: within the time interval, and within whatever `--capture-range` names.
 *
 * Everything that turns recording on does so before the call returns, so that what follows it is recorded. What turns
 * it off marks the moment. The service thread switches CUPTI's kinds off a little later, when no GPU work is on its way
 * any more, and the reader leaves out what was launched after the mark. API calls stay on (activity_kinds.c); what
 * CUPTI records of them outside of recording is thrown away.
 */
#ifndef GPUTRACE_AGENT_MAIN_CAPTURE_H
#define GPUTRACE_AGENT_MAIN_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

struct settings;

/* Before the recorder subscribes: what opens a range must come first … */
int capture_init(const struct settings *settings);
/* … and after it: what closes one, last. */
int capture_init_last(void);

/* Whether NVTX ranges switch recording on and off. */
bool capture_hears_nvtx(void);

/* Asked by the program (gputrace.h): on, off. */
void capture_ask(bool on);
bool capture_is_on(void);

/* Follows the clock: turns recording on or off as the time interval says. Returns the time (ns) until it wants to be
 * called again, UINT64_MAX for never. Called by the service thread. */
uint64_t capture_follow_clock(void);

/* The spool is no longer read: recording stays off from now on. */
void capture_end(void);

/* In a forked child: forgets the parent's CUPTI … */
void capture_atfork_child(void);
/* … and when the child has a spool of its own: writes into it what is recorded. */
void capture_restart(void);

/* CUPTI is there: whatever recording is now, it becomes. */
void capture_cupti_ready(void);

/* For the service thread: switches CUPTI's kinds off when recording is off and UNTIMED records are none. */
void capture_settle(unsigned untimed);

#endif
