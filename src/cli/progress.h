/*
 * How far the writing of a trace is: a line on the terminal, once it takes longer than a second.
 */
#ifndef GPUTRACE_CLI_PROGRESS_H
#define GPUTRACE_CLI_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/build/passes.h"

struct progress {
    struct convert_progress made; /* for convert_options.progress */
    const char *output;
    uint64_t begun; /* CLOCK_MONOTONIC */
    pthread_t thread;
    bool runs; /* the thread does */
    bool ended;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

/* Begins to watch over the writing of OUTPUT, unless messages are unwanted or standard error is not a terminal.
 * PROGRESS stays where it is until progress_end(), which takes the line off the terminal. */
void progress_begin(struct progress *progress, const char *output);
void progress_end(struct progress *progress);

#endif
