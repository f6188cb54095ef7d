/* Looks up things of a trace by their ids, adds samples of threads, and fills cells with names for people. */
#ifndef GPUTRACE_ANALYSIS_ENGINE_TRACE_KNOWN_H
#define GPUTRACE_ANALYSIS_ENGINE_TRACE_KNOWN_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/engine/trace.h"

struct cell;
struct table;

/* Returns the process of this id, which is added if it is new. Returns NULL without memory. */
struct trace_process *trace_process_new(struct trace *trace, event_id id);
/* Returns the process of this id, or NULL if no event has it. */
const struct trace_process *trace_process(const struct trace *trace, event_id id);

/* Returns the thread of these ids, which is added if it is new. Returns NULL without memory. */
struct trace_thread *trace_thread(struct trace *trace, event_id process, event_id thread);
/* Returns the index of the thread ID of PROCESS, or FIELD_ABSENT if no event has it. */
int64_t trace_find_thread(const struct trace *trace, event_id process, int64_t id);
/* Returns the index of the thread ID, which woke the thread with index THREAD. Threads of THREAD's process are
 * preferred. Returns LAUNCHED_NO_THREAD if no event has the id. */
uint32_t trace_find_waker(const struct trace *trace, uint32_t thread, int64_t id);
/* Returns the name of a thread without its number, and sets LENGTH to its bytes: "python3" of "thread 583 (python3)",
 * "" if the thread has no name. It is not NUL-terminated. */
const char *trace_thread_comm(const struct trace *trace, uint32_t thread, size_t *length);

/* Returns the device of number ID, which is added if it is new. Returns NULL without memory. */
struct trace_device *trace_device(struct trace *trace, int64_t id);

/* Adds a rank, and returns it for the caller to fill. Returns NULL without memory. */
struct trace_rank *trace_add_rank(struct trace *trace, event_id process);
/* Returns the rank of PROCESS, else that of the whole trace, else NULL. */
const struct trace_rank *trace_rank_of(const struct trace *trace, event_id process);

/* Adds a row of a GPU. Returns 0, or -1: no memory. */
int trace_add_gpu_row(struct trace *trace, const struct trace_gpu_row *row);
/* Returns the process and device of ROW, or NULL if they are not known. */
const struct trace_gpu_row *trace_gpu_row(const struct trace *trace, event_id row);
/* Returns the index of the process of ROW, or CALLS_ANY_PROCESS if it is not known. */
uint32_t trace_gpu_row_owner(const struct trace *trace, event_id row);
/* Sets trace.stream_owners; called by trace_finish(). Returns 0, or -1: no memory. */
int trace_set_stream_owners(struct trace *trace);

/* Adds a CPU_SAMPLE or a THREAD_STATE; called by trace_event(). Returns 0, or -1: no memory. */
int trace_sample(struct trace *trace, const struct event_fields *event);

/* Sets the name of the kernel EVENT to the form that --names=short or --names=mangled shows. Pretty names are made at
 * the end (pretty_names.h). Returns 0, or -1: no memory. */
int trace_name_kernel(struct trace *trace, struct event_fields *event);

/* Returns TEXT in words that fit TRACE. Texts are written for traces of gputrace: for traces of other profilers,
 * options of gputrace run and NVTX are left out; for traces without CUDA calls, CUDA is replaced. */
struct trace_phrase {
    char text[1024];
};
struct trace_phrase trace_phrase(const struct trace *trace, const char *text);

/* Returns the cell "thread 583 (python3)" for the thread with index THREAD. */
struct cell trace_thread_cell(const struct trace *trace, struct table *table, uint32_t thread);
/* Returns that cell for the thread ID of PROCESS, which may have no event. The cell is empty if ID is FIELD_ABSENT. */
struct cell trace_thread_id_cell(const struct trace *trace, struct table *table, event_id process, int64_t id);
/* Returns the cell "python3 (583)". */
struct cell trace_process_cell(const struct trace *trace, struct table *table, event_id process);
/* Returns the cell "GPU 0 stream 7"; a number that is FIELD_ABSENT is left out. */
struct cell trace_stream_cell(struct table *table, int64_t device, int64_t stream);
/* Returns a cell with trace_shown() of TEXT. The cell is empty if TEXT is EVENT_NO_TEXT. */
struct cell trace_text_cell(const struct trace *trace, struct table *table, uint32_t text);

#define TRACE_STREAM_WORDS 64
/* Writes "GPU 0 stream 7"; a number that is FIELD_ABSENT is left out. */
void trace_stream_words(char words[TRACE_STREAM_WORDS], int64_t device, int64_t stream);

/* --- how many blocks of a kernel a multiprocessor runs at once, from the properties of the GPU in the trace --- */

struct trace_device;

/* Resources of a block. Unknown numbers are 0 or negative. */
struct block_shape {
    int64_t threads;
    int64_t registers; /* of each thread */
    int64_t shared_bytes;
};

/* Returns how many blocks run at once. Returns 0 if the GPU's numbers or the threads are unknown, or a block does not
 * fit. */
int64_t device_blocks(const struct trace_device *device, const struct block_shape *shape);

/* Returns the threads of device_blocks() blocks in percent of the threads that a multiprocessor can run; 0 if
 * device_blocks() returns 0. */
int64_t device_occupancy(const struct trace_device *device, const struct block_shape *shape);

#endif
