/*
 * Asking foreign code a question in a process of its own, so that its crash, its output and its threads are not ours.
 */
#ifndef GPUTRACE_DOCTOR_PROBE_H
#define GPUTRACE_DOCTOR_PROBE_H

#include <stddef.h>

enum probe_end {
    PROBE_ANSWERED,
    PROBE_CRASHED,   /* a signal or exit ended it before the answer */
    PROBE_TOO_SLOW,  /* no answer within PROBE_SECONDS: it was killed */
    PROBE_NOT_ASKED, /* no process could be made */
};
#define PROBE_SECONDS 30

/* Calls ASK in a child process, with QUESTION and SIZE zero bytes for its answer, which are copied to ANSWER. */
enum probe_end probe(void (*ask)(const void *question, void *answer), const void *question, void *answer, size_t size);

#endif
