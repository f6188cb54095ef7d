/*
 * What is known while spools become a trace. Three walks over each spool:
 *
 *   survey   own records first (when recording was on, names, threads, NVTX, allocations), then CUPTI's: which call
 * started which work, which rows there are and whether they need lanes, the first and last time. Everything in flight
 * or without times is counted here. match    CUPTI's again, now that all calls are known: arrows that will lack an end,
 * works before their launch, NVTX ranges on the GPU, lanes. Then rows and arrows get their numbers. emit     writes
 * each event and forgets it.
 *
 * So the metadata can stand first in the file with all counts, and memory grows only with small indexes: 32 bytes for a
 * correlation id, 40 for an NVTX range, 32 for an allocation, 24 for a slice of a row that needs lanes.
 */
#ifndef GPUTRACE_TOOL_CONVERT_CONVERSION_H
#define GPUTRACE_TOOL_CONVERT_CONVERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "tool/convert/convert.h"
#include "tool/decode/api_names.h"
#include "tool/model/cuda_events.h"
#include "tool/model/event.h"
#include "tool/model/launches.h"
#include "tool/model/memory.h"
#include "tool/model/names.h"
#include "tool/model/nvtx.h"
#include "tool/model/projections.h"
#include "tool/model/tracks.h"
#include "tool/model/windows.h"
#include "tool/spool/spool_file.h"
#include "tool/write/writer.h"

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

struct process_gpu {
    uint32_t device, pid;
};

/* One spool file: one process, or one image of it. */
struct process {
    struct spool_file file;
    uint16_t record_bytes[SPOOL_CUPTI_KINDS];
    uint32_t index; /* among the processes of the trace */
    uint32_t pid;
    uint64_t first_time, last_time; /* 0: nothing was seen */
    bool cuda, nvtx_seen;
    struct convert_losses losses;

    struct windows windows;
    struct pointer_names symbols;
    struct launches launches;
    struct tracks tracks;
    struct nvtx nvtx;
    struct projections projections;
    struct memory memory;
    struct cuda_events cuda_events;
    ARRAY(struct device) devices;
    struct map device_of_context; /* context -> device + 1 */
    uint32_t recent_context;      /* of GPU work, when context_seen */
    bool context_seen;
    struct map stream_of_handle; /* CUstream -> stream id + 1 */
    ARRAY(struct given_name) names;
    struct map name_of_thread; /* -> index + 1 in names */
    struct map name_of_stream;
    struct map name_of_device;
    ARRAY(struct process_gpu) gpus;
};

/* Numbers + 1 of names that need not be put together again. */
struct name_caches {
    uint32_t api[2][API_CBID_LIMIT];
    uint32_t copy[16][8][8];
    uint32_t set[8];
};

struct session_note {
    void *json;               /* cJSON, NULL: there is no session.json */
    int64_t rank, world_size; /* -1: not known */
};

struct conversion {
    const struct convert_options *options;
    ARRAY(struct process *) processes;
    struct session_note session;
    struct names names;
    struct rows rows;
    struct name_caches caches;
    struct writer writer;
    struct convert_losses losses; /* of all processes */
    uint64_t base;                /* ns */
    uint64_t kernels;
    uint64_t next_async;   /* id of the next asynchronous range */
    struct noting *noting; /* while notes are written: metadata.c */
};

/* process.c */

/* Gives 0, 1 when the file is left out, or -1 after error(). */
int process_open(struct process *process, const char *path);
void process_close(struct process *process);

typedef int (*event_function)(struct conversion *conversion, struct process *process, const struct event *event);

/* Call SEE for each event until one gives non-zero, and give that. UNDECODED (or NULL) counts what cannot be read. */
int process_walk_own(struct conversion *conversion, struct process *process, event_function see, uint64_t *undecoded);
int process_walk_cupti(struct conversion *conversion, struct process *process, event_function see, uint64_t *undecoded);

/* Whether the trace shows what CUPTI recorded here: it started, or was launched, while recording was on. The calls of
 * the process must be known. */
bool process_shows(struct process *process, const struct event *event);

/* Whether TIME can belong to this process; 0 cannot. */
bool process_knows_time(const struct process *process, uint64_t time);
/* Whether this is a slice in time. */
bool process_knows_span(const struct process *process, const struct event *event);

/* The pid of a device's rows. Gives 0, or -1 after error(). */
int process_gpu_pid(struct conversion *conversion, struct process *process, uint32_t device, uint32_t *pid);

/* The track of GPU work on a stream, or of a thread; made when new. NULL after error(). */
struct track *process_stream(struct conversion *conversion, struct process *process, enum track_kind kind,
                             uint32_t device, uint32_t context, uint32_t stream);
struct track *process_thread(struct process *process, enum track_kind kind, uint32_t thread);

/* The device of an event, by its context when it does not tell. */
uint32_t process_device(const struct process *process, const struct event *event);
/* NULL: not known. */
const struct device *process_device_info(const struct process *process, uint32_t device);
const struct given_name *process_name(const struct process *process, const struct map *names, uint64_t object);

/* The id that the trace shows for a correlation id: those of several processes do not mix. 0: none. */
uint32_t process_correlation(const struct process *process, uint32_t correlation);

/* survey.c, match.c: give 0, or -1 after error(). */
int survey_process(struct conversion *conversion, struct process *process);
int match_process(struct conversion *conversion, struct process *process);

/* session_note.c */
void session_note_read(struct session_note *session, const char *directory);
void session_note_release(struct session_note *session);
/* Its keys, within an object. */
void session_note_put(const struct session_note *session, struct json_out *json);

/* metadata.c: everything before the events. Gives 0, or -1 after error(). */
int write_metadata(struct conversion *conversion);

/* emit*.c: write what they are named after. Give 0, or -1 after error(). */
int emit_process(struct conversion *conversion, struct process *process);
int emit_rows(struct conversion *conversion, struct process *process);
int emit_gpu_work(struct conversion *conversion, struct process *process, const struct event *event);
int emit_cuda_event(struct conversion *conversion, struct process *process, const struct event *event);
int emit_sync(struct conversion *conversion, struct process *process, const struct event *event);
int emit_api(struct conversion *conversion, struct process *process, const struct event *event);
int emit_overhead(struct conversion *conversion, struct process *process, const struct event *event);
int emit_nvtx_ranges(struct conversion *conversion, struct process *process);
int emit_projections(struct conversion *conversion, struct process *process);
int emit_nvtx_mark(struct conversion *conversion, struct process *process, const struct event *event);
int emit_capture(struct conversion *conversion, struct process *process, const struct event *event);
int emit_memory(struct conversion *conversion, struct process *process);

/* A kept name; an empty one after error(). */
struct name kept_name(struct conversion *conversion, const char *text);

#endif
