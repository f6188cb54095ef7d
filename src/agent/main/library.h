/*
 * The library's life in the user's process (library.c): started once by the first caller, CUDA's driver, NVTX or
 * gputrace.h; left behind in forked children; finished at exit. With it when recording is on (capture.c), plugins, the
 * service thread and the crash handler, each in the file of its name.
 */
#ifndef GPUTRACE_AGENT_MAIN_LIBRARY_H
#define GPUTRACE_AGENT_MAIN_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/callbacks.h>

/* Reads the settings and opens this process's spool, once. False when this process is not to be recorded. */
bool library_start(void);

/* Loads CUPTI and starts recording, once; called by the driver. */
void library_start_cuda(void);

/*
 * When recording is on: within the time interval, and within whatever `--capture-range` names.
 *
 * Everything that turns recording on does so before the call returns, so that what follows it is recorded. What turns
 * it off marks the time. The service thread switches CUPTI's kinds off a little later, when no GPU work is on its way
 * any more, and the reader leaves out what was launched after the mark. API calls stay on (activity_kinds.c); what
 * CUPTI records of them outside of recording is thrown away.
 */

struct settings;

/* Subscribes, before the recorder does, to what opens a range, so that the range itself is recorded. */
int capture_init(const struct settings *settings);
/* Subscribes, after the recorder, to what closes a range. */
int capture_init_last(void);

/* Whether NVTX ranges switch recording on and off. */
bool capture_hears_nvtx(void);

/* The program asks to switch recording (gputrace.h). */
void capture_ask(bool on);
bool capture_is_on(void);

/* Follows the clock: turns recording on or off as the time interval says. Returns the time (ns) until it wants to be
 * called again, UINT64_MAX for never. Called by the service thread. */
uint64_t capture_follow_clock(void);

/* The spool is no longer read: recording stays off from now on. */
void capture_end(void);

/* In a forked child: forgets the parent's CUPTI. */
void capture_atfork_child(void);
/* In a forked child with a spool of its own: writes into it whether recording is on. */
void capture_restart(void);

/* CUPTI has been loaded: its kinds are switched as recording is now. */
void capture_cupti_ready(void);

/* The process runs Python: call stacks of its functions are recorded from now on. */
void capture_python_found(void);

/* For the service thread: switches CUPTI's kinds off when recording is off and UNTIMED records are none. */
void capture_settle(unsigned untimed);

/*
 * Clients that register callbacks from outside the library: plugins, which are loaded here, and the program itself.
 * Each has a host, the functions of struct gputrace_host.
 */

/*
 * Hosts: the functions of struct gputrace_host, one host for each plugin and one for the program.
 */

/* Returns the host of CLIENT (REGISTRY_PROGRAM, REGISTRY_FIRST_PLUGIN …, below EPOCH_CLIENTS). The first call makes it
 * and records its NAME in the spool. SETTINGS is "key=value,key…"; both are copied. It lives forever. NULL: no memory.
 */
const struct gputrace_host *host_make(unsigned client, const char *name, const char *settings);

/*
 * Plugins: shared libraries that the user names. They are loaded into the program's process, and the registry calls
 * their callbacks. A plugin that cannot be used is left out with a message; the program continues.
 */

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

/*
 * The service thread: every flush interval it collects the GPU's times and follows the clock; the names behind pointers
 * it reads more often, and at once when code was prepared.
 */

/* Starts the thread. Returns 0, or -1 with errno set. */
int service_start(uint64_t flush_interval_ns);

/* CUDA has begun: what the driver has open is looked for when the program has closed what is not its own. */
void service_driver_started(void);

/* CUDA is about to end with the process: waits for the round that is going on, and switches nothing of CUPTI's from
 * then on, which would crash while CUDA is taken down. */
void service_driver_ends(void);

/* At the end of the process: waits a moment for the times of GPU work that is done or almost done, and stops the
 * thread. */
void service_finish(void);

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

/* Installs the handler that the spool itself needs, for SIGBUS. Called before anything beyond the first segment is
 * written. */
void crash_handler_install_for_spool(void);

/* Installs the handlers, where the program has none and ignores nothing. Once for each process that is recorded; a
 * handler that the program installs later takes the place of ours. */
void crash_handler_install(void);

/* In the handler of THREAD's signal, whose ucontext_t is CONTEXT: saves registers and the stack, and which code its
 * words may point to. Async-signal-safe, takes no lock. It may fault; what is in the spool by then stays whole. Does
 * nothing on other processors than x86-64. crash_stack.c */
void crash_stack_publish(const void *context, uint32_t thread);

/* In a forked child: the handlers stay, and do nothing but let the signal through. */
void crash_handler_atfork_child(void);

#endif
