/* Looks things up in the maps of struct trace, adds samples, and names things in words that fit the trace. */
#include "analysis/engine/trace_known.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/base/table.h"
#include "common/array.h"
#include "common/map.h"
#include "common/multiprocessor.h"

struct trace_process *trace_process_new(struct trace *trace, event_id id)
{
    size_t before = trace->processes.count;
    struct trace_process *process = dense_map_item(&trace->process_ids, &id, &trace->processes);
    if (process && trace->processes.count > before)
        process->name = process->label = EVENT_NO_TEXT;
    return process;
}

struct trace_thread *trace_thread(struct trace *trace, event_id process_id, event_id thread_id)
{
    const struct trace_thread_id id = {process_id, thread_id};
    struct trace_process *process = trace_process_new(trace, process_id);
    size_t before = trace->threads.count;
    struct trace_thread *thread = process ? dense_map_item(&trace->thread_ids, &id, &trace->threads) : NULL;
    if (thread && trace->threads.count > before) {
        thread->name = EVENT_NO_TEXT;
        thread->process = (uint32_t)(process - trace->processes.items);
    }
    return thread;
}

struct trace_device *trace_device(struct trace *trace, int64_t id)
{
    size_t before = trace->devices.count;
    struct trace_device *device = dense_map_item(&trace->device_ids, &id, &trace->devices);
    if (device && trace->devices.count > before)
        device->name = EVENT_NO_TEXT;
    return device;
}

struct trace_rank *trace_add_rank(struct trace *trace, event_id process)
{
    struct trace_rank *rank = array_push(&trace->ranks);
    uint64_t *number = rank ? map_put(&trace->rank_numbers, process, NULL) : NULL;
    if (!number)
        return NULL;
    rank->process = process;
    if (*number == 0 || process == EVENT_NO_ID)
        *number = trace->ranks.count;
    return rank;
}

int trace_add_gpu_row(struct trace *trace, const struct trace_gpu_row *row)
{
    struct trace_gpu_row *added = array_push(&trace->gpu_rows);
    uint64_t *number = added ? map_put(&trace->gpu_row_numbers, row->row, NULL) : NULL;
    if (!number)
        return -1;
    *added = *row;
    *number = *number ? *number : trace->gpu_rows.count;
    return 0;
}

const struct trace_gpu_row *trace_gpu_row(const struct trace *trace, event_id row)
{
    return FIND_ITEM(&trace->gpu_rows, &trace->gpu_row_numbers, row);
}

const struct trace_rank *trace_rank_of(const struct trace *trace, event_id process)
{
    return FIND_ITEM(&trace->ranks, &trace->rank_numbers, process)
               ?: FIND_ITEM(&trace->ranks, &trace->rank_numbers, EVENT_NO_ID);
}

/* Returns the index of the process ID, or CALLS_ANY_PROCESS if no event has it. */
static uint32_t process_index(const struct trace *trace, event_id id)
{
    uint32_t index = dense_map_lookup(&trace->process_ids, &id, sizeof(id));
    return index == DENSE_MAP_NONE ? CALLS_ANY_PROCESS : index;
}

uint32_t trace_gpu_row_owner(const struct trace *trace, event_id row)
{
    const struct trace_gpu_row *known = trace_gpu_row(trace, row);
    return known ? process_index(trace, known->process) : CALLS_ANY_PROCESS;
}

int trace_set_stream_owners(struct trace *trace)
{
    for (size_t i = 0; i < trace->streams.count; i++)
        if (!ADD(array_push, &trace->stream_owners, trace_gpu_row_owner(trace, trace_stream_id(trace, i)->process)))
            return -1;
    return 0;
}

const struct trace_process *trace_process(const struct trace *trace, event_id id)
{
    uint32_t index = process_index(trace, id);
    return index == CALLS_ANY_PROCESS ? NULL : &trace->processes.items[index];
}

int64_t trace_find_thread(const struct trace *trace, event_id process, int64_t id)
{
    const struct trace_thread_id key = {process, event_id_number(id)};
    uint32_t index = dense_map_lookup(&trace->thread_ids, &key, sizeof(key));
    return index == DENSE_MAP_NONE ? FIELD_ABSENT : (int64_t)index;
}

