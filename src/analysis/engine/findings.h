/*
 * Findings: what costs time in a trace, how much, and what to change. A rule reads the trace and adds findings. Each
 * rule is one row in FINDING_RULES, one definition `const struct rule rule_NAME` in a file rules_….c, which may have
 * several rules about one topic, and one paragraph in gputrace-findings(7).
 *
 *     static int op(void *state, const struct trace *trace, const struct timeline_op *op)
 *     {
 *         if (…the rule is about OP…)
 *             offences_add_op(state, op, …its cost…);
 *         return 0;
 *     }
 *
 *     static int find(void *state, struct findings *findings)
 *     {
 *         const struct offences *copies = state;
 *         return finding_format(finding_of(findings, copies, offences_cost(copies)), "%s copies take too long",
 *                               amount_count(copies->count).text);
 *     }
 *
 *     const struct rule rule_pageable_copies = {
 *         .id = "pageable-copies", .advice = "…", .section = "memtime", .sources = {TRACE_MEMCPY},
 *         .state_size = sizeof(struct offences), .op = op, .find = find,
 *     };
 *
 * All thresholds are in FINDING_THRESHOLDS, and nowhere else.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_FINDINGS_H
#define GPUTRACE_ANALYSIS_ENGINE_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/engine/timeline.h"
#include "analysis/engine/trace.h"

/* The rules. A report shows findings by cost, whatever the order of their rules; those without a cost in time come last,
 * in this order, unless the rule is urgent. */
#define FINDING_RULES(X)     \
    X(pageable_copies)       \
    X(blocking_copies)       \
    X(blocking_sets)         \
    X(small_copies)          \
    X(serial_copies)         \
    X(device_waits)          \
    X(repeated_waits)        \
    X(allocation_churn)      \
    X(pinning_churn)         \
    X(managed_memory)        \
    X(module_loading)        \
    X(jit_compilation)       \
    X(graph_instantiation)   \
    X(default_stream)        \
    X(warm_up)               \
    X(launch_bound)          \
    X(host_blocked)          \
    X(host_work)             \
    X(gpu_gaps)              \
    X(low_use)               \
    X(repeated_kernels)      \
    X(float32_matmul)        \
    X(tiny_grids)            \
    X(tail_waves)            \
    X(low_occupancy)         \
    X(slow_step)             \
    X(exposed_communication) \
    X(data_loading)          \
    X(straggler)             \
    X(pipeline_imbalance)    \
    X(hang)                  \
    X(crashed)               \
    X(lost_records)          \
    X(double_free)           \
    X(failed_calls)          \
    X(hazards)               \
    X(leaked_memory)

/* The thresholds of the rules; all times are ns.
 *   name, value, meaning in the words of gputrace-findings(7) */
