/*
 * Memory by device and kind: the most that was in use and when, and what was still allocated at the end, from the
 * counters "Memory in use: KIND", and likewise what pools held and lent, from "Pool reserved" and "Pool used";
 * allocations and releases, and what was wrong with them, from the instants of category "memory". PyTorch's caching
 * allocator tells of itself by instants called "[memory]".
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/array.h"
#include "analysis/groups.h"
#include "analysis/heap.h"
#include "analysis/section.h"
#include "analysis/trace.h"

enum memory_source { MEMORY_COUNTER, MEMORY_INSTANT, MEMORY_PYTORCH, MEMORY_PYTORCH_RESERVED };

struct memory_key {
    int64_t source;   /* enum memory_source */
    uint64_t text;    /* the counter's name, or the instant's kind; of PyTorch its device type */
    int64_t device;   /* EVENT_NONE: the host's, or not told */
    event_id process; /* whose it is; of a GPU's counter, the GPU's row */
};

struct memory_use {
    bool counted;          /* peak and end are known */
    bool stepped;          /* allocations and releases are */
    bool shown;            /* with another one, as one row */
    int64_t peak, peak_at; /* bytes, ns */
    int64_t end, end_at;
    int64_t allocations, releases, failures;
    int64_t doubles; /* releases of what was released before */
    int64_t unknown; /* releases of what was not allocated, as far as is known */
};

/* All zero: none. */
struct memory_uses {
    struct groups groups;
    ARRAY(struct memory_use) items; /* by their number in `groups`, whose keys are struct memory_key */
};

#define COUNTER_PREFIX "Memory in use: "

/* Counters need not come in order of time. */
static void set_level(struct memory_use *use, int64_t bytes, int64_t time)
{
    if (!use->counted || bytes > use->peak || (bytes == use->peak && time < use->peak_at)) {
        use->peak = bytes;
        use->peak_at = time;
    }
    if (!use->counted || time >= use->end_at) {
        use->end = bytes;
        use->end_at = time;
    }
    use->counted = true;
}

/* The kind of memory that a counter called NAME is about; NULL: it is another counter. */
static const char *counted_kind(const char *name)
{
    if (strncmp(name, COUNTER_PREFIX, strlen(COUNTER_PREFIX)) == 0)
        return name + strlen(COUNTER_PREFIX);
    return strcmp(name, "Pool reserved") == 0 || strcmp(name, "Pool used") == 0 ? name : NULL;
}

static int add_counter(struct memory_uses *uses, const struct trace *trace, const struct event_fields *event)
{
    if (event->name == EVENT_NO_TEXT || event->bytes == EVENT_NONE)
        return 0;
    if (!counted_kind(interned(&trace->strings, event->name)))
        return 0;
    struct memory_key key = {MEMORY_COUNTER, event->name, EVENT_NONE, event->process};
    struct memory_use *use = groups_item(&uses->groups, &key, &uses->items);
    if (use)
        set_level(use, event->bytes, event->start);
    return use ? 0 : -1;
}

static void count_step(struct memory_use *use, bool allocation, bool failed)
{
    use->stepped = true;
    use->allocations += allocation && !failed;
    use->releases += !allocation && !failed;
    use->failures += failed;
}

/* CUDA may have refused the release, or done it. */
static void count_fault(struct memory_use *use, const char *what)
{
    use->stepped = true;
    if (strcmp(what, "double free") == 0)
        use->doubles++;
    else
        use->unknown++;
}

static int add_instant(struct memory_uses *uses, const struct trace *trace, const struct event_fields *event)
{
    struct memory_key key = {MEMORY_INSTANT, event->memory_kind, event->device, event->process};
    struct memory_use *use = groups_item(&uses->groups, &key, &uses->items);
    const char *name = event->name == EVENT_NO_TEXT ? "" : interned(&trace->strings, event->name);
    if (!use)
        return -1;
    bool failed = event->return_value != EVENT_NONE && event->return_value != 0;
    bool allocation = strncmp(name, "Allocat", strlen("Allocat")) == 0;
    if (event->fault != EVENT_NO_TEXT)
        count_fault(use, interned(&trace->strings, event->fault));
    else
        count_step(use, allocation, failed);
    /* Traces from before faults were recorded show a release of unknown memory by its missing size. */
    use->unknown += event->fault == EVENT_NO_TEXT && !allocation && !failed && event->bytes == EVENT_NONE;
    return 0;
}

