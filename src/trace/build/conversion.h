/*
 * What is known while spools become a trace. Three walks over each spool:
 *
 *   survey   own records first (when recording was on, names, threads, NVTX, allocations), then CUPTI's: which call
 *            started which work, which rows there are and whether they need lanes, the first and last time. Everything
 *            in flight or without times is counted here.
 *   match    CUPTI's again, now that all calls are known: arrows that will lack an end, works before their launch, NVTX
 *            ranges on the GPU, lanes. Then rows and arrows get their numbers.
 *   emit     writes each event and forgets it.
 *
 * Where graphs have conditional nodes, CUPTI's records are walked once more, before all: from then on work in the
 * bodies of such nodes has the correlation id of its launch.
 *
 * CUPTI's records, which are most of them, are looked at by several threads in each of the three (sift.h, emission.c).
 *
 * So the metadata can stand first in the file with all counts, and only small indexes grow with what is read. Those
 * that grow with every trace lie beside the spool, not in memory, once they are large (common/spill.h,
 * common/big_array.h): 32 bytes for a correlation id, a slice of a row that needs lanes, a record of a CUDA event, a
 * plugin's slice and a sample of an NVTX counter, 52 for an NVTX range (84 when it was started, not pushed), 36 for a
 * range on the GPU, 72 for a call that allocates or releases, 48 for a deferred NVTX event, 16 for a window of a
 * plugin; and so do those that only some programs have: 272 for a device range, of which 160 until the first walk is
 * done, 80 for a phase's start or end and what the JIT compiler did, 40 for a step of a memory pool and a node of a
 * graph, 24 for a piece of an NVTX payload, 16 for a named CUDA event's record and a mark of recording, 48 for a launch
 * of a graph with conditional nodes, 12 for a graph's launch whose works are in several parts of the spool. In memory
 * is what there is at once: 48 bytes and more for an allocation that lives, and for an NVTX range that is open or ended
 * before its start was read; what was released, allocations and regions of NVTX's heaps, no more than there is a bound
 * for (trace/build/memory.h, nvtx_heaps.h). And names, threads, streams, functions, call stacks, each of which was
 * recorded once, and allocations that failed.
 */
#ifndef GPUTRACE_TRACE_BUILD_CONVERSION_H
#define GPUTRACE_TRACE_BUILD_CONVERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/sink.h"
#include "common/spill.h"
#include "trace/build/passes.h"
#include "trace/spool/api_names.h"
#include "trace/build/clock_axis.h"
#include "trace/build/compilation.h"
#include "trace/build/conditional_launches.h"
#include "trace/build/cuda_events.h"
#include "trace/build/device_ranges.h"
#include "trace/spool/event_record.h"
#include "trace/build/graph_nodes.h"
#include "trace/build/launches.h"
#include "trace/build/memory.h"
#include "trace/names.h"
#include "trace/build/nvtx.h"
#include "trace/build/nvtx_extension_model.h"
#include "trace/build/plugin_windows.h"
#include "trace/build/plugins.h"
#include "trace/build/pools.h"
#include "trace/build/projections.h"
#include "trace/build/stacks.h"
#include "trace/tracks.h"
#include "trace/build/windows.h"
#include "trace/spool/spool_directory.h"
#include "trace/spool/spool_file.h"
#include "trace/sink.h"

/* Something that was given a name; the text lies in the spool. */
struct given_name {
    uint64_t object; /* thread id, stream id, device number */
    uint32_t kind;   /* enum spool_nvtx_object, or 0 for a thread */
    bool by_program;
    const char *text;
    uint32_t length;
};

struct json_out;
struct noting;

/* Beside what the pointers of kernels' records mean. */
struct kernel_names {
    struct pointer_names told;      /* by pointers: what launches and nodes told and nobody read */
    struct pointer_names functions; /* by their handles */
    struct graph_nodes nodes;       /* what they launch; not of a process that ended in order */
    struct map of_launch;           /* correlation -> name + 1; KERNEL_NAMES_SEVERAL: of no one kernel */
    struct map unknown;             /* pointer -> how many records have it; its meaning was not known yet */
};

