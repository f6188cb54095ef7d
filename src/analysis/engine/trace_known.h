/* The things of a trace by their ids, samples of threads, and cells that name things as people do. */
#ifndef GPUTRACE_ANALYSIS_ENGINE_TRACE_KNOWN_H
#define GPUTRACE_ANALYSIS_ENGINE_TRACE_KNOWN_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/engine/trace.h"

struct cell;
struct table;

/* The process of this id, made if it is new. Returns NULL without memory. */
struct trace_process *trace_process_new(struct trace *trace, event_id id);
/* The process of this id, or NULL if no event is about it. */
const struct trace_process *trace_process(const struct trace *trace, event_id id);

/* The thread of these ids, made if it is new. Returns NULL without memory. */
struct trace_thread *trace_thread(struct trace *trace, event_id process, event_id thread);
/* The index of the thread ID of PROCESS, or FIELD_ABSENT if no event is about it. */
int64_t trace_find_thread(const struct trace *trace, event_id process, int64_t id);
/* The index of the thread ID that woke THREAD, an index: of the same process if there is one, else of another. Returns
 * LAUNCHED_NO_THREAD if no event is about it. */
uint32_t trace_find_waker(const struct trace *trace, uint32_t thread, int64_t id);
/* The name of a thread without its number, LENGTH bytes: "python3" of "thread 583 (python3)"; "" if it has none. */
const char *trace_thread_comm(const struct trace *trace, uint32_t thread, size_t *length);

/* The device of number ID, made if it is new. Returns NULL without memory. */
struct trace_device *trace_device(struct trace *trace, int64_t id);

/* Adds a rank. Returns NULL without memory. */
struct trace_rank *trace_add_rank(struct trace *trace, event_id process);
/* The rank of PROCESS, or NULL. */
const struct trace_rank *trace_rank_of(const struct trace *trace, event_id process);

/* Adds a row of a GPU. Returns 0, or -1: no memory. */
int trace_add_gpu_row(struct trace *trace, const struct trace_gpu_row *row);
/* The process and device of ROW, or NULL. */
const struct trace_gpu_row *trace_gpu_row(const struct trace *trace, event_id row);
/* Sets stream_owners, for trace_finish(). Returns 0, or -1: no memory. */
int trace_set_stream_owners(struct trace *trace);

/* Adds a CPU_SAMPLE or a THREAD_STATE, for trace_event(). Returns 0, or -1: no memory. */
int trace_sample(struct trace *trace, const struct event_fields *event);

/* TEXT, which is written for traces of gputrace, in the words for this trace: without options of gputrace run and NVTX
 * if another profiler wrote it, and without CUDA if its calls are not CUDA's. */
struct trace_phrase {
    char text[1024];
};
struct trace_phrase trace_phrase(const struct trace *trace, const char *text);

/* Cells: "thread 583 (python3)", of the thread with index THREAD; */
struct cell trace_thread_cell(const struct trace *trace, struct table *table, uint32_t thread);
/* of the thread ID of PROCESS, which may have no event; empty for FIELD_ABSENT; */
struct cell trace_thread_id_cell(const struct trace *trace, struct table *table, event_id process, int64_t id);
/* "python3 (583)"; */
struct cell trace_process_cell(const struct trace *trace, struct table *table, event_id process);
/* "GPU 0 stream 7", or only the known one of the two; */
struct cell trace_stream_cell(struct table *table, int64_t device, int64_t stream);
/* a text of trace.strings as it is shown; empty for EVENT_NO_TEXT. */
struct cell trace_text_cell(const struct trace *trace, struct table *table, uint32_t text);

#define TRACE_STREAM_WORDS 64
/* Writes "GPU 0 stream 7", or only the known one of the two, as trace_stream_cell(). */
void trace_stream_words(char words[TRACE_STREAM_WORDS], int64_t device, int64_t stream);

/* --- how many blocks of a kernel a multiprocessor runs at once, by the properties of the GPU in the trace --- */

struct trace_device;

/* Resources of a block. Unknown numbers are 0 or negative. */
struct block_shape {
    int64_t threads;
    int64_t registers; /* of each thread */
    int64_t shared_bytes;
};

/* Returns the blocks that run at once; 0 if the GPU's numbers or the threads are unknown, or a block does not fit. */
int64_t device_blocks(const struct trace_device *device, const struct block_shape *shape);

/* Returns the threads of these blocks in percent of the threads that a multiprocessor can run; 0 as above. */
int64_t device_occupancy(const struct trace_device *device, const struct block_shape *shape);

#endif
