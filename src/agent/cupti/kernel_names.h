/*
 * Names of kernels, captured before they can be lost:
 *     - the texts that CUPTI's records point to (kernel_names_*),
 *     - the name of a kernel that is launched for the first time (first_launches_*),
 *     - the name of each function that the program looks up (function_name*),
 *     - a wake-up of the service thread when new names are due (name_capture_*).
 */
#ifndef GPUTRACE_AGENT_CUPTI_KERNEL_NAMES_H
#define GPUTRACE_AGENT_CUPTI_KERNEL_NAMES_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* In a forked child: resets the waiting service thread, and forgets the published names, which are in the parent's
 * spool. */
void kernel_names_atfork_child(void);

/*
 * A wake-up of the service thread. After code was prepared, kernels with new names may be launched. Their names are
 * pointers in CUPTI's records, and must be read before the process can die.
 */

/* Requests that names are read. Callable from any thread, also within a CUPTI callback: takes no lock, and makes a
 * system call only while the service thread waits. */
void name_capture_request(void);

/* Waits for a request, NS at most. Returns true once for each request. For the service thread. */
bool name_capture_wait(uint64_t ns);

/*
 * The texts that CUPTI's records point to, each published once. CUPTI has one copy of every name and frees it when the
 * code is unloaded. After that the same pointer may mean another text.
 */

/* Publishes the text at NAME unless it was published already. A record of the call CORRELATION (0: none) points to it.
 * Does nothing if NAME is NULL. Callable from any thread. */
void kernel_names_publish(const char *name, uint32_t correlation);

/* Makes the pointers of later launches be read again. Called before code is unloaded, with the names of all launches so
 * far published. */
void kernel_names_unloading(void);

/* Notes that the code is unloaded: from now on its pointers may mean other texts. */
void kernel_names_unloaded(void);

/* Returns the time (clock_now()) since which pointers have had their current meaning, or 0 for always.
 * Async-signal-safe. */
uint64_t kernel_names_since(void);

/*
 * The names of kernels that are launched for the first time, published before CUPTI writes their records: the process
 * can be killed before the name that a record points to is read.
 *
 * Launches have no callback unless a subscriber wants one. When the program looks up a function, the callbacks of
 * launches are switched on until all functions that it looked up have been launched. A program may launch functions
 * late or never, so these callbacks must not take more than a hundredth of its time: after FIRST_LAUNCHES_BUDGET
 * callbacks of other launches they are switched off. The budget is refilled with time, and when it is full they are
 * switched on again, so that a program with fewer than FIRST_LAUNCHES_PER_MS launches has them all the time. A kernel
 * that is first launched while they are off gets its name by polling (activity_buffers_gather_names()).
 *
 * Functions are identified by name: a kernel has one handle for launches and another in each context, and CUPTI has one
 * copy of a name for all modules (13.0).
 *
 * A launch that is captured into a graph starts no kernel: the first launch of its function is still to come. graphs.c
 * publishes what graphs launch.
 */

/* The budget is about a millisecond of the program's time: the callback of a launch takes 0.2 us. */
#define FIRST_LAUNCHES_BUDGET 4096u
#define FIRST_LAUNCHES_PER_MS 50u

/* Notes that the program looked up a function called NAME in MODULE, a CUmodule or CUlibrary. NULL: unknown. */
void first_launches_got(const char *name, const void *module);

/* Stops expecting launches of functions from MODULE. */
void first_launches_unloaded(const void *module);

/* Called when a launch of a function called NAME (may be NULL) begins on this thread. If it is the first, publishes the
 * name with CORRELATION. */
void first_launches_begins(const char *name, uint32_t correlation);

/* Notes that this thread's launch is captured into a graph. */
void first_launches_captured(void);

/* Called when a launch has returned on this thread. Returns whether it was a first launch, whose record has a name to
 * read. */
bool first_launches_returned(void);

/* Refills the budget; called from time to time. NOW is CLOCK_MONOTONIC in ns. */
void first_launches_renew(uint64_t now);

/* Sets whether first launches have no callbacks, because recording is off: launches then cost what they cost an
 * untraced program. A function that is looked up meanwhile is named when it is launched while recording is on. */
void first_launches_suspend(bool suspended);

/* Forgets expected launches, because no subscriber wants names of launches any more. */
void first_launches_forget(void);

/*
 * The names of the program's functions, published as soon as the program looks them up. Later records need only the
 * handle.
 */

/* Publishes that FUNCTION (a CUfunction or CUkernel) is called NAME, unless either is NULL. Published once, and again
 * when a function that was loaded later reuses a handle. */
void function_name_publish(const void *function, const char *name);

/* Ask the driver for a name, when the call that returned the handle did not have it. The text is the driver's. Return
 * NULL if the driver has no name, or no subscriber wants it. */
const char *function_name_ask(CUfunction function);
const char *kernel_name_ask(CUkernel kernel);

/* Forgets the published names, because no subscriber wants names of functions any more. */
void function_names_forget(void);

#endif