#define FINDING_THRESHOLDS(X)                                                                                    \
    X(COST_PERCENT, 2, "a finding costs at least so many percent of the run")                                    \
    X(COST_NS, 200000, "and at least so long")                                                                   \
    X(HANG_NS, 1000000000, "ranks hang that wait in an operation so long at the end")                            \
    X(MOST, 10, "so many findings are shown at most")                                                            \
    X(COPY_CALLS, 10, "copies or sets of one kind are found from so many on")                                    \
    X(COPY_NS, 10000000, "or when they take so long together")                                                   \
    X(SMALL_COPY_BYTES, 65536, "a copy is small up to this size")                                                \
    X(SMALL_COPY_RUN, 8, "so many small copies of one stream and direction that follow one another")             \
    X(SMALL_COPY_GAP_NS, 50000, "each at most so long after the one before")                                     \
    X(SERIAL_TURNS, 20, "copies and kernels take turns so often")                                                \
    X(SERIAL_OVERLAP_PERCENT, 20, "and at most so many percent of the shorter of the two overlap")               \
    X(WAITS, 20, "waits that the GPU is idle after are found from so many on")                                   \
    X(CHURN_CALLS, 10, "so many allocations, and so many releases, between kernels")                             \
    X(MIGRATIONS, 10, "managed memory migrates to the GPU, and to the host, so often at least")                  \
    X(LOADING_PERCENT, 10, "loading code costs at least so many percent of the run")                             \
    X(LOADING_LEAST_NS, 1000000, "and at least so long")                                                         \
    X(LOADING_CALLS, 10, "and takes so many calls")                                                              \
    X(LOADING_NS, 20000000, "or so long")                                                                        \
    X(GRAPHS, 10, "so many graphs instantiated between kernels")                                                 \
    X(DEFAULT_TURNS, 20, "the default stream and other streams take turns so often")                             \
    X(DEFAULT_OVERLAP_PERCENT, 5, "and at most so many percent of these turns overlap")                          \
    X(LAUNCH_GAP_NS, 200000, "launches are the cause of gaps up to this length")                                 \
    X(LAUNCHES, 50, "launches that the GPU waits for are found from so many on")                                 \
    X(LAUNCH_PERCENT, 10, "and when the GPU waits for them so many percent of the run")                          \
    X(LAUNCH_NS, 5000000, "and so long")                                                                         \
    X(SHORT_LAUNCHES, 20, "in a short run from so many on")                                                      \
    X(SHORT_LAUNCH_PERCENT, 30, "and when the GPU waits for them so many percent of the run")                    \
    X(SHORT_LAUNCH_NS, 1000000, "and so long")                                                                   \
    X(HOST_GAPS_PERCENT, 10, "the GPU waits so many percent of the run for the host outside CUDA")               \
    X(HOST_GAPS, 10, "in at least so many gaps")                                                                 \
    X(HOST_NS, 10000000, "and so long together")                                                                 \
    X(BLOCKED_PERCENT, 5, "the GPU waits so many percent of the run for a thread that is blocked")               \
    X(BLOCKED_NS, 5000000, "and so long together")                                                               \
    X(GAP_NS, 500000000, "a gap between operations is large from this length on")                                \
    X(CHUNKS, 30, "the run is divided into so many parts")                                                       \
    X(CHUNK_PERCENT, 50, "the GPU is hardly used in parts with less than so many percent")                       \
    X(LOW_USE_PERCENT, 10, "and the GPU is idle in such parts for so many percent of the run")                   \
    X(LOW_USE_NS, 200000000, "and so long")                                                                      \
    X(REPEATED_KERNELS, 16, "kernels of one name that follow one another without others between them")           \
    X(REPEATED_KERNEL_NS, 10000, "each of at most this length on average")                                       \
    X(REPEATED_GAP_NS, 20000, "a longer gap between them has other reasons")                                     \
    X(KERNEL_NS, 10000, "the shape of a kernel matters from this length on")                                     \
    X(SHAPE_NS, 2000000, "and kernels of such shapes cost so long together")                                     \
    X(GRID_PERCENT, 50, "blocks are few below so many percent of the number of multiprocessors")                 \
    X(TAIL_WAVES, 4, "the last wave matters where there are at most so many")                                    \
    X(TAIL_PERCENT, 50, "and is at most so full")                                                                \
    X(OCCUPANCY_PERCENT, 25, "occupancy is low up to this")                                                      \
    X(STEPS, 5, "steps are compared where there are so many")                                                    \
    X(STEP_NS, 500000, "and the median takes so long")                                                           \
    X(WARM_UP_PERCENT, 300, "the first steps warm up as long as each takes so many percent of the median")       \
    X(WARM_UP_NS, 50000000, "and the time until then is so much longer than as many usual steps")                \
    X(WARM_UP_RUN_PERCENT, 10, "and so many percent of the run")                                                 \
    X(SLOW_STEP_PERCENT, 150, "a step is slow from so many percent of the median on")                            \
    X(SLOW_STEPS_PERCENT, 25, "and at most so many percent of the steps after the first are slow")               \
    X(SLOW_STEPS_NS, 5000000, "and they take so much longer together")                                           \
    X(HOST_NAMED_PERCENT, 50, "what the host did is named where it takes so many percent of the time")           \
    X(EXPOSED_PERCENT, 5, "communication without computation at the same time takes so many percent of the run") \
    X(LINK_PERCENT, 150, "a link is slow if operations with it take so many percent of equal ones without it")   \
    X(LINK_OPERATIONS, 5, "of groups of ranks with at least so many")                                            \
    X(STAGE_PERCENT, 115, "a stage of a pipeline computes so many percent of the mean of all stages")            \
    X(LOADING_STEPS_PERCENT, 5, "the GPU waits for the DataLoader so many percent of the run")                   \
    X(LEAKS, 4, "so many allocations of one size and call stack in each quarter of the run are never freed")     \
    X(LEFT_PERCENT, 10, "or so many percent of the peak are left, and more was freed at the end")

