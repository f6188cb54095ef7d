/*
 * Those who may register callbacks from outside the library, and what it does for them: the functions of struct
 * gputrace_host, one host for each plugin and one for the program.
 */
#ifndef GPUTRACE_AGENT_MAIN_PLUGINS_H
#define GPUTRACE_AGENT_MAIN_PLUGINS_H

#include <gputrace/callbacks.h>

/*
 * The host of client CLIENT (REGISTRY_PROGRAM, REGISTRY_FIRST_PLUGIN …, below EPOCH_CLIENTS), made when it is first
 * asked for; then the spool is told its NAME. SETTINGS is "key=value,key…"; both are copied. It lives for ever. NULL:
 * no memory.
 */
const struct gputrace_host *host_make(unsigned client, const char *name, const char *settings);

/* --- plugin --- */

/*
 * Plugins: shared libraries that the user names, loaded into the program's process, whose callbacks the registry calls.
 *
 * A plugin that cannot be used is left out, and the user is told why; the program goes on in either case.
 */

/* Loads and starts those that LINES name, "PATH,key=value,key…" one on each line (NULL: none). Once for a process and
 * its forks, with the spool open and the recorder subscribed. What a plugin does with CUDA and NVTX while it is loaded
 * is not told to anybody; it may call back into InitializeInjection() and its like on this thread. */
void plugins_load(const char *lines);

/* The host of the program itself, once this process is recorded; NULL: VERSION is not ours. */
const struct gputrace_host *plugins_program_host(uint32_t version);

/* Writes down what callbacks took, where that has changed, once a second at most. */
void plugins_record_times(void);

/* The process exits: tells it to who registered, and writes down what callbacks took. Once; where there are plugins it
 * has been done before their destructors ran. */
void plugins_process_end(void);

/* In a forked child, in the handler of the fork … */
void plugins_atfork_child(void);
/* … and where it is recorded, when its own spool is open: tells that it is a fork of PARENT. */
void plugins_after_fork(uint32_t parent);

#endif
