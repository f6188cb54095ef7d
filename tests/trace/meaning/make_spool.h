/*
 * Builds spool files for tests, record by record, as the library and CUPTI would have left them. Everything a record
 * holds is a field with a name, and what is left out is 0 or a usual value.
 *
 *     struct make_spool spool;
 *     make_spool_init(&spool, 1234, 130001);
 *     make_spool_chunk(&spool, SPOOL_CUPTI, 1234);
 *     make_api(&spool, (struct make_api){.cbid = 211, .thread = 1234, .start = 10, .end = 20, .correlation = 1});
 *     make_spool_done(&spool, SPOOL_DONE);
 *     make_spool_save(&spool, directory);
 *
 * Times are ns after MAKE_SPOOL_START. A failed allocation aborts.
 */
#ifndef GPUTRACE_TESTS_TOOL_CONVERT_MAKE_SPOOL_H
#define GPUTRACE_TESTS_TOOL_CONVERT_MAKE_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"
#include "common/spool_records.h"

#define MAKE_SPOOL_START UINT64_C(1790000000000000000) /* a whole second */

struct make_spool {
    uint8_t *data;
    size_t size, capacity;
    size_t chunk; /* offset of the open chunk's header, 0: none is open */
    uint64_t sequence;
    uint64_t space; /* bytes left free at the end of each chunk */
};

void make_spool_init(struct make_spool *spool, uint32_t pid, uint32_t cupti_version);
void make_spool_release(struct make_spool *spool);

struct spool_header *make_spool_header(struct make_spool *spool);
struct spool_chunk *make_spool_chunk_header(struct make_spool *spool);

/* Opens a chunk; done closes it in STATE, with the right `used`. */
void make_spool_chunk(struct make_spool *spool, enum spool_chunk_type type, uint32_t thread);
void make_spool_done(struct make_spool *spool, enum spool_chunk_state state);

/* A spool of CUDA 13.0's CUPTI whose first chunk, which is open, has THREAD's own records. */
void make_spool_begin(struct make_spool *spool, uint32_t pid, uint32_t thread);

/* Writes DIRECTORY/PID-0.spool; the second form names it. */
void make_spool_save(struct make_spool *spool, const char *directory);
void make_spool_save_as(struct make_spool *spool, const char *path);

/* SIZE zeroed bytes of the open chunk, or, when it is full, of a new one like it. */
void *make_spool_bytes(struct make_spool *spool, size_t size);

/* Copies the first bytes of RECORD, as many as CUPTI's records of this kind have in this spool. */
void make_cupti(struct make_spool *spool, uint32_t kind, const void *record, size_t size);

/* A record of ours of SIZE bytes whose last SPACE bytes are the first of its text. Returns its place, to be filled. */
void *make_own(struct make_spool *spool, uint16_t type, uint64_t time, size_t size, size_t space, const void *text,
               size_t text_length);

/* CUPTI's records, of the size that the header tells for their kind. */
struct make_api {
    uint32_t cbid, thread, correlation, result;
    uint64_t start, end;
    int driver; /* else a runtime call */
};
void make_api(struct make_spool *spool, struct make_api api);

struct make_kernel {
    uint64_t name; /* pointer */
    uint64_t start, end;
    uint32_t correlation, device, context, stream; /* context 0: 1; stream 0: 7 */
    uint32_t graph;
    uint64_t node;
    uint16_t registers;
    uint32_t shared;
    int in_flight;
};
void make_kernel(struct make_spool *spool, struct make_kernel kernel);

struct make_copy {
    uint64_t start, end, bytes;
    uint32_t correlation, device, context, stream;
    uint8_t kind, source, target;
    int peer;
    uint32_t source_device, target_device;
};
void make_copy(struct make_spool *spool, struct make_copy copy);

struct make_set {
    uint64_t start, end, bytes;
    uint32_t correlation, device, context, stream;
};
void make_set(struct make_spool *spool, struct make_set set);