enum {
#define THRESHOLD(name, value, meaning) FINDING_##name = (value),
    FINDING_THRESHOLDS(THRESHOLD)
#undef THRESHOLD
};

/* Where and when something was found. The engine adds the innermost range and operator at that place; if the thread has
 * no ranges, it takes the range of the process's main thread. */
struct finding_place {
    int64_t time;    /* ns, as in events; FIELD_ABSENT: no particular time */
    int64_t until;   /* when it ended, ns; FIELD_ABSENT: not known */
    int64_t stream;  /* index in trace.streams; FIELD_ABSENT: none */
    int64_t device;  /* index in trace.devices; FIELD_ABSENT: the device of the stream, if any */
    uint32_t thread; /* index in trace.threads; LAUNCHED_NO_THREAD: none */
    int64_t called;  /* when the thread made the call, ns; FIELD_ABSENT: at `time` */
    uint32_t name;   /* of the call or operation, by which the engine finds a stack; EVENT_NO_TEXT: none */
    int64_t stack;   /* number of a call stack of the trace; FIELD_ABSENT: the most frequent stack of `name` */
};

/* These return a place: without any fields; of OP and its launch; of THREAD from FROM until UNTIL (ns). */
struct finding_place place_none(void);
struct finding_place finding_at_op(const struct timeline_op *op);
struct finding_place finding_at_time(uint32_t thread, int64_t from, int64_t until);

struct findings;

/* Counts the occurrences of what a rule is about, and sums their costs. They are added device after device. Devices
 * work at the same time, so the total cost is that of the device with the largest sum. All zero is empty. */
struct offences {
    int64_t count;
    int64_t sum, most; /* ns: of the current device so far; the largest of earlier devices */
    uint32_t device;
    int64_t worst_ns;
    struct finding_place worst;
    struct finding_place last;
};
/* Adds an occurrence at PLACE that cost NS on the device of PLACE. Returns whether it is the most expensive so far. */
bool offences_add(struct offences *offences, const struct finding_place *place, int64_t ns);
/* Adds an occurrence at OP that cost NS. */
void offences_add_op(struct offences *offences, const struct timeline_op *op, int64_t ns);
int64_t offences_cost(const struct offences *offences);
/* Returns the place of the most expensive occurrence; if it is before the window and the last occurrence is not, the
 * place of the last one. */
const struct finding_place *offences_place(const struct findings *findings, const struct offences *offences);
/* Adds a finding with the count, the cost and the place of OFFENCES by finding_add(), and returns its result. */
struct finding *finding_of(struct findings *findings, const struct offences *offences, int64_t gain);

#define FINDING_TEXT 480
#define FINDING_NAME 96

