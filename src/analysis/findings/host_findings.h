/*
 * What the host did while GPUs were idle, as findings name it. All of it is empty in a trace without samples.
 */
#ifndef GPUTRACE_ANALYSIS_FINDINGS_HOST_FINDINGS_H
#define GPUTRACE_ANALYSIS_FINDINGS_HOST_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/findings/findings.h"
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

/* An activity in a sentence, shortened; "" for EVENT_NO_TEXT, then HOST may be NULL. */
struct host_phrase {
    char text[208];
};
struct host_phrase host_phrase(const struct host_activities *host, uint32_t activity);

/* What helps against an activity; NULL for EVENT_NO_TEXT. */
const char *host_advice(const struct host_activities *host, uint32_t activity);

/* The largest gap of DEVICE that ACTIVITY took most of. NULL: none is known. */
const struct idle_gap *host_gap(const struct idle *idle, size_t device, uint32_t activity);
/* GAP of DEVICE; NULL: nowhere but on DEVICE. */
struct finding_place host_gap_place(size_t device, const struct idle_gap *gap);

#endif
