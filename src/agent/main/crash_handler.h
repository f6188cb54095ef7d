/*
 * The last moment of a process that a fault of its own ends: a handler for the signals that a program brings upon
 * itself, as long as it leaves them to the system. It says in the spool what came where, keeps the names of kernels
 * that were launched a moment ago, and lets the signal do what it would have done.
 *
 * One fault is ours: the spool's file was made shorter, or has no room for a page that it had given. Then memory takes
 * its place and the program goes on (spool_file_rescue()); a program with a handler of its own for SIGBUS sees to it.
 *
 * Signals that others send (SIGTERM, SIGINT, SIGHUP, SIGKILL) are left alone. They come at any moment, so names are
 * gathered all the time (service.h) and nothing is left to do; and that nobody handles them is something that
 * programs and libraries ask for before they do.
 */
#ifndef GPUTRACE_AGENT_MAIN_CRASH_HANDLER_H
#define GPUTRACE_AGENT_MAIN_CRASH_HANDLER_H

/* Installs the one handler that the spool itself needs, SIGBUS's; before anything but its first segment is written. */
void crash_handler_install_for_spool(void);

/* Installs the handlers, where the program has none and ignores nothing. Once for each process that is recorded; a
 * handler that the program installs later takes the place of ours. */
void crash_handler_install(void);

/* In a forked child: the handlers stay, and do nothing but let the signal through. */
void death_atfork_child(void);

#endif