struct rule;
struct finding {
    const struct trace *trace;
    const struct rule *rule;
    int64_t cost;   /* ns of the run that it costs; 0: it is not about time */
    int64_t gain;   /* ns by which the run becomes shorter without it, at most; 0: not known */
    int64_t count;  /* number of occurrences; FIELD_ABSENT: does not apply */
    int64_t weight; /* findings with a larger weight come first: the cost, unless the rule sets another one */
    size_t same_as; /* set by the engine: index + 1 of an earlier finding with the same idle time; 0: none */
    struct finding_place place;
    /* One sentence without a full stop, or "title: details". The engine adds the cost and the gain after the title, or
     * at the end. */
    char text[FINDING_TEXT];
    char advice[FINDING_TEXT]; /* what to do; "": the advice of the rule */
    uint32_t range, operation; /* open at the place; set by the engine if the rule does not; EVENT_NO_TEXT: none */
    unsigned early;  /* set by the engine: 0: about the window; 1: about the time before; 2: before, without gain */
    unsigned number; /* set by the engine: the finding's number in the order of finding_add() */
    uint32_t walked; /* set by the engine: the thread whose ranges are searched */
};

/* The warm-up: the time until the steps of a program are as fast as usual. */
struct warm_up {
    int64_t time;                        /* ns by which it is longer than as many usual steps; 0: there is no warm-up */
    int64_t until;                       /* when it ends, ns */
    int64_t usual;                       /* the median of the ns from the beginning of a step to the next */
    size_t steps;                        /* the number of steps in it */
    const struct steps_process *process; /* whose steps these are; NULL: there is no warm-up */
};

struct idle;

struct findings {
    const struct trace *trace;
    const struct rule *rule; /* whose find() is running */
    int64_t run;             /* ns from the first launch or GPU operation to the end of the last */
    int64_t from, to;        /* of the run */
    struct warm_up warm_up;  /* at the beginning of the run */
    /* The time that costs are about: the usual steps if they take most of the run, else the run after the warm-up. */
    struct findings_window {
        int64_t from, to;
        int64_t steps; /* the number of steps in the window; 0: costs are not shown per step */
    } window;
    const struct idle *idle; /* idle time by cause, in the window; NULL: the trace has no GPU */
    int64_t steady;          /* ns of the run without the warm-up, which thresholds in percent refer to */
    int64_t waits;           /* ns of the run that the host waited for a GPU in calls and after its last call */
    int64_t idled;           /* ns of the run that the least busy GPU was idle */
    ARRAY(struct finding) items;
    struct dense_map stacks; /* struct named_stack -> stack_counts */
    ARRAY(struct stack_count) stack_counts;
    bool no_memory;
};

struct named_stack { /* must be laid out as struct python_call */
    uint64_t name;
    int64_t stack;
};

/* Counts the calls or operations of one name that have one call stack. */
struct stack_count {
    int64_t count;
    int64_t last; /* when the last one began, ns; INT64_MAX: not known */
};

struct rule {
    const char *id;      /* for scripts, so it never changes: lower case, '-' for blanks */
    const char *advice;  /* what to do, one or two sentences; NULL: find() writes it */
    const char *section; /* what to pass to `gputrace report -r` for details: a section and options; NULL: nothing */
    /* Bits of enum trace_bits. The rule is blind if --trace left out all bits of an element that is not 0. */
    uint64_t sources[2];
    bool of_gpu;                 /* its advice shortens GPU work: it gains at most the host's waits for GPUs */
    bool of_host;                /* its advice makes the host faster: it gains at most a GPU's idle time */
    const struct rule *part_of;  /* its cost is part of the cost of this rule's finding; NULL: not known */
    bool of_idle;                /* its cost is idle time of findings.idle, per step if there are steps */
    bool without_cost;           /* it is not about time: its findings are shown whatever they cost */
    unsigned urgent;             /* its findings come before those of rules with a smaller number */
    const struct rule *state_of; /* its find() is called with the state of this rule; NULL: with its own */
    size_t state_size;           /* bytes of its state, which starts as zeros */
    unsigned categories;         /* CATEGORY_BIT() of the events that event() reads, as in struct section */
    unsigned calls;              /* CALL_KIND_BIT() of the calls that call() reads */
    /* The hooks return 0, or -1: no memory; a hook may be NULL. event() is called in the file's order, while other
     * threads add to the trace: see struct section. */
    int (*event)(void *state, const struct trace *trace, const struct event_fields *event);
    /* Called after the last event: for outermost calls by thread and start, then operations by device and start. */
    int (*call)(void *state, const struct trace *trace, const struct host_call *call);
    int (*op)(void *state, const struct trace *trace, const struct timeline_op *op);
    /* Called last: adds the findings. It may use section_state() of the sections that section_findings needs. */
    int (*find)(void *state, struct findings *findings);
    /* May be NULL. finding_array_release() is for states that begin with an ARRAY() and own nothing else. */
    void (*release)(void *state);
};

