/*
 * The crash handler, for signals that a program causes itself and leaves to the default action. The handler records the
 * signal and its thread in the spool, saves the names of kernels that were just launched, and lets the signal take
 * effect.
 *
 * One fault is caused by the spool: its file was truncated, or the disk has no space for a page of it. Then memory
 * replaces the segment and the program continues (spool_file_rescue()). If the program has its own SIGBUS handler, that
 * handler gets the fault.
 *
 * Signals that other processes send (SIGTERM, SIGINT, SIGHUP, SIGKILL) are not handled. They come at any time, so names
 * are read all the time (service.c). Programs and libraries also check whether such a signal has a handler before they
 * install theirs.
 */
#ifndef GPUTRACE_AGENT_MAIN_CRASH_HANDLER_H
#define GPUTRACE_AGENT_MAIN_CRASH_HANDLER_H

#include <stdint.h>

/* Installs the SIGBUS handler that the spool itself needs. Called before the spool is opened, because anybody may
 * truncate its file from then on. */
void crash_handler_install_for_spool(void);
/* Removes the handlers, because no spool could be opened. Preserves errno. */
void crash_handler_remove(void);

/* Installs a handler for each fatal signal with the default action. Called once for each recorded process. A handler
 * that the program installs later replaces ours. */
void crash_handler_install(void);

/* In a forked child, makes the handlers do nothing but let the signal through. */
void crash_handler_atfork_child(void);

/* Saves registers and stack of THREAD, and the mappings of code that words of the stack may point to. Called in the
 * thread's signal handler with its ucontext_t CONTEXT. Async-signal-safe, takes no lock. It may fault: records
 * committed before the fault stay whole. Does nothing on unknown processors. */
void crash_stack_publish(const void *context, uint32_t thread);

#endif
