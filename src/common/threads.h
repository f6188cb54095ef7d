/*
 * Threads that work beside others for a while.
 */
#ifndef GPUTRACE_COMMON_THREADS_H
#define GPUTRACE_COMMON_THREADS_H

#include <pthread.h>

/* Starts up to COUNT threads that call RUN(CONTEXT), as many as can be had, and gives their number; errno says why it
 * is not COUNT. What is sent to the process is for the other threads: these handle no signal but those of their own
 * faults. */
unsigned threads_start(pthread_t *threads, unsigned count, void *(*run)(void *context), void *context);

#endif
