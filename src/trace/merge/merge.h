/*
 * Several traces become one: those of the ranks of a job, as a rule.
 *
 *     merge = merge_new(&options);
 *     merge_look(merge);             // reads all traces once
 *     merge_host(merge, i)->clock    // may be set now
 *     merge_write(merge, &summary);  // reads them again, and writes
 *     merge_free(merge);
 *
 * What may be the same in two traces and means different things gets new numbers: processes, rows of GPUs, devices,
 * correlations, flows, asynchronous ranges, call stacks. Processes keep their pids as far as no earlier one has them.
 * GPUs of one host with one UUID are one; those without a UUID are different ones. Rows are ordered by rank, and their
 * names say rank and host.
 *
 * Several threads read a trace each. Memory grows with the rows, the metadata and the kernels of the traces, not with
 * their events: what a thread writes lies in a temporary file beside the output until its turn comes. The output does
 * not depend on the number of threads.
 */
#ifndef GPUTRACE_TRACE_MERGE_MERGE_H
#define GPUTRACE_TRACE_MERGE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/cut.h"

struct merge_input {
    const char *path;  /* a trace file, which is read two or three times */
    const char *name;  /* for messages, and for the trace that is written */
    const char *whole; /* the trace that PATH is a part of, or PATH: for clocks */
};

struct merge_options {
    const struct merge_input *inputs;
    size_t count;
    const char *output; /* its name tells the format, which must not be a database */
    struct filter_options
        part;         /* from and to: times of all traces together; of the others the inputs are what they select */
    unsigned workers; /* threads that read traces; 0: as many as there are processors */
};

/* How the clock of a host differs from that of the trace: a time T of the host becomes
 * T - offset - drift * (T - since). */
struct merge_clock {
    bool known;            /* it was found, or found to be 0 */
    bool reference;        /* it is the clock of the trace */
    int64_t offset;        /* ns */
    double drift;          /* ns by ns; between -0.5 and 0.5 */
    uint64_t since;        /* ns of CLOCK_REALTIME */
    double uncertainty;    /* ns, of the corrected time; negative: not known */
    uint64_t observations; /* that this was found out from */
};

struct merge_host {
    char *name; /* of a trace that does not name its host: the trace's */
    bool named;
    struct merge_clock clock; /* all zero at first: nothing is corrected */
    int64_t first_rank;       /* the lowest; -1: there is none */
    int64_t synchronised;     /* what its system says of its clock: 1: by NTP or PTP, 0: it is not; -1: not known */
    int64_t error_us;         /* it is wrong by at most this; -1: not known */
    size_t traces;            /* how many have it */
};

struct merge_summary {
    uint64_t events, bytes;
    size_t traces, ranks, hosts; /* hosts: those whose names are known */
};

struct merge;

/* OPTIONS and all that it has outlive it. NULL after error(). */
struct merge *merge_new(const struct merge_options *options);
void merge_free(struct merge *merge);

/* Reads all traces. Returns 0, or -1 after an error() for each that cannot be read. */
int merge_look(struct merge *merge);

/* The hosts that traces are of, in the order of their lowest ranks. */
size_t merge_host_count(const struct merge *merge);
struct merge_host *merge_host(struct merge *merge, size_t index);

/* Trace NUMBER, in the order of the output. Sets *HOST to the host of those of its processes that name no other, and
 * *BASE to the time that its times count from, ns of CLOCK_REALTIME. */
const struct merge_input *merge_trace(const struct merge *merge, size_t number, size_t *host, uint64_t *base);

/* Writes the output. Returns 0, or -1 after error(): then the output is as it was. */
int merge_write(struct merge *merge, struct merge_summary *summary);

#endif