/* What the allocator holds of CUDA's memory. It does not report this of the host's. */
static int add_pytorch_reserved(struct memory_uses *uses, const struct event_fields *event)
{
    if (event->total_reserved == EVENT_NONE || event->device_type == HEAP_PYTORCH_CPU)
        return 0;
    struct memory_key key = {MEMORY_PYTORCH_RESERVED, (uint64_t)event->device_type, event->device, event->process};
    struct memory_use *use = groups_item(&uses->groups, &key, &uses->items);
    if (use)
        set_level(use, event->total_reserved, event->start);
    return use ? 0 : -1;
}

static int add_pytorch(struct memory_uses *uses, const struct trace *trace, const struct event_fields *event)
{
    if (!heap_is_pytorch(&trace->strings, event))
        return 0;
    struct memory_key key = {MEMORY_PYTORCH, (uint64_t)event->device_type, event->device, event->process};
    struct memory_use *use = groups_item(&uses->groups, &key, &uses->items);
    if (!use)
        return -1;
    bool failed = event->address == EVENT_NONE;           /* out of memory: there is none */
    count_step(use, failed || event->bytes >= 0, failed); /* a release has its bytes negative */
    if (event->total_allocated != EVENT_NONE)
        set_level(use, event->total_allocated, event->start);
    return add_pytorch_reserved(uses, event);
}

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct memory_uses *uses = state;
    if (event->phase == 'C')
        return add_counter(uses, trace, event);
    if (event->phase != 'i' && event->phase != 'I')
        return 0;
    if (event->category == CATEGORY_MEMORY)
        return add_instant(uses, trace, event);
    return event->category == CATEGORY_CPU_INSTANT_EVENT ? add_pytorch(uses, trace, event) : 0;
}

static void release(void *state)
{
    struct memory_uses *uses = state;
    array_release(&uses->items);
    groups_release(&uses->groups);
}

/* --- the table --- */

