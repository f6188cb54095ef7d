/*
 * What the host did while GPUs were idle, as findings name it. It is empty in a trace without samples.
 */
#ifndef GPUTRACE_ANALYSIS_IDLE_HOST_FINDINGS_H
#define GPUTRACE_ANALYSIS_IDLE_HOST_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/engine/findings.h"
#include "analysis/host/host_times.h"
#include "analysis/idle/idle.h"

enum host_wanted { HOST_ANY, HOST_ON_PROCESSOR, HOST_OFF_PROCESSOR };

/* Idle time in which the host was outside of calls. */
struct host_question {
    size_t device; /* index in trace.devices */
    enum host_wanted wanted;
    bool launching; /* between launches (IDLE_LAUNCH); else outside of CUDA (IDLE_OUTSIDE) */
    bool loading;   /* only in PyTorch's DataLoader, in gaps of any length; else only elsewhere */
};

struct host_answer {
    int64_t total, most; /* ns, of all activities, and of those with the doing that took most */
    int64_t gaps;        /* of all: the number */
    uint32_t activity;   /* the one of that doing that took most; EVENT_NO_TEXT: none is known */
};

/* Without memory there is no answer. */
struct host_answer host_ask(const struct trace *trace, const struct idle *idle, const struct host_question *question);

/* Whether PyTorch's DataLoader gets the next batch in a call stack, or Lightning, Accelerate or Transformers moves it
 * to the GPU. */
bool host_gets_batch(const struct trace *trace, int64_t stack);

/* What the host launched before and after GAP: "load (train.py:31) and forward (train.py:27)", or functions of
 * libraries where one line of the program called both; and the operations, where no stack is known. "": both are the
 * same. */
struct host_between {
    char text[2 * FINDING_NAME + 48];
    bool loads; /* it got the next batch in the gap: the text says so */
};
struct host_between host_between(const struct trace *trace, const struct idle_gap *gap);

/* The largest gap of DEVICE that ACTIVITY took most of. NULL: none is known. */
const struct idle_gap *host_gap(const struct idle *idle, size_t device, uint32_t activity);
/* GAP of DEVICE; NULL: nowhere but on DEVICE. */
struct finding_place host_gap_place(size_t device, const struct idle_gap *gap);

#endif