struct process_gpu {
    uint32_t device, pid;
};

/* One spool file: one process, or one image of it. */
struct process {
    struct spool_file file;
    uint32_t part; /* number of the one that is taken (sift.h) */
    uint16_t record_bytes[SPOOL_CUPTI_KINDS];
    uint32_t index;                 /* among the processes of the trace */
    uint32_t pid;                   /* of its rows: the system's, unless another process had it before */
    uint64_t first_time, last_time; /* 0: nothing was seen */
    struct clock_axis clocks;
    bool cuda, nvtx_seen;
    bool nvtx_wanted; /* NVTX of a domain that is recorded was seen */
    bool own_waits;   /* the library recorded synchronisation: what CUPTI has of it is left out */
    struct convert_losses losses;

    struct windows windows;
    struct plugin_windows plugin_windows;
    struct pointer_names symbols;
    struct kernel_names kernel_names;
    struct launches launches;
    struct conditional_launches conditional;
    struct tracks tracks;
    struct tracks waits; /* as their records tell of where they were, until all contexts are known */
    struct nvtx nvtx;
    struct nvtx_extensions extensions;
    struct projections projections;
    struct memory memory;
    struct pools pools;
    struct cuda_events cuda_events;
    struct device_ranges device_ranges;
    struct compilation compilation;
    struct plugins plugins;
    struct stacks stacks;
    uint32_t stack_offset;            /* what the trace adds to their numbers */
    uint64_t async_before;            /* ids of asynchronous ranges that other processes may have */
    struct mapping_text mapping_text; /* for the namer, once it is needed; its text is in mapping_lines */
    struct sink mapping_lines;
    ARRAY(struct device) devices;
    struct map device_of_context; /* context -> device + 1 */
    struct map stream_of_handle;  /* CUstream -> stream id + 1 */
    struct map context_of_handle; /* CUcontext -> context id */
    ARRAY(struct given_name) names;
    struct map name_of_thread; /* -> index + 1 in names */
    struct map name_of_stream;
    struct map name_of_device;
    struct map name_of_context;
    ARRAY(struct process_gpu) gpus;
    ARRAY(struct event) last_words; /* EVENT_DEATH, EVENT_OPEN_CALL */
};

/* Where a process lies: conversion.memory has blocks of this size. */
#define PROCESS_BLOCK ((size_t)16384)
_Static_assert(sizeof(struct process) <= PROCESS_BLOCK, "a process has room in its block");

struct session_note {
    void *json;               /* cJSON, NULL: there is no session.json */
    int64_t rank, world_size; /* -1: not known */
};

/* missed.c */
struct missed {
    struct interner ranges, domains; /* that were there */
    bool started_outside;            /* the program started what was waited for, outside of the time window */
    bool all;                        /* nothing was recorded */
    struct sink text;                /* once found; NUL-terminated, "": all that was waited for came */
};

struct conversion {
    const struct convert_options *options;
    ARRAY(struct process *) processes;
    struct spill memory; /* of the processes themselves */
    struct map images;   /* hash of pid and start -> index of the latest image of that process */
    struct session_note session;
    struct missed missed;
    struct names names;
    struct rows rows;
    struct writer writer;
    struct convert_losses losses; /* of all processes */
    struct convert_plugins plugins;
    struct {
        struct sink frames, stacks; /* JSON arrays, once gathered */
    } stacks;
    uint64_t base;            /* ns */
    uint64_t events, kernels; /* written */
    struct noting *noting;    /* while notes are written: metadata.c */
};

/* kernel_names.c: the survey's. All give 0, or -1 after error(); the last gives the number of a name, NAMES_NO_MEMORY:
 * it is not known. */