int trace_sample(struct trace *trace, const struct event_fields *event)
{
    if (!trace->wanted.samples)
        return 0;
    if (event->category == CATEGORY_THREAD_STATE) {
        if (event->duration <= 0)
            return 0;
        event_id id = event->of_thread == FIELD_ABSENT ? event->thread : event_id_number(event->of_thread);
        const struct trace_thread *thread = trace_thread(trace, event->process, id);
        const struct host_site site = {event->stack, EVENT_NO_TEXT};
        struct host_state state = {
            .start = event->start, .end = event->start + event->duration, .waker = event_state(event)->waker};
        /* gputrace and perf use these names of states. */
        const char *name = trace_text(trace, event->name);
        state.kind = strcmp(name, "Runnable") == 0    ? HOST_RUNNABLE
                     : strcmp(name, "Disk wait") == 0 ? HOST_DISK_WAIT
                                                      : HOST_SLEEPING;
        return thread
                   ? host_samples_add_state(&trace->samples, (uint32_t)(thread - trace->threads.items), &state, &site)
                   : -1;
    }
    const struct trace_thread *thread = trace_thread(trace, event->process, event->thread);
    const struct host_site site = {event->stack, event->name};
    return thread ? host_samples_add(&trace->samples, (uint32_t)(thread - trace->threads.items), event->start, &site)
                  : -1;
}

uint32_t trace_find_waker(const struct trace *trace, uint32_t thread, int64_t id)
{
    uint32_t found = LAUNCHED_NO_THREAD;
    for (uint32_t i = 0; id > 0 && i < trace->threads.count; i++) {
        const struct trace_thread_id *known = dense_map_row(&trace->thread_ids, i);
        if (known->thread != event_id_number(id))
            continue;
        if (trace->threads.items[i].process == trace->threads.items[thread].process)
            return i;
        found = found == LAUNCHED_NO_THREAD ? i : found;
    }
    return found;
}

int trace_name_kernel(struct trace *trace, struct event_fields *event)
{
    enum report_names names = trace->options->names;
    if (names == REPORT_NAMES_MANGLED && event_kernel(event)->mangled_name != EVENT_NO_TEXT)
        event->name = event_kernel(event)->mangled_name;
    else if (names == REPORT_NAMES_MANGLED && event->name < trace->shown_names.count &&
             trace->shown_names.items[event->name] != 0)
        event->name = trace->shown_names.items[event->name] - 1;
    if (names != REPORT_NAMES_SHORT || event->name == EVENT_NO_TEXT)
        return 0;
    uint32_t *shown = array_at(&trace->shown_names, event->name);
    if (shown && *shown == 0) {
        const struct interned *whole = interner_at(&trace->strings, event->name);
        char *name = malloc(whole->length + 1);
        uint32_t number = INTERN_NO_MEMORY;
        if (name)
            number = intern(&trace->strings, name, name_shorten(whole->text, whole->length, name));
        free(name);
        *shown = number == INTERN_NO_MEMORY ? 0 : number + 1;
    }
    if (!shown || *shown == 0)
        return -1;
    event->name = *shown - 1;
    return 0;
}

const char *trace_thread_comm(const struct trace *trace, uint32_t thread, size_t *length)
{
    const char *name = trace_text(trace, trace->threads.items[thread].name);
    const char *open = strncmp(name, "thread ", strlen("thread ")) == 0 ? strchr(name, '(') : NULL;
    *length = open ? strcspn(open + 1, ")") : strlen(name);
    return open ? open + 1 : name;
}

/* Words that are replaced in some kinds of traces. The first row that fits is used. */
enum { FOREIGN = 1, PYTORCH = 2, NOT_CUDA = 4, HIP = 8 };
static const struct {
    unsigned of;
    const char *from, *to;
} phrases[] = {
    {FOREIGN, " (--cpu=samples or NVTX ranges show it)", ""},
    {FOREIGN, "--cpu=switches, NVTX ranges", "ranges"},
    {FOREIGN, " To record later steps only, use --delay or --capture-range=cudaProfilerApi.", ""},
    {FOREIGN, ": gputrace run --cpu=samples records them", ""},
    {FOREIGN, ": gputrace run --cpu=switches records them", ""},
    {PYTORCH, "NVTX ", ""},
    {NOT_CUDA, "CUDA call", "GPU call"},
    {NOT_CUDA, "CUDA memory", "GPU memory"},
    {NOT_CUDA, "outside CUDA", "outside GPU calls"},
    {NOT_CUDA, "initialised CUDA", "initialised the GPU"},
    {HIP, "cudaM", "hipM"},
    {HIP, "cudaE", "hipE"},
    {HIP, "cudaS", "hipS"},
    {HIP, "cudaF", "hipF"},
    {HIP, "cudaH", "hipH"},
    {HIP, "CUDA graph", "HIP graph"},
};

