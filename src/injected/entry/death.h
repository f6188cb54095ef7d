/*
 * The last moment of a process that a fault of its own ends: a handler for the signals that a program brings upon
 * itself, as long as it leaves them to the system. It says in the spool what came where, keeps the names of kernels
 * that were launched a moment ago, and lets the signal do what it would have done.
 *
 * Signals that others send (SIGTERM, SIGINT, SIGHUP, SIGKILL) are left alone. They come at any moment, so names are
 * gathered all the time (service.h) and nothing is left to do; and that nobody handles them is something that
 * programs and libraries ask for before they do.
 */
#ifndef GPUTRACE_INJECTED_ENTRY_DEATH_H
#define GPUTRACE_INJECTED_ENTRY_DEATH_H

/* Installs the handlers, where the program has none and ignores nothing. Once for each process that is recorded; a
 * handler that the program installs later takes the place of ours. */
void death_watch(void);

/* In a forked child: the handlers stay, and do nothing but let the signal through. */
void death_leave(void);

#endif
