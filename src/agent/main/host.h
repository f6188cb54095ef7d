/*
 * Those who may register callbacks from outside the library, and what it does for them: the functions of struct
 * gputrace_host, one host for each plugin and one for the program.
 */
#ifndef GPUTRACE_AGENT_MAIN_HOST_H
#define GPUTRACE_AGENT_MAIN_HOST_H

#include <gputrace/callbacks.h>

/*
 * The host of client CLIENT (REGISTRY_PROGRAM, REGISTRY_FIRST_PLUGIN …, below READER_CLIENTS), made when it is first
 * asked for; then the spool is told its NAME. SETTINGS is "key=value,key…"; both are copied. It lives for ever. NULL:
 * no memory.
 */
const struct gputrace_host *host_make(unsigned client, const char *name, const char *settings);

/* Tells the spool what the callbacks of each client took, where that has changed. */
void hosts_tell_times(void);

/* In a forked child: locks are free; the time that callbacks took, and the spool, were the parent's. */
void hosts_leave(void);

/* Tells a new spool who there is. */
void hosts_retell(void);

#endif