struct make_sync {
    uint64_t start, end;
    uint32_t type, correlation, context, stream, event;
    uint64_t sync_id;
};
void make_sync(struct make_spool *spool, struct make_sync sync);

struct make_cuda_event {
    uint32_t correlation, context, stream, event, device;
    uint64_t time, sync_id;
};
void make_cuda_event(struct make_spool *spool, struct make_cuda_event event);

struct make_graph {
    uint64_t start, end;
    uint32_t correlation, device, context, stream, graph;
};
void make_graph(struct make_spool *spool, struct make_graph graph);

void make_overhead(struct make_spool *spool, uint64_t start, uint64_t end, uint32_t thread);
void make_device(struct make_spool *spool, uint32_t device, uint64_t name); /* like an H200 */
void make_context(struct make_spool *spool, uint32_t context, uint32_t device);

/* Our own records. */
void make_pointer_name(struct make_spool *spool, uint64_t pointer, const char *name);
void make_pointer_name_since(struct make_spool *spool, uint64_t time, uint64_t pointer, const char *name);
/* The name of the kernel that the call of this id launches. */
void make_launch_name(struct make_spool *spool, uint32_t correlation, const char *text);
void make_thread_name(struct make_spool *spool, uint32_t thread, const char *name, int by_program);
void make_note(struct make_spool *spool, const char *text);
void make_capture(struct make_spool *spool, uint64_t time, int on, const char *reason);
void make_stream(struct make_spool *spool, uint64_t handle, uint32_t context, uint32_t stream);
void make_context_handle(struct make_spool *spool, uint64_t handle, uint32_t context, uint32_t device);
void make_context_end(struct make_spool *spool, uint64_t time, uint32_t context, uint32_t device);

struct make_memory {
    uint64_t time, address, size;
    uint32_t device, context, thread, correlation;
    uint16_t operation, kind;
    int32_t result;
    uint32_t stack;
};
void make_memory(struct make_spool *spool, struct make_memory memory);

struct make_pool_level {
    uint64_t time, pool, reserved, used;
    uint64_t reserved_high, used_high; /* 0: as much as there is */
    uint32_t device;
};
void make_pool_level(struct make_spool *spool, struct make_pool_level level);

struct make_nvtx {
    uint16_t what;
    uint64_t time, range, payload;
    uint32_t domain, category, color, string;
    uint16_t color_type, payload_type;
    const char *text;
};
void make_nvtx(struct make_spool *spool, struct make_nvtx nvtx);
struct make_device_range {
    int ended; /* else a start, with its message */
    uint64_t time, range;
    uint32_t correlation;
    const char *text;
};
void make_device_range(struct make_spool *spool, struct make_device_range range);
/* Of it what, time, domain, string and text. */
void make_nvtx_plain(struct make_spool *spool, struct make_nvtx nvtx);
void make_nvtx_domain(struct make_spool *spool, uint32_t domain, const char *name);
void make_nvtx_string(struct make_spool *spool, uint32_t domain, uint32_t string, const char *text);
void make_nvtx_category(struct make_spool *spool, uint32_t domain, uint32_t category, const char *name);
void make_nvtx_name(struct make_spool *spool, uint32_t what, uint64_t object, uint32_t stream, const char *name);
struct make_nvtx_resource {
    uint64_t time, resource, identifier;
    uint32_t type, domain;
    const char *name;
    int destroyed;
};
void make_nvtx_resource(struct make_spool *spool, struct make_nvtx_resource resource);
struct make_own_sync {
    uint64_t start, end, event; /* its handle */
    uint32_t kind;              /* enum spool_sync_kind */
    uint32_t correlation, context, stream;
    int32_t result;
};
void make_own_sync(struct make_spool *spool, struct make_own_sync sync); /* context 0: 1 */
void make_event_record(struct make_spool *spool, uint64_t event, uint32_t correlation, uint32_t stream);
void make_nvtx_recorded(struct make_spool *spool, uint64_t event, uint32_t correlation);

#endif