#define COLUMNS(X)                                                 \
    X(PEAK, "peak", "Peak", BYTES, 0)                              \
    X(PEAK_AT, "peak_at", "Peak at", NS, 0)                        \
    X(END, "end", "At the end", BYTES, 0)                          \
    X(ALLOCATIONS, "allocations", "Allocations", COUNT, 0)         \
    X(RELEASES, "releases", "Releases", COUNT, 0)                  \
    X(FAILURES, "failures", "Failures", COUNT, 0)                  \
    X(DOUBLE, "double", "Double frees", COUNT, COLUMN_OPTIONAL)    \
    X(UNKNOWN, "unknown", "Unknown frees", COUNT, COLUMN_OPTIONAL) \
    X(DEVICE, "device", "GPU", NUMBER, COLUMN_OPTIONAL)            \
    X(PROCESS, "process", "Process", TEXT, COLUMN_OPTIONAL)        \
    X(KIND, "kind", "Kind", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

static const char *kind_of(const struct trace *trace, const struct memory_key *key)
{
    if (key->source == MEMORY_PYTORCH_RESERVED)
        return "PyTorch's allocator, reserved";
    if (key->source == MEMORY_PYTORCH)
        return key->text == HEAP_PYTORCH_CPU ? "PyTorch's allocator, host" : "PyTorch's allocator";
    if (key->text == EVENT_NO_TEXT)
        return "not told";
    const char *text = interned(&trace->strings, (uint32_t)key->text);
    return key->source == MEMORY_COUNTER ? counted_kind(text) : text;
}

/* The owner and the place of memory: rows differ in these, and both views have them. */
struct place {
    int64_t device; /* EVENT_NONE: the host's memory, or not told */
    bool owned;     /* the process is known */
    event_id process;
};

/* A counter stands in the row of a GPU, or, of memory of the host, in that of its process. */
static struct place place_of(const struct trace *trace, const struct memory_key *key)
{
    if (key->source != MEMORY_COUNTER)
        return (struct place){key->device < 0 ? EVENT_NONE : key->device, true, key->process};
    const struct trace_gpu_row *row = trace_gpu_row(trace, key->process);
    if (row)
        return (struct place){row->device, true, row->process};
    const struct trace_process *process = trace_process(trace, key->process);
    if (process && process->host)
        return (struct place){EVENT_NONE, true, key->process};
    struct event_fields counter = {.device = EVENT_NONE, .process = key->process};
    return (struct place){trace_event_device(&counter), false, 0};
}

static bool is_same(const struct place *a, const struct place *b)
{
    return a->device == b->device && (!a->owned || !b->owned || a->process == b->process);
}

/* CUDA knows the most of each of its pools, the counters only what was there when the library looked: there was at
 * least as much as the largest pool's most. When that was is not known. */
static void raise_to_pools(struct memory_use *use, const struct trace *trace, const struct memory_key *key)
{
    bool reserved = strcmp(kind_of(trace, key), "Pool reserved") == 0;
    struct place place = place_of(trace, key);
    if (key->source != MEMORY_COUNTER || (!reserved && strcmp(kind_of(trace, key), "Pool used") != 0))
        return;
    int64_t most = trace_pool_peak(trace, place.device, place.owned ? &place.process : NULL, reserved);
    if (most <= use->peak)
        return;
    use->peak = most;
    use->peak_at = EVENT_NONE;
}

/* Makes one row of the counter's view and the instants' at number INSTANTS, where it is clear that both are of one
 * memory. */
static void unite(struct memory_uses *memory, const struct trace *trace, size_t instants)
{
    const struct memory_key *key = groups_key(&memory->groups, instants);
    struct memory_use *use = &memory->items.items[instants], *partner = NULL;
    struct place place = place_of(trace, key);
    for (size_t i = 0; i < memory->items.count; i++) {
        const struct memory_key *other = groups_key(&memory->groups, i);
        struct place other_place = place_of(trace, other);
        if (other->source != MEMORY_COUNTER || !is_same(&place, &other_place) ||
            strcmp(kind_of(trace, other), kind_of(trace, key)) != 0)
            continue;
        if (partner)
            return;
        partner = &memory->items.items[i];
    }
    if (!partner)
        return;
    partner->stepped = true;
    partner->allocations += use->allocations;
    partner->releases += use->releases;
    partner->failures += use->failures;
    partner->doubles += use->doubles;
    partner->unknown += use->unknown;
    use->shown = true;
}

static int write_row(const struct trace *trace, struct table *table, const struct memory_key *key,
                     const struct memory_use *use)
{
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    if (use->counted) {
        row[COLUMN_PEAK] = cell_integer(use->peak);
        if (use->peak_at != EVENT_NONE)
            row[COLUMN_PEAK_AT] = cell_integer(use->peak_at - trace->start);
        row[COLUMN_END] = cell_integer(use->end);
    }
    if (use->stepped) {
        row[COLUMN_ALLOCATIONS] = cell_integer(use->allocations);
        row[COLUMN_RELEASES] = cell_integer(use->releases);
        row[COLUMN_FAILURES] = cell_integer(use->failures);
    }
    if (use->doubles)
        row[COLUMN_DOUBLE] = cell_integer(use->doubles);
    if (use->unknown)
        row[COLUMN_UNKNOWN] = cell_integer(use->unknown);
    struct place place = place_of(trace, key);
    row[COLUMN_DEVICE] = trace_number_cell(place.device);
    if (place.owned && trace->host_processes > 1)
        row[COLUMN_PROCESS] = trace_process_cell(trace, table, place.process);
    row[COLUMN_KIND] = table_text(table, kind_of(trace, key));
    return 0;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct memory_uses *memory = state;
    for (size_t i = 0; i < memory->items.count; i++)
        if (((const struct memory_key *)groups_key(&memory->groups, i))->source == MEMORY_INSTANT)
            unite(memory, trace, i);
    for (size_t i = 0; i < memory->items.count; i++)
        raise_to_pools(&memory->items.items[i], trace, groups_key(&memory->groups, i));
    for (size_t i = 0; i < memory->items.count; i++)
        if (!memory->items.items[i].shown &&
            write_row(trace, table, groups_key(&memory->groups, i), &memory->items.items[i]) < 0)
            return -1;
    return 0;
}

const struct section section_memory = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_MEMORY},
    .sort = "peak",
    .categories = CATEGORY_BIT(CATEGORY_MEMORY) | CATEGORY_BIT(CATEGORY_CPU_INSTANT_EVENT) | CATEGORIES_OTHER,
    .state_size = sizeof(struct memory_uses),
    .event = event,
    .finish = finish,
    .release = release,
};