struct trace_phrase trace_phrase(const struct trace *trace, const char *text)
{
    struct trace_phrase phrase = {""};
    unsigned kind = 0;
    size_t length = 0;
    if (trace && trace->version == EVENT_NO_TEXT) {
        const char *call = trace_text(trace, trace->first_call);
        kind = FOREIGN | (trace->kineto ? PYTORCH : 0) | (*call && strncmp(call, "cu", 2) != 0 ? NOT_CUDA : 0) |
               (strncmp(call, "hip", 3) == 0 ? HIP : 0);
    }
    for (const char *at = text; *at && length + 1 < sizeof(phrase.text);) {
        size_t i = 0, count = sizeof(phrases) / sizeof(*phrases);
        while (i < count && !(phrases[i].of & kind && strncmp(at, phrases[i].from, strlen(phrases[i].from)) == 0))
            i++;
        if (i == count) {
            phrase.text[length++] = *at++;
            continue;
        }
        snprintf(phrase.text + length, sizeof(phrase.text) - length, "%s", phrases[i].to);
        length += strlen(phrase.text + length);
        at += strlen(phrases[i].from);
        if (length == 0 && *at >= 'a' && *at <= 'z')
            phrase.text[length++] = (char)(*at++ - 'a' + 'A');
    }
    return phrase;
}

struct cell trace_process_cell(const struct trace *trace, struct table *table, event_id id)
{
    const struct trace_process *process = trace_process(trace, id);
    const char *name = process && process->name != EVENT_NO_TEXT ? interned(&trace->strings, process->name) : "process";
    if (event_id_is_text(id))
        return trace_text_cell(trace, table, (uint32_t)(id >> 1));
    return table_format(table, "%s (%lld)", name, (long long)event_id_value(id));
}

struct cell trace_text_cell(const struct trace *trace, struct table *table, uint32_t text)
{
    if (text == EVENT_NO_TEXT)
        return (struct cell){0};
    return table_text(table, interned(&trace->strings, trace_shown(trace, text)));
}

struct cell trace_thread_cell(const struct trace *trace, struct table *table, uint32_t thread)
{
    const struct trace_thread_id *id = dense_map_row(&trace->thread_ids, thread);
    uint32_t name = trace->threads.items[thread].name;
    if (name != EVENT_NO_TEXT && *interned(&trace->strings, name))
        return trace_text_cell(trace, table, name);
    if (event_id_is_text(id->thread))
        return trace_text_cell(trace, table, (uint32_t)(id->thread >> 1));
    return table_format(table, "thread %lld", (long long)event_id_value(id->thread));
}

struct cell trace_thread_id_cell(const struct trace *trace, struct table *table, event_id process, int64_t id)
{
    int64_t index = id == FIELD_ABSENT ? FIELD_ABSENT : trace_find_thread(trace, process, id);
    if (index != FIELD_ABSENT)
        return trace_thread_cell(trace, table, (uint32_t)index);
    return id == FIELD_ABSENT ? (struct cell){0} : table_format(table, "thread %lld", (long long)id);
}

void trace_stream_words(char words[TRACE_STREAM_WORDS], int64_t device, int64_t stream)
{
    *words = '\0';
    int length = device == FIELD_ABSENT ? 0 : snprintf(words, TRACE_STREAM_WORDS, "GPU %" PRId64, device);
    if (stream != FIELD_ABSENT)
        snprintf(words + length, TRACE_STREAM_WORDS - (size_t)length, "%sstream %" PRId64, length ? " " : "", stream);
}

struct cell trace_stream_cell(struct table *table, int64_t device, int64_t stream)
{
    char words[TRACE_STREAM_WORDS];
    trace_stream_words(words, device, stream);
    return *words ? table_text(table, words) : (struct cell){0};
}

/* --- blocks of a multiprocessor, computed by common/multiprocessor.h --- */

enum { WARP = 32 };

static uint32_t number(int64_t value)
{
    return value <= 0 ? 0 : value >= UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

int64_t device_blocks(const struct trace_device *device, const struct block_shape *shape)
{
    const struct multiprocessor known = {
        .major = device->major > 0 ? number(device->major) : 9,
        .warp_size = WARP,
        .warps = number(device->threads) / WARP,
        .blocks = multiprocessor_most_blocks(device->major, device->minor),
        .registers = device->registers > 0 ? number(device->registers) : UINT32_MAX,
        .shared_bytes = device->shared_bytes > 0 ? number(device->shared_bytes) : UINT32_MAX,
    };
    return multiprocessor_blocks(&known, number(shape->threads), number(shape->registers), number(shape->shared_bytes));
}

int64_t device_occupancy(const struct trace_device *device, const struct block_shape *shape)
{
    int64_t warps = (shape->threads + WARP - 1) / WARP, all = device->threads / WARP;
    int64_t blocks = device_blocks(device, shape);
    return blocks > 0 ? blocks * warps * 100 / all : 0;
}
