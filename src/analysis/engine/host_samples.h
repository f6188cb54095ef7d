/*
 * CPU samples of the host's threads, and states: times in which a thread was off the processor. Both are sorted by
 * thread and time, so that any time of any thread can be read. Samples with the same stack and name belong to one site;
 * host_sites.h describes sites.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_HOST_SAMPLES_H
#define GPUTRACE_ANALYSIS_ENGINE_HOST_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/file_vector.h"
#include "common/sorter.h"
#include "trace/event_fields.h"

struct host_sample {
    int64_t time;  /* ns */
    uint32_t site; /* number */
};

enum host_state_kind { HOST_SLEEPING, HOST_RUNNABLE, HOST_DISK_WAIT, HOST_STATE_KINDS };

/* A time in which a thread was off the processor. */
struct host_state {
    int64_t start, end; /* ns */
    int64_t waker;      /* id of the thread that woke it; FIELD_ABSENT: not known */
    uint32_t site;      /* where the thread left the processor */
    uint32_t kind;      /* enum host_state_kind */
};

/* Indices of the samples and states of one thread. */
struct host_thread {
    size_t first_sample, samples;
    size_t first_state, states;
};

/* What all samples of a site have in common. */
struct host_site {
    int64_t stack; /* number of the call stack; FIELD_ABSENT: none */
    uint64_t name; /* of the sample: the innermost function; EVENT_NO_TEXT: none */
};

struct host_samples {
    struct sorter unsorted_samples, unsorted_states; /* until host_samples_finish() */
    struct dense_map sites;                          /* struct host_site */
    FILE_VECTOR(struct host_sample) samples;         /* by thread and time */
    FILE_VECTOR(struct host_state) states;           /* by thread and time; those of a thread do not overlap */
    ARRAY(struct host_thread) threads;               /* by index in trace.threads; there may be fewer than there */
    int64_t period;                                  /* estimated ns between samples of a running thread */
};

void host_samples_init(struct host_samples *samples, struct sorter_space *space);
void host_samples_release(struct host_samples *samples);

/* Adds a sample at SITE. THREAD is an index in trace.threads. Returns 0, or -1: no memory. */
int host_samples_add(struct host_samples *samples, uint32_t thread, int64_t time, const struct host_site *site);
/* Adds STATE at SITE. Returns 0, or -1: no memory. */
int host_samples_add_state(struct host_samples *samples, uint32_t thread, const struct host_state *state,
                           const struct host_site *site);

/* Sorts the samples and states after the last was added; then several threads may read them. Returns 0, or -1: no
 * memory, or after warning(). */
int host_samples_finish(struct host_samples *samples);

/* Returns the samples and states of a thread; they are empty if the thread was not sampled. */
struct host_thread host_samples_thread(const struct host_samples *samples, uint32_t thread);

/* host_samples_from() returns the index of the thread's first sample at or after TIME, host_samples_state_from() that
 * of its first state that ends after TIME. If there is none, they return the index behind the thread's last. */
size_t host_samples_from(const struct host_samples *samples, const struct host_thread *thread, int64_t time);
size_t host_samples_state_from(const struct host_samples *samples, const struct host_thread *thread, int64_t time);

/* Gives the pages of samples and states back to the kernel. */
void host_samples_evict(const struct host_samples *samples);

#endif