int see_pointer_name(struct conversion *conversion, struct process *process, const struct event *event);
int see_launch_name(struct conversion *conversion, struct process *process, const struct event *event);
int see_function_name(struct conversion *conversion, struct process *process, const struct event *event);
int see_graph_node(struct process *process, const struct event *event);
int see_kernel_name(struct process *process, const struct event *event);
/* Whether somebody read the name, and its launch told none: then a kernel need not be seen. Any number of threads may
 * ask meanwhile. */
bool kernel_name_is_settled(const struct process *process, const struct event *event);
/* Once all but kernels were seen. Gives 0, or -1 after error(). */
int order_kernel_names(struct process *process);
/* Once all records were seen: counts those without a name. */
void close_kernel_names(struct process *process);
void release_kernel_names(struct process *process);
uint32_t kernel_name_number(const struct process *process, const struct event *event);

/* convert.c: the latest of the images that this process has had, up to now; NULL: none is known. */
const struct process *conversion_latest_image(const struct conversion *conversion, const struct process *process);

/* So many things were done, of so many processes, say: what is known of these need not stay in memory, now and then. */
void conversion_rest(const struct conversion *conversion, size_t passed);
/* Process number I, for who goes over all of them. */
static inline struct process *conversion_process(const struct conversion *conversion, size_t i)
{
    conversion_rest(conversion, i);
    return conversion->processes.items[i];
}

/* process.c */

/* Number NUMBER of SPOOLS; DIRECTORY is for indexes that memory cannot hold. Gives 0, 1 when the file is left out, or
 * -1 after error(). */
int process_open(struct process *process, const struct spool_directory *spools, size_t number, const char *directory);
void process_close(struct process *process);
/* Whether two spools are of images of one process; another process may have had the number before, or have it in
 * another namespace of pids. */
bool is_same_process(const struct spool_header *a, const struct spool_header *b);
/* What indexes and spool hold need not stay in memory for now. Walks over parts say so after so many bytes of them. */
#define PROCESS_REST_BYTES ((uint64_t)16 << 20)
void process_rest(const struct process *process);
/* PART is done; *WALKED, which starts as 0, is what was walked over since that was said last. */
void process_walked(const struct process *process, const struct spool_part *part, uint64_t *walked);

/* clocks.c: puts the times of all processes on one axis, once all are open. Gives 0, or -1 after error(). */
int find_clocks(struct conversion *conversion);

/* shows.c: whether the trace shows what CUPTI recorded here: it started, or was launched, while recording was on, and
 * is not of a plugin. The calls of the process must be known. */
bool process_shows(struct process *process, const struct event *event);
/* The same of an EVENT_SYNC that the library recorded. */
bool process_shows_own_wait(const struct process *process, const struct event *event);
/* Learns when recording was on, when plugins were at work, and, where this matters, all calls. Gives 0, or -1 after
 * error(). */
int find_windows(struct conversion *conversion, struct process *process);

/* Whether any of BITS (enum trace_bits) was asked for, as far as is known. */
bool process_was_to_record(const struct process *process, uint64_t bits);

/* Whether TIME can belong to this process; 0 cannot. */
bool process_knows_time(const struct process *process, uint64_t time);
/* Whether this is a slice in time. */
bool process_knows_span(const struct process *process, const struct event *event);

/* The pid of a device's rows. Gives 0, or -1 after error(). */
int process_gpu_pid(struct conversion *conversion, struct process *process, uint32_t device, uint32_t *pid);

/* The track of GPU work on a stream, or of a thread, of compilation, of a plugin; made when new. NULL after error(). */
struct track *process_stream(struct conversion *conversion, struct process *process, enum track_kind kind,
                             uint32_t device, uint32_t context, uint32_t stream);
struct track *process_thread(struct process *process, enum track_kind kind, uint32_t number);

/* The device of an event: DEVICE, or when that is EVENT_NO_DEVICE, its context's. */
uint32_t process_device(const struct process *process, uint32_t device, uint32_t context);
/* NULL: not known. */
const struct device *process_device_info(const struct process *process, uint32_t device);
const struct given_name *process_name(const struct process *process, const struct map *names, uint64_t object);

