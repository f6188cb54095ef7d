/*
 * What both processes read from the environment: the settings that the launcher passes to the agent, and the rank in a
 * job of many processes; and from /proc: filters of system calls and the time namespace.
 *
 * The launcher writes every setting that has a value; the agent reads them at its first entry and never again. A value
 * that does not parse counts as absent.
 */
#ifndef GPUTRACE_COMMON_SETTINGS_H
#define GPUTRACE_COMMON_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/record_kinds.h"

/*      field            variable                     what it holds */
#define SETTINGS_TEXTS(X)                                                                                           \
    X(spool_directory, "GPUTRACE_SPOOL")       /* directory of this run's spool files; absent: record nothing */    \
    X(spool_server, "GPUTRACE_SPOOL_SERVER")   /* address of the socket that makes a file there */                  \
    X(library, "GPUTRACE_LIBRARY")             /* path of libgputrace.so, for gputrace.h */                         \
    X(cupti, "GPUTRACE_CUPTI")                 /* path of the libcupti to load, before any search */                \
    X(capture_range, "GPUTRACE_CAPTURE_RANGE") /* none, api, cudaProfilerApi, nvtx:NAME or nvtx:NAME@DOMAIN */      \
    X(nvtx_domains, "GPUTRACE_NVTX_DOMAINS")   /* NAME,…: these alone; absent: all; "default" is the unnamed one */ \
    X(nvtx_exclude, "GPUTRACE_NVTX_EXCLUDE")   /* NAME,…: all but these; \, is a comma in a NAME */                 \
    X(plugins, "GPUTRACE_PLUGINS")             /* PATH,key=value,…, one on each line */                             \
    X(ranks, "GPUTRACE_RANKS")                 /* a list of ranks: other processes record nothing; absent: all */   \
    X(standard_error, "GPUTRACE_STDERR")       /* name of stderr (log_name_file()); messages go only there */
#define SETTINGS_NUMBERS(X)                                                                                      \
    X(trace, "GPUTRACE_TRACE")                /* bits of enum trace_bits */                                      \
    X(graph_nodes, "GPUTRACE_GRAPH_NODES")    /* 1: a record for each node; 0: one for each graph launch */      \
    X(start_at, "GPUTRACE_START_AT")          /* ns of CLOCK_REALTIME: nothing is recorded before; 0: at once */ \
    X(stop_at, "GPUTRACE_STOP_AT")            /* ns of CLOCK_REALTIME: nothing is recorded after; 0: never */    \
    X(flush_interval_ms, "GPUTRACE_FLUSH_MS") /* how often GPU times are collected */                            \
    X(only_process, "GPUTRACE_ONLY_PROCESS")  /* pid: no other is recorded; 0: all are */                        \
    X(clock_offset,                                                                                              \
      "GPUTRACE_CLOCK_OFFSET") /* CLOCK_REALTIME - the host's CLOCK_MONOTONIC, ns, when start_at was set */      \
    X(seccomp_filters, "GPUTRACE_SECCOMP_FILTERS") /* the launcher's number of filters; -1: unknown */           \
    X(stacks, "GPUTRACE_STACKS")                   /* bits of enum stacks_bits */                                \
    X(stacks_every, "GPUTRACE_STACKS_EVERY")       /* one of so many launches gets a stack; 0: the default */    \
    X(verbose, "GPUTRACE_VERBOSE")                 /* enum log_level */

struct settings {
#define FIELD(field, variable) const char *field;
    SETTINGS_TEXTS(FIELD)
#undef FIELD
#define FIELD(field, variable) int64_t field;
    SETTINGS_NUMBERS(FIELD)
#undef FIELD
};

/* The calls that get a call stack of the host. PYTHON: in a process that runs Python, calls without one of the other
 * bits get a stack of Python functions only.
 *     bit      name for --stacks */
#define STACKS_BITS(X)  \
    X(LAUNCH, "launch") \
    X(ALLOC, "alloc")   \
    X(SYNC, "sync")     \
    X(PYTHON, "python")

enum stacks_index {
#define BIT(name, word) STACKS_INDEX_##name,
    STACKS_BITS(BIT)
#undef BIT
};

enum stacks_bits {
#define BIT(name, word) STACKS_##name = 1 << STACKS_INDEX_##name,
    STACKS_BITS(BIT)
#undef BIT
        STACKS_ALL = STACKS_LAUNCH | STACKS_ALLOC | STACKS_SYNC,
    STACKS_DEFAULT = STACKS_PYTHON,
};

/* A thread's first launch of a kernel and grid gets a stack, and then one of this many launches. */
#define STACKS_EVERY_DEFAULT 10

/* Sets all settings to their defaults. */
void settings_init(struct settings *settings);

/* Reads all settings from the environment; texts point into it. Absent numbers take their defaults. */
void settings_read(struct settings *settings);

/* Writes all settings into the environment of this process (the launcher's child, before exec). Returns 0, or -1. */
int settings_export(const struct settings *settings);

/* The place of a process in a job of many, as job starters set it: torchrun, Open MPI, MPICH, Slurm and others. Unknown
 * numbers are -1. */
struct job_rank {
    int64_t rank;
    int64_t world_size;
    int64_t local; /* rank among the processes on this host */
    int64_t node;  /* number of this host in the job */
};

/* Reads the rank of this process from its environment. */
void rank_read(struct job_rank *rank);

/* Reads a rank from variables. VALUE returns the value of a variable, or NULL if it is not set. */
void rank_read_from(struct job_rank *rank, const char *(*value)(void *context, const char *variable), void *context);

/* --- lists of ranks --- */

/*
 * Lists for --ranks: "0,7", "0-3", "every:8" (0, 8, 16 …), separated by commas.
 */

/* Returns whether LIST is a valid list of ranks. */
bool rank_list_is_valid(const char *list);

/* Returns whether RANK is in LIST. Returns false for -1, an unknown rank, and for an invalid LIST. */
bool rank_list_has(const char *list, int64_t rank);

/* --- filters of system calls --- */

/* Returns the number of filters of the calling thread, or -1 if it is unknown (Linux before 5.9 tells only whether
 * there are any, and /proc may be missing). Filters are never removed, and children inherit them: if a process and its
 * descendant have equally many, these are the same filters. */
int64_t seccomp_filters(void);

/* --- time namespaces --- */

/* Returns how far CLOCK_MONOTONIC of this process is ahead of the host's, ns, because of a time namespace; 0 also if
 * this is unknown. CLOCK_REALTIME does not depend on the namespace. */
int64_t time_namespace_offset(void);

#endif
