/*
 * Names of kernels, captured before they can be lost:
 *   - the texts that CUPTI's records point to (kernel_names_*),
 *   - the name of a kernel that is launched for the first time (first_launches_*),
 *   - the name of each function that the program gets (function_name*),
 *   - a wake-up of the service thread when new names are due (name_capture_*).
 */
#ifndef GPUTRACE_AGENT_CUPTI_KERNEL_NAMES_H
#define GPUTRACE_AGENT_CUPTI_KERNEL_NAMES_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* In a forked child: no thread waits, and the names published so far went into the parent's spool. */
void kernel_names_atfork_child(void);

/*
 * A wake-up of the service thread. When code was prepared, kernels with new names may be launched next. Their names are
 * pointers in CUPTI's records, and must be read before the process can die.
 */

/* Requests that names are read. From any thread, also within a CUPTI callback: takes no lock, and makes a system call
 * only while the service thread waits. */
void name_capture_request(void);

/* For the service thread: waits for a request, NS at most. Returns true once for each request. */
bool name_capture_wait(uint64_t ns);

/*
 * The texts that CUPTI's records point to, published once each. CUPTI has one copy of every name and frees it when the
 * code is unloaded. After that the same pointer may stand for another text.
 */

/* Publishes the text at NAME (NULL: does nothing), which a record of the call CORRELATION (0: none) points to, unless
 * it was published already. From any thread. */
void kernel_names_publish(const char *name, uint32_t correlation);

/* Code is about to be unloaded, and the names of all launches so far are published. The pointers of later launches are
 * read again. */
void kernel_names_unloading(void);

/* That code is gone. From now on its pointers may stand for other texts. */
void kernel_names_unloaded(void);

/* The time (clock_now()) since which the pointers have had their current meaning; 0: always. Async-signal-safe. */
uint64_t kernel_names_since(void);

/*
 * The names of kernels that are launched for the first time, published before CUPTI writes their records: the process
 * can be killed before the name that a record points to is read.
 *
 * Launches have no callback unless a subscriber wants one. When the program gets a function, the callbacks of launches
 * are switched on until everything that it got has been launched. A program may get functions that it launches late or
 * never, so these callbacks may take no more than a hundredth of its time: after FIRST_LAUNCHES_BUDGET callbacks of
 * other launches they are switched off. The budget is refilled with time, and when it is full they are switched on
 * again, so that a program with fewer than FIRST_LAUNCHES_PER_MS launches has them all the time. A kernel that is first
 * launched while they are off gets its name by polling (activity_buffers_gather_names()).
 *
 * Functions are identified by name: a kernel has one handle to be launched by and another in each context, and CUPTI
 * has one copy of a name for all modules (13.0).
 *
 * A launch that is captured into a graph starts no kernel: the first launch of its function is still to come. What
 * graphs launch is published by graphs.c.
 */

/* About a millisecond of the program's time: the callback of a launch takes 0.2 us. */
#define FIRST_LAUNCHES_BUDGET 4096u
#define FIRST_LAUNCHES_PER_MS 50u

/* The program got a function called NAME (NULL: not known) from MODULE, a CUmodule or CUlibrary (NULL: not known). */
void first_launches_got(const char *name, const void *module);

/* Functions from MODULE are no longer expected to be launched. */
void first_launches_unloaded(const void *module);

/* A launch of what is called NAME (may be NULL) begins on this thread. If it is the first, the name is published as
 * what CORRELATION launches. */
void first_launches_begins(const char *name, uint32_t correlation);

/* The launch that has begun on this thread goes into a graph. */
void first_launches_captured(void);

/* A launch has returned on this thread: whether it was a first one, so that its record has a name to be read. */
bool first_launches_returned(void);

/* Refills the budget; called from time to time. NOW is CLOCK_MONOTONIC, ns. */
void first_launches_renew(uint64_t now);

/* While SUSPENDED, when nothing is recorded, launches have no callbacks and cost what they cost an untraced program.
 * What the program gets meanwhile is named when it is launched while recording is on. */
void first_launches_suspend(bool suspended);

/* No subscriber wants the names any more. */
void first_launches_forget(void);

/*
 * The names of the program's functions, published as soon as it gets them. Later records need only the handle.
 */

/* FUNCTION (a CUfunction or CUkernel) is called NAME; either may be NULL: nothing is published. Published once, and
 * again when a function that was loaded later has the handle of one that is gone. */
void function_name_publish(const void *function, const char *name);

/* Asks the driver for a name, when the call that returned the handle did not have it. The text is the driver's. NULL:
 * the driver has no name, or no subscriber wants it. */
const char *function_name_ask(CUfunction function);
const char *kernel_name_ask(CUkernel kernel);

/* No subscriber wants the names any more. */
void function_names_forget(void);

#endif
