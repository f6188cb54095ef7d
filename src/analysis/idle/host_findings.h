/*
 * What the host did while GPUs were idle, in the words of findings. A trace without samples has no such words.
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
struct host_query {
    size_t device; /* index in trace.devices */
    enum host_wanted wanted;
    bool launching; /* between launches (IDLE_LAUNCH); else outside of CUDA (IDLE_OUTSIDE) */
    bool loading;   /* in PyTorch's DataLoader, in gaps of any length; else outside of it */
};

struct host_idle_found {
    int64_t total, most; /* ns of all activities, and of the doing that took most */
    int64_t gaps;        /* number of gaps */
    uint32_t activity;   /* the largest activity of that doing; EVENT_NO_TEXT: none is known */
};

/* Returns an empty result without memory. */
struct host_idle_found host_idle_find(const struct trace *trace, const struct idle *idle,
                                      const struct host_query *query);

/* Whether a call stack fetches the next batch from PyTorch's DataLoader, or moves it to the GPU in Lightning,
 * Accelerate or Transformers. */
bool host_fetches_batch(const struct trace *trace, int64_t stack);

/* Where the host launched the operations before and after GAP: "load (train.py:31) and forward (train.py:27)";
 * functions of libraries if one line of the program called both; names of the operations if their stacks are not known.
 * The text is "" if both are the same. */
struct host_between {
    char text[2 * FINDING_NAME + 48];
    bool loads; /* it fetched the next batch in the gap, which the text mentions */
};
struct host_between host_between(const struct trace *trace, const struct idle_gap *gap);

/* The largest gap of DEVICE whose main activity is ACTIVITY, or NULL. */
const struct idle_gap *host_gap(const struct idle *idle, size_t device, uint32_t activity);
/* The place of GAP on DEVICE; if GAP is NULL, of DEVICE alone. */
struct finding_place host_gap_place(size_t device, const struct idle_gap *gap);

#endif
