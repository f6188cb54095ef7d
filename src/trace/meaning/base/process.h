/*
 * What the passes know: of one process, of all of them, and of the run (session.json). Each topic declares what it keeps
 * of a process in its own header; the driver (passes.c) has these side by side. Who writes events in the third pass is
 * below: what is known changes no more by then, but for what one function alone uses, so that several threads write.
 */
#ifndef GPUTRACE_TRACE_MEANING_BASE_PROCESS_H
#define GPUTRACE_TRACE_MEANING_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "trace/meaning/base/conversion.h"
#include "trace/sink.h"
#include "trace/spool/event_record.h"
#include "trace/spool/spool_file.h"

struct json_out;
struct piece_writer;

/*
 * What each topic keeps of a process: a struct of its header, and the process's field that points to it. Where that has
 * more than the lists of passes.c say, the topic has functions: init() is given the directory for what memory cannot
 * hold (NULL: there is none), evict() gives pages of it back, and release() frees all.
 *      struct                field              init, evict, release */
#define PROCESS_TOPICS(X)                                                                                          \
    X(clock_axis, clocks, no_init, no_evict, no_release)                                                           \
    X(capture_intervals, capture_intervals, no_init, no_evict, no_release)                                         \
    X(plugin_intervals, plugin_intervals, plugin_intervals_init, plugin_intervals_evict, plugin_intervals_release) \
    X(kernel_names, kernel_names, no_init, no_evict, kernel_names_release)                                         \
    X(captures, captures, no_init, no_evict, no_release)                                                           \
    X(graph_streams, graph_streams, no_init, no_evict, graph_streams_release)                                      \
    X(launches, launches, launches_init, launches_evict, launches_release)                                         \
    X(conditional_launches, conditional, conditional_launches_init, no_evict, no_release)                          \
    X(nvtx, nvtx, nvtx_init, nvtx_evict, nvtx_release)                                                             \
    X(operators, operators, no_init, no_evict, no_release)                                                         \
    X(communication, collectives, no_init, no_evict, no_release)                                                   \
    X(memory, memory, no_init, no_evict, memory_release)                                                           \
    X(pools, pools, no_init, no_evict, no_release)                                                                 \
    X(cuda_events, cuda_events, no_init, no_evict, no_release)                                                     \
    X(device_ranges, device_ranges, no_init, no_evict, no_release)                                                 \
    X(compilation, compilation, no_init, no_evict, no_release)                                                     \
    X(plugins, plugins, no_init, no_evict, no_release)                                                             \
    X(stacks, stacks, no_init, no_evict, no_release)                                                               \
    X(cpu_stacks, cpu_stacks, no_init, no_evict, no_release)                                                       \
    X(cpu_scope, cpu_scope, no_init, no_evict, no_release)
#define TOPIC(type, ...) struct type;
PROCESS_TOPICS(TOPIC)
#undef TOPIC

/* Something that was given a name; the text lies in the spool. */
struct given_name {
    uint64_t time; /* when it was given */
    bool by_program;
    const char *text;
    uint32_t length;
};

struct process_gpu {
    uint32_t device, pid;
};

/* One spool file: one process, or one image of it. */
struct process {
    struct conversion *conversion;
    struct spool_file file;
    void (*rest)(const struct process *process); /* the driver's: process_evict() */
    uint32_t part;                               /* number of the one that is taken (parallel_scan.h) */
    uint16_t record_bytes[SPOOL_CUPTI_KINDS];
    uint32_t index;                 /* among the processes of the trace */
    uint32_t pid;                   /* of its rows: the system's, unless another process had it before */
    uint64_t first_time, last_time; /* 0: nothing was seen */
    bool cuda, nvtx_seen;
    bool nvtx_wanted; /* NVTX of a domain that is recorded was seen */
    bool agent_waits; /* the library recorded synchronisation: what CUPTI has of it is left out */
    struct convert_losses losses;

#define TOPIC(type, field, ...) struct type *field;
    PROCESS_TOPICS(TOPIC)
#undef TOPIC
    struct pointer_names symbols;
    struct tracks tracks;
    struct tracks waits;              /* as their records tell of where they were, until all contexts are known */
    uint64_t async_before;            /* ids of asynchronous ranges that other processes may have */
    struct mapping_text mapping_text; /* for the namer, once it is needed; its text is in mapping_lines */
    struct buffer mapping_lines;
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
    ARRAY(struct event) crash_records; /* EVENT_CRASH, EVENT_OPEN_CALL */
};

