/*
 * The crash handler: for the signals that a program causes itself, as long as it leaves them to the system. It records
 * the signal and its thread in the spool, saves the names of kernels that were just launched, and lets the signal take
 * effect.
 *
 * One fault is ours: the spool's file was made shorter, or has no space for a page that was allocated. Then memory
 * takes the place of the segment and the program continues (spool_file_rescue()). If the program has its own SIGBUS
 * handler, that handler gets the fault.
 *
 * Signals that other processes send (SIGTERM, SIGINT, SIGHUP, SIGKILL) are left alone. They come at any time, so names
 * are read all the time (service.c). Programs and libraries also check whether such a signal has a handler before they
 * install theirs.
 */
#ifndef GPUTRACE_AGENT_MAIN_CRASH_HANDLER_H
#define GPUTRACE_AGENT_MAIN_CRASH_HANDLER_H

#include <stdint.h>

/* Installs the handler that the spool itself needs, for SIGBUS. Called before the spool is opened, whose file anybody
 * may make shorter as soon as it is there. */
void crash_handler_install_for_spool(void);
/* Removes it again, because no spool could be opened. errno stays. */
void crash_handler_remove(void);

/* Installs the handlers, where the program has none and ignores nothing. Once for each process that is recorded; a
 * handler that the program installs later takes the place of ours. */
void crash_handler_install(void);

/* In a forked child: the handlers stay, and do nothing but let the signal through. */
void crash_handler_atfork_child(void);

/* In the handler of THREAD's signal, whose ucontext_t is CONTEXT: saves registers and the stack, and which code its
 * words may point to. Async-signal-safe, takes no lock. It may fault; what is in the spool by then stays whole. Does
 * nothing on other processors than x86-64. */
void crash_stack_publish(const void *context, uint32_t thread);

#endif
