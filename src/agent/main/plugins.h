/*
 * Clients that register callbacks from outside the library: plugins, shared libraries that the user names, and the
 * program itself. Each has a host, the functions of struct gputrace_host. Plugins are loaded into the program's
 * process, and the registry calls their callbacks. A plugin that cannot be used is left out with a message; the program
 * continues.
 */
#ifndef GPUTRACE_AGENT_MAIN_PLUGINS_H
#define GPUTRACE_AGENT_MAIN_PLUGINS_H

#include <stdint.h>

struct gputrace_host;

/* Returns the host of CLIENT (REGISTRY_PROGRAM, REGISTRY_FIRST_PLUGIN …, below EPOCH_CLIENTS). The first call makes it
 * and records its NAME in the spool. SETTINGS is "key=value,key…"; both are copied. It lives forever. NULL: no memory.
 */
const struct gputrace_host *host_make(unsigned client, const char *name, const char *settings);

/* Loads and starts the plugins in LINES, one "PATH,key=value,key…" per line (NULL: none). Once for a process and its
 * forks, with the spool open and the recorder subscribed. CUDA and NVTX calls that a plugin makes while it is loaded
 * are not published; it may call back into InitializeInjection() and the like on this thread. */
void plugins_load(const char *lines);

/* The host of the program itself, once this process is recorded; NULL: VERSION is not ours. */
const struct gputrace_host *plugins_program_host(uint32_t version);

/* Records what callbacks took, where that has changed, once a second at most. */
void plugins_record_times(void);

/* The process exits: publishes that to subscribers, and records what callbacks took. Once; where there are plugins it
 * has been done before their destructors ran. */
void plugins_process_end(void);

/* In a forked child, in the handler of the fork. */
void plugins_atfork_child(void);
/* In a forked child that is recorded, once its own spool is open: publishes that it is a fork of PARENT. */
void plugins_after_fork(uint32_t parent);

#endif