struct conversion {
    const struct convert_options *options;
    ARRAY(struct process *) processes;
    size_t by_launcher;  /* of them, with what the launcher knows of processes: cpu.h */
    struct spill memory; /* of the processes themselves */
    struct map images;   /* hash of pid and start -> index of the latest image of that process */
    struct session_note *session;
    struct missed *missed;
    struct cpu_scopes *cpu_scopes;
    struct names names;
    struct rows rows;
    struct sink sink;
    struct convert_losses losses; /* of all processes */
    struct convert_plugins plugins;
    struct {
        struct buffer frames;   /* the JSON object "stackFrames", once gathered */
        struct interner places; /* lines of the program that stacks are known by */
        bool any;
    } stacks;
    uint64_t base;            /* ns */
    uint32_t arg_lists;       /* that have numbers: struct arg_list */
    uint64_t events, kernels; /* written */
    struct noting *noting;    /* while notes are written: metadata.c */
};

/* Of conversion.images. */
uint64_t process_image_key(const struct process *process);
/* The latest of the images that this process has had, up to now; NULL: none is known. */
const struct process *conversion_latest_image(const struct conversion *conversion, const struct process *process);
/* So many things were done, of so many processes, say: what is known of these need not stay in memory, now and then. */
void conversion_evict(const struct conversion *conversion, size_t passed);
/* Process number I, for who goes over all of them. */
static inline struct process *conversion_process(const struct conversion *conversion, size_t i)
{
    conversion_evict(conversion, i);
    return conversion->processes.items[i];
}

/* Whether two spools are of images of one process; another process may have had the number before, or have it in
 * another namespace of pids. */
bool is_same_process(const struct spool_header *a, const struct spool_header *b);
/* What indexes and spool hold need not stay in memory for now. Walks over parts say so after so many bytes of them. */
#define PROCESS_EVICT_BYTES ((uint64_t)16 << 20)
#define PROCESS_EVICT_ITEMS ((size_t)1 << 16)
static inline void process_evict(const struct process *process)
{
    process->rest(process);
}
/* Of a walk over many items: item number I is done. */
static inline void process_passed(const struct process *process, size_t i)
{
    if (i % PROCESS_EVICT_ITEMS == PROCESS_EVICT_ITEMS - 1)
        process_evict(process);
}
/* PART is done; *WALKED, which starts as 0, is what was walked over since that was said last. */
void process_walked(const struct process *process, const struct spool_part *part, uint64_t *walked);

/* Whether any of BITS (enum trace_bits) was asked for, as far as is known. */
bool process_was_to_record(const struct process *process, uint64_t bits);
/* Whether TIME can belong to this process; 0 cannot. */
bool process_knows_time(const struct process *process, uint64_t time);
/* Whether this is a slice in time. */
bool process_knows_span(const struct process *process, const struct event *event);
/* The pid of a device's rows. Returns 0, or -1 after error(). */
int process_gpu_pid(struct process *process, uint32_t device, uint32_t *pid);
/* The track of GPU work on a stream, or of a thread, of compilation, of a plugin; made when new. NULL after error(). */
struct track *process_stream(struct process *process, enum track_kind kind, uint32_t device, uint32_t context,
                             uint32_t stream);
struct track *process_thread(struct process *process, enum track_kind kind, uint32_t number);
/* The device of an event: DEVICE, or when that is EVENT_NO_DEVICE, its context's. */
uint32_t process_device(const struct process *process, uint32_t device, uint32_t context);
/* NULL: not known. */
const struct device *process_device_info(const struct process *process, uint32_t device);
const struct given_name *process_name(const struct process *process, const struct map *names, uint64_t object);
/* Whether the thread is one of PyTorch's for the backward pass, by its name. It works for the one that called
 * backward() and waits. */
bool process_is_of_autograd(const struct process *process, uint32_t thread);
/* Widens the time that the process is known to have lived. */
void widen_process_time(struct process *process, uint64_t start, uint64_t end);
/* The index pass meets an event: widens the time, or counts an event whose times cannot be and returns false. */
bool process_index_span(struct process *process, const struct event *event);

/* The event gives OBJECT a name. Returns 0, or -1 after error(). */
int put_given_name(struct process *process, struct map *map, uint64_t object, const struct event *event,
                   bool by_program);

