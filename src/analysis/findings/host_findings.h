/*
 * What the host did while GPUs were idle, and in stretches of time that a rule chooses, as findings name it. All of it
 * is empty in a trace without samples.
 */
#ifndef GPUTRACE_ANALYSIS_FINDINGS_HOST_FINDINGS_H
#define GPUTRACE_ANALYSIS_FINDINGS_HOST_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
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

/* What threads did in stretches of time that a rule chooses, by the CPU samples and thread states of the trace. All
 * zero is empty. */
struct host_times {
    struct host_activities host;
    ARRAY(struct host_time {
        int64_t here;   /* ns in the stretches that the finding is about … */
        int64_t others; /* … and in those that these are compared with */
    })
    sums;      /* by number of activity */
    bool made; /* whether HOST was made, if there are samples */
};

void host_times_release(struct host_times *times);

/* Whether the trace has samples or states. */
bool host_times_known(const struct trace *trace);

enum host_stretch { HOST_HERE, HOST_OTHER };

/* After the last event: what THREAD (index in trace.threads) did between FROM and TO counts. Returns 0, or -1: no
 * memory. */
int host_times_add(struct host_times *times, const struct trace *trace, uint32_t thread, int64_t from, int64_t to,
                   enum host_stretch stretch);

/* The activity that took most of the time here, beyond what the others have of it: of these there are OTHERS times as
 * many (0: they do not count). EVENT_NO_TEXT: it took less than LEAST ns, or none is known. */
uint32_t host_times_most(const struct host_times *times, int64_t others, int64_t least);

#endif