/* The id that the trace shows for a correlation id: those of several processes do not mix. 0: none. */
uint32_t process_correlation(const struct process *process, uint32_t correlation);

/* Widens the time that the process is known to have lived. */
void see_time(struct process *process, uint64_t start, uint64_t end);

/* survey.c (and survey.h), match.c: give 0, or -1 after error(). */
int survey_process(struct conversion *conversion, struct process *process);
int match_process(struct conversion *conversion, struct process *process);

/* compilation.c: likewise. */
int see_phase(struct process *process, const struct event *event);
int match_compilation(struct process *process);

/* plugins.c: likewise. */
int see_plugin_event(struct process *process, const struct event *event);
int match_plugins(struct process *process);
/* To be freed; NULL after error(). */
char *plugin_name(const struct process *process, uint32_t number);

/* device_ranges.c. An EVENT_DEVICE_RANGE, and CUPTI's record of a CUDA event; then, once all were seen, their times. */
int see_device_range(struct process *process, const struct event *event);
void see_device_moment(struct process *process, const struct event *event);
void see_device_times(struct process *process);
/* Their rows, before GPU work is matched with them. Gives 0, or -1 after error(). */
int match_device_ranges(struct conversion *conversion, struct process *process);
void match_device_work(struct process *process, const struct event *event);

/* plugin_lines.c: fills conversion.plugins. Gives 0, or -1 after error(). */
int gather_plugins(struct conversion *conversion);

/* stacks.c */

/* The frames of a process's stack, with names where there is a namer; to be freed. None when it is not known. Gives 0,
 * or -1 after error(). */
int stack_frames(struct conversion *conversion, struct process *process, uint32_t number, struct stack_frame **frames,
                 size_t *count);
/* Names the stacks that events refer to, and makes them ready for the metadata. Gives 0, or -1 after error(). */
int gather_stacks(struct conversion *conversion);
/* Within an object: "frames" is an array of them, "stacks" one whose elements refer to it. */
void put_stacks(const struct conversion *conversion, struct json_out *json);
/* The number that the trace has for a stack. */
static inline uint32_t stack_in_trace(const struct process *process, uint32_t number)
{
    return process->stack_offset + number;
}

/* deaths.c: survey; then within an object, what is known of a process that did not end by exit. */
int see_last_word(struct process *process, const struct event *event);
void put_last_words(const struct conversion *conversion, const struct process *process, struct json_out *json);
/* How it ended, if it did. */
const char *process_state(const struct conversion *conversion, const struct process *process);

/* session_note.c */
void session_note_read(struct session_note *session, const char *directory);
void session_note_release(struct session_note *session);
/* The option of this name; NULL, or 0, when it is not known. */
const char *session_note_text(const struct session_note *session, const char *option);
uint64_t session_note_number(const struct session_note *session, const char *option);
/* Its keys, within an object. */
void session_note_put(const struct session_note *session, struct json_out *json);

/* missed.c: an EVENT_SEEN; then, once all is known, what the user waited for in vain. Give 0, or -1 after error(). */
int see_seen(struct conversion *conversion, const struct event *event);
int find_missed(struct conversion *conversion);
/* Its key and text, within an object, if there is any. */
void put_missed(const struct conversion *conversion, struct json_out *json);
void release_missed(struct missed *missed);

/* metadata_frames.c: an object. */
void put_frame(const struct stack_frame *frame, struct json_out *json);

/* metadata_nvtx.c: its key and array, within an object, when there are any. */
void put_nvtx_resources(const struct conversion *conversion, struct json_out *json);

/* metadata_pools.c: the same, of a process. */
void put_pools(const struct pools *pools, struct json_out *json);

/* metadata_plugins.c: an array. */
void put_plugins(const struct convert_plugins *plugins, struct json_out *json);

/* metadata.c: everything before the events. Gives 0, or -1 after error(). */
int write_metadata(struct conversion *conversion);

#endif