/*
 * The functions that the passes call with an event: those that the rows of trace/spool/event_record.h name. Each is in the
 * file of its topic. They return 0, or -1 after error().
 */

#define FUNCTIONS(index, resolve, write)                             \
    int index(struct process *process, const struct event *event);   \
    int resolve(struct process *process, const struct event *event); \
    int write(struct piece_writer *out, struct process *process, const struct event *event);
#define CUPTI_ROW(kind, event, decode, type, last, index, resolve, write, cause) FUNCTIONS(index, resolve, write)
#define AGENT_ROW(record, event, decode, index, resolve, write) FUNCTIONS(index, resolve, write)
#define ALSO(...)
CUPTI_RECORDS(CUPTI_ROW, ALSO)
AGENT_RECORDS(AGENT_ROW, ALSO)
#undef ALSO
#undef AGENT_ROW
#undef CUPTI_ROW
#undef FUNCTIONS

/* --- what session.json says of the run --- */

struct session_note {
    void *json;               /* cJSON, NULL: there is no session.json */
    int64_t rank, world_size; /* -1: not known, or the program starts several */
    const char *host;         /* NULL: not known */
};

void session_note_read(struct session_note *session, const char *directory);
void session_note_release(struct session_note *session);
/* The option of this name; NULL, or 0, when it is not known. */
const char *session_note_text(const struct session_note *session, const char *option);
uint64_t session_note_number(const struct session_note *session, const char *option);
/* Its keys, within an object. */
void session_note_put(const struct session_note *session, struct json_out *json);

/* Where one thread's last searches ended, in some of the tracks: the next begin there. Starts as zeros. */
struct nvtx_places {
    struct nvtx_place {
        uint32_t track; /* index + 1 */
        uint32_t open;  /* the last that was found: index + 1 of the innermost range that had not ended … */
        size_t started; /* … of so many that had started … */
        uint64_t ended; /* … and when the last of those within it had ended; 0: there were none */
    } of_track[16];
};

/* One thread's: its sink, and what it remembers while it is at a piece. */
struct piece_writer {
    struct conversion *conversion;
    struct sink sink;
    struct spool_scratch scratch;
    struct tracks_recent tracks;
    struct nvtx_places operators; /* around the calls that are written */
    uint32_t part;                /* of CUPTI's records: its index in the spool */
    struct map gpu_ops;           /* of this part, by correlation: how many GPU operations were met + 1 */
    uint64_t kernels;             /* written in this piece */
    size_t passed;                /* since pages were given back: things … */
    uint64_t rested;              /* … and bytes that were written until then */
};

/* Text that is written, and events, before the pages of what was read for them are given back. */
#define PIECE_WRITER_EVICT_BYTES ((uint64_t)32 << 20)
#define PIECE_WRITER_EVICT_EVENTS ((size_t)1 << 16)
/* For who writes all there are: that much is written of it, and what was read for that need not stay in memory. */
static inline void piece_writer_passed(struct piece_writer *out, const struct process *process)
{
    uint64_t written = out->sink.buffer->total;
    if (++out->passed < PIECE_WRITER_EVICT_EVENTS && written - out->rested < PIECE_WRITER_EVICT_BYTES)
        return;
    process_evict(process);
    out->passed = 0;
    out->rested = written;
}

/* Writes a slice from START to END. */
static inline void piece_writer_slice(struct piece_writer *out, enum category category, struct name name,
                                      struct row row, uint64_t start, uint64_t end, const struct args *args)
{
    const struct slice slice = {
        .category = category, .name = name, .row = row, .start = start, .end = end, .args = args};
    out->sink.format->slice(&out->sink, &slice);
}

/* Writes an instant, on the first row of TRACK. */
static inline void piece_writer_instant(struct piece_writer *out, enum category category, struct name name,
                                        const struct track *track, uint64_t time, const struct args *args)
{
    const struct slice instant = {
        .category = category, .name = name, .row = {track->pid, track->tids[0]}, .start = time, .args = args};
    out->sink.format->instant(&out->sink, &instant);
}

static inline struct track *piece_writer_track(struct piece_writer *out, struct process *process, enum track_kind kind,
                                               uint32_t device, uint32_t context, uint32_t number)
{
    return tracks_look(&process->tracks, &out->tracks, kind, device, context, number);
}

#endif
