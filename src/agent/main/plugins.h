/*
 * Clients that register callbacks from outside the library: plugins (shared libraries that the user names) and the
 * program itself. Each client has a host, a struct gputrace_host. Plugins are loaded into the program's process, and
 * the registry calls their callbacks. A plugin that cannot be used is left out with a message; the program continues.
 */
#ifndef GPUTRACE_AGENT_MAIN_PLUGINS_H
#define GPUTRACE_AGENT_MAIN_PLUGINS_H

#include <stdint.h>

struct gputrace_host;

/* Returns the host of CLIENT (REGISTRY_PROGRAM, REGISTRY_FIRST_PLUGIN …, below EPOCH_CLIENTS), or NULL if there is no
 * memory. The first call creates the host and records NAME in the spool. SETTINGS is "key=value,key…". NAME and
 * SETTINGS are copied. The host lives forever. */
const struct gputrace_host *host_make(unsigned client, const char *name, const char *settings);

/* Loads and starts the plugins in LINES, one "PATH,key=value,key…" per line (NULL: none). Called once for a process
 * and its forks, with the spool open and the recorder subscribed. CUDA and NVTX calls that a plugin makes while it is
 * loaded are not published; they may call InitializeInjection() and the other entry points on this thread. */
void plugins_load(const char *lines);

/* Returns the host of the program itself, or NULL if VERSION is not ours or there is no memory. Requires that this
 * process is recorded. */
const struct gputrace_host *plugins_program_host(uint32_t version);

/* Records the time spent in callbacks of each client for which it changed, at most once a second. */
void plugins_record_times(void);

/* Publishes to subscribers that the process exits, and records the time spent in callbacks. Only the first call does
 * this: with plugins, that is an exit handler that runs before the plugins' destructors. */
void plugins_process_end(void);

/* In a forked child, in the fork handler: starts counting the time of callbacks anew. */
void plugins_atfork_child(void);
/* In a forked child whose own spool is open: records the clients in it, and publishes that the process is a fork of
 * PARENT. */
void plugins_after_fork(uint32_t parent);

#endif
