/*
 * A word from the program's threads to the service thread: code was prepared, so kernels whose names nobody has seen
 * may be launched next. Their names are pointers in CUPTI's records, and have to be read before the process can die.
 */
#ifndef GPUTRACE_AGENT_CUPTI_KERNEL_NAMES_H
#define GPUTRACE_AGENT_CUPTI_KERNEL_NAMES_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* Names are due. From any thread, also within a callback of CUPTI's: takes no lock, and calls the system only when the
 * service thread waits. */
void name_capture_request(void);

/* For the service thread alone: waits until names are due, NS at most. True: they are; said once for each time. */
bool name_capture_wait(uint64_t ns);

/* In a forked child: nobody waits. */
void name_capture_atfork_child(void);

/* --- record names --- */

/*
 * The texts that CUPTI's records point to, told once each. CUPTI has a copy of every name and frees it when the code is
 * unloaded: from then on the same pointer may stand for another text.
 */

/* Publishes what NAME (NULL: nothing) stands for in a record of CORRELATION's work (0: of no call's), when that is not
 * known. From any thread. */
void kernel_names_publish(const char *name, uint32_t correlation);

/* Code is about to be unloaded, and all names that were launched until now are told: those of later launches are looked
 * at again. */
void kernel_names_unloading(void);

/* That code is gone, and so are its kernels: what its pointers come to mean, they mean from now on. */
void kernel_names_unloaded(void);

/* From when on pointers mean what they mean now, as clock_now(); 0: they always did. From a signal handler too. */
uint64_t kernel_names_since(void);

/* In a forked child: the names told so far went into the parent's spool. */
void kernel_names_atfork_child(void);

/* --- first launches --- */

/*
 * The names of kernels that are launched for the first time, told before CUPTI writes their records: a process can be
 * killed before anybody has read the name that a record points to.
 *
 * Launches have no callback unless somebody wants to hear of them. So, when the program gets a function, their
 * callbacks are switched on until all that it got were launched. A program may get functions that it never launches, or
 * late: hearing launches of others may take no more than a hundredth of its time. FIRST_LAUNCHES_BUDGET of them are
 * heard at once; those heard in vain come back with time, and once all have, launches are heard again. So a program
 * that launches less often than FIRST_LAUNCHES_PER_MS is heard all the time. What is first launched when nobody hears
 * it has its name by polling (activity_buffers_gather_names()).
 *
 * Functions are known by their names here: a kernel has one handle to be launched by and another in each context, and
 * CUPTI has one copy of a name, to which the records of all that are called so point, in whatever module (13.0).
 *
 * A launch that is captured into a graph launches nothing: the function's first launch is still to come. What the graph
 * launches is told by graph_nodes.h.
 */

/* About a millisecond of the program's time, as hearing of a launch takes 0.2 us. */
#define FIRST_LAUNCHES_BUDGET 4096u
#define FIRST_LAUNCHES_PER_MS 50u

/* The program got a function called NAME (NULL: not known) from MODULE, a CUmodule or CUlibrary (NULL: not known). */
void first_launches_got(const char *name, const void *module);

/* What was got from MODULE is not launched any more. */
void first_launches_unloaded(const void *module);

/* A launch of what is called NAME (may be NULL) begins on this thread. If it is the first, the name is told as what
 * CORRELATION launches. */
void first_launches_begins(const char *name, uint32_t correlation);

/* The launch that has begun on this thread goes into a graph. */
void first_launches_captured(void);

/* A launch has returned on this thread: whether it was a first one, so that its record has a name to be read. */
bool first_launches_returned(void);

/* At times; NOW is CLOCK_MONOTONIC, ns. */
void first_launches_renew(uint64_t now);

/* While SUSPENDED, when nothing is recorded, no launch is heard: it costs what it costs an untraced program. What the
 * program gets meanwhile waits, and is named when it is launched while recording is on. */
void first_launches_suspend(bool suspended);

/* Nobody wants the names any more. */
void first_launches_forget(void);

/* In a forked child. */
void first_launches_atfork_child(void);

/* --- function names --- */

/*
 * What the program's functions are called, told as soon as it gets them: whoever tells later what launches a function
 * needs no more than its handle.
 */

/* Finds the driver's functions that are asked. Takes the dynamic loader's lock. */
void function_names_init(void);

/* FUNCTION (a CUfunction or CUkernel) is called NAME; either may be NULL: nothing is told. Told once, and again when a
 * function that was loaded later has the handle of one that is gone. */
void function_name_publish(const void *function, const char *name);

/* What the driver says that it is called, when the call that gave the handle did not tell; it has the text. NULL: it
 * does not say, or nobody wants to know. */
const char *function_name_ask(CUfunction function);
const char *kernel_name_ask(CUkernel kernel);

/* Nobody wants the names any more. */
void function_names_forget(void);

/* In a forked child: what was told is in the parent's spool. */
void function_names_atfork_child(void);

/* For tests: these instead of the driver's. */
void function_names_replace_driver(CUresult (*of_function)(const char **name, CUfunction function),
                                   CUresult (*of_kernel)(const char **name, CUkernel kernel));

#endif