#define RULE(name) extern const struct rule rule_##name;
FINDING_RULES(RULE)
#undef RULE

enum {
#define RULE(name) FINDING_RULE_##name,
    FINDING_RULES(RULE)
#undef RULE
        FINDING_RULE_COUNT
};
extern const struct rule *const finding_rules[FINDING_RULE_COUNT]; /* in their order */

/* Whether TIME is in the warm-up; false for FIELD_ABSENT. */
static inline bool findings_in_warm_up(const struct findings *findings, int64_t time)
{
    return findings->warm_up.process && time != FIELD_ABSENT && time < findings->warm_up.until;
}

/* Adds a finding of the running rule. Returns NULL if it costs too little to be shown, or without memory, which
 * findings.no_memory records. COST, GAIN and COUNT are as in struct finding; COST is cut to the run, and GAIN to COST.
 * PLACE may be NULL. */
struct finding *finding_add(struct findings *findings, int64_t cost, int64_t gain, int64_t count,
                            const struct finding_place *place);
/* Limits the gains of findings about the host, in their order: together they gain at most the idle time of a GPU, and a
 * finding about idle time that earlier findings claim gains only the rest. */
void findings_share_idle(struct findings *findings);
/* finding_format() sets the sentence, finding_advise() the advice of FINDING, which may be NULL. Both return 0. */
int finding_format(struct finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
int finding_advise(struct finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A value formatted for a sentence: amount_time(1240000000).text is "1.24 s". */
struct amount {
    char text[32];
};
struct amount amount_time(int64_t ns);
struct amount amount_mean(int64_t ns, int64_t count); /* the average; 0 if COUNT is 0 */
struct amount amount_bytes(int64_t bytes);
struct amount amount_size(int64_t bytes);                /* "unknown size" if it is 0 */
struct amount amount_count(int64_t count);               /* "12,345" */
struct amount amount_share(int64_t part, int64_t whole); /* "62 %" */
/* Returns ONE if COUNT is 1, else SEVERAL: a word or its ending. */
static inline const char *amount_word(int64_t count, const char *one, const char *several)
{
    return count == 1 ? one : several;
}

void finding_array_release(void *state);

/* A name of trace.strings, shortened for a sentence. */
struct finding_name {
    char text[FINDING_NAME];
};
struct finding_name finding_name(const struct trace *trace, uint32_t name);
struct finding_name finding_name_of(const char *text);

/* Returns the rule whose id are the LENGTH bytes of ID, or NULL. */
const struct rule *finding_rule(const char *id, size_t length);
/* Writes the words of --fail-on, "any, a, b", to the SIZE bytes of TEXT. */
void finding_rule_words(char *text, size_t size);

/* Formats two times, with one unit if both have the same: "8.30 of 18.1 ms". */
struct amount amount_part(int64_t part, int64_t whole);

/* Returns the call stack that most calls or operations called NAME have; stacks that occur in the window are preferred.
 * FINDINGS is the state of section_findings after its gather(). Returns FIELD_ABSENT if there is no stack. */
int64_t findings_stack(const struct findings *findings, uint32_t name);

/* Whether a rule of IDS (separated by commas; "any" is any rule) has a finding. FINDINGS is the state of
 * section_findings after its finish(). */
bool findings_include(const struct findings *findings, const char *ids);

#endif
