/*
 * The section memory shows memory by device and kind. The peak, its time, and the bytes at the end come from the
 * counters "Memory in use: KIND"; the bytes that pools reserved and used from the counters "Pool reserved" and "Pool
 * used"; the numbers of allocations, releases and errors from the instants of category "memory". PyTorch's caching
 * allocator writes instants "[memory]" instead.
 */
#include "analysis/memory/section_memory.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/engine/heap.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace_known.h"

/* --- levels: a ring of buckets. If a time does not fit, the width of buckets doubles, and pairs of buckets are merged
 * --- */

static int64_t bucket_of(int64_t time, int64_t width)
{
    int64_t number = time / width;
    return number - (time % width < 0);
}

static void merge_levels(struct level *to, const struct level *from)
{
    if (!from->any)
        return;
    if (!to->any) {
        *to = *from;
        return;
    }
    to->most = from->most > to->most ? from->most : to->most;
    if (from->time >= to->time) {
        to->end = from->end;
        to->time = from->time;
    }
}

static void double_width(struct levels *levels)
{
    struct levels wider = {.width = levels->width * 2};
    wider.first = bucket_of(levels->first, 2);
    wider.last = bucket_of(levels->last, 2);
    for (int64_t number = levels->first; number <= levels->last; number++)
        merge_levels(&wider.buckets[(uint64_t)bucket_of(number, 2) % LEVELS_MOST], levels_at(levels, number));
    *levels = wider;
}

void levels_set(struct levels *levels, int64_t time, int64_t value)
{
    const struct level new = {.any = true, .most = value, .end = value, .time = time};
    int64_t number;
    if (levels->width == 0) {
        levels->width = 1024;
        levels->first = levels->last = bucket_of(time, levels->width);
    }
    for (;; double_width(levels)) {
        number = bucket_of(time, levels->width);
        int64_t first = number < levels->first ? number : levels->first;
        int64_t last = number > levels->last ? number : levels->last;
        if (last - first >= LEVELS_MOST)
            continue;
        levels->first = first;
        levels->last = last;
        break;
    }
    merge_levels(&levels->buckets[(uint64_t)number % LEVELS_MOST], &new);
}

/* --- events --- */

enum memory_source { MEMORY_COUNTER, MEMORY_INSTANT, MEMORY_PYTORCH, MEMORY_PYTORCH_RESERVED };

struct memory_key {
    int64_t source;   /* enum memory_source */
    uint64_t text;    /* name of the counter, kind of the instant, or device type of PyTorch */
    int64_t device;   /* FIELD_ABSENT: host memory, or not known */
    event_id process; /* the owner; of a GPU's counter, the GPU's row */
};

struct memory_use {
    bool counted;          /* `peak`, `peak_at`, `end` and `end_at` are known */
    bool stepped;          /* `allocations` and `releases` are known */
    bool shown;            /* it was added to the row of another use */
    int64_t peak, peak_at; /* bytes, ns */
    int64_t end, end_at;
    bool earlier; /* a level from before the report's window is known */
    int64_t earlier_level, earlier_at;
    int64_t allocations, releases, failures;
    int64_t doubles;       /* releases of memory that had been released */
    int64_t unknown;       /* releases of memory whose allocation is not known */
    struct levels *levels; /* NULL: not recorded */
};

#define COUNTER_PREFIX "Memory in use: "

/* Allocates the levels of USE, if it has no value yet and is among the first MEMORY_LEVELS uses; COUNT is the number of
 * uses. Without memory, the use has no levels. */
static void make_levels(struct memory_use *use, const struct trace *trace, size_t count)
{
    if (trace->options->format == REPORT_HTML && !use->counted && count <= MEMORY_LEVELS)
        use->levels = calloc(1, sizeof(*use->levels));
}

/* Records that BYTES are in use from TIME on. Levels need not be added in order of time. */
static void set_level(struct memory_use *use, int64_t bytes, int64_t time)
{
    if (use->levels)
        levels_set(use->levels, time, bytes);
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

/* Returns the kind of memory that a counter called NAME counts, or NULL if it does not count memory. */
static const char *counted_kind(const char *name)
{
    if (strncmp(name, COUNTER_PREFIX, strlen(COUNTER_PREFIX)) == 0)
        return name + strlen(COUNTER_PREFIX);
    return strcmp(name, "Pool reserved") == 0 || strcmp(name, "Pool used") == 0 ? name : NULL;
}

static void count_step(struct memory_use *use, bool allocation, bool failed)
{
    use->stepped = true;
    use->allocations += allocation && !failed;
    use->releases += !allocation && !failed;
    use->failures += failed;
}

static int add_instant(struct tally *uses, const struct trace *trace, const struct event_fields *event)
{
    const struct memory_fields *memory = event_memory(event);
    struct memory_key key = {MEMORY_INSTANT, memory->kind, event->device, event->process};
    struct memory_use *use = tally_item(uses, &key, struct memory_use);
    const char *name = trace_text(trace, event->name);
    if (!use)
        return -1;
    bool failed = event->return_value != FIELD_ABSENT && event->return_value != 0;
    bool allocation = strncmp(name, "Allocat", strlen("Allocat")) == 0;
    if (memory->fault != EVENT_NO_TEXT) {
        /* It is not known whether CUDA refused the release, so it is not counted. */
        use->stepped = true;
        if (strcmp(interned(&trace->strings, memory->fault), "double free") == 0)
            use->doubles++;
        else
            use->unknown++;
    } else
        count_step(use, allocation, failed);
    /* In older traces, which have no faults, a release of unknown memory has no size. */
    use->unknown += memory->fault == EVENT_NO_TEXT && !allocation && !failed && event->bytes == FIELD_ABSENT;
    return 0;
}

/* Adds the level BYTES of PyTorch's allocator after EVENT. Of the levels before the report's window, only the last
 * counts, as the level at the start of the window. Returns 0, or -1: no memory. */
static int add_level(struct tally *uses, const struct trace *trace, const struct event_fields *event,
                     enum memory_source source, int64_t bytes)
{
    struct memory_key key = {source, (uint64_t)event_memory(event)->device_type, event->device, event->process};
    struct memory_use *use = bytes == FIELD_ABSENT ? NULL : tally_item(uses, &key, struct memory_use);
    if (!use)
        return bytes == FIELD_ABSENT ? 0 : -1;
    if (event->phase == HEAP_OUTSIDE) {
        bool later = !use->earlier || event->start >= use->earlier_at;
        use->earlier_level = later ? bytes : use->earlier_level;
        use->earlier_at = later ? event->start : use->earlier_at;
        use->earlier = true;
        return 0;
    }
    make_levels(use, trace, uses->count);
    /* Before the first event, a release, more was allocated: the bytes that it released. */
    if (source == MEMORY_PYTORCH && !use->counted && event->bytes < 0 && event->bytes >= -HEAP_SIZE_MAX &&
        bytes <= HEAP_SIZE_MAX)
        set_level(use, bytes - event->bytes, event->start);
    set_level(use, bytes, event->start);
    return 0;
}

/* Adds the levels of allocated and of reserved memory after EVENT. PyTorch does not report reserved memory of the host.
 * Returns 0, or -1: no memory. */
static int add_levels(struct tally *uses, const struct trace *trace, const struct event_fields *event)
{
    const struct memory_fields *memory = event_memory(event);
    int64_t reserved = memory->device_type == HEAP_PYTORCH_CPU ? FIELD_ABSENT : memory->total_reserved;
    return add_level(uses, trace, event, MEMORY_PYTORCH, memory->total_allocated)
               ?: add_level(uses, trace, event, MEMORY_PYTORCH_RESERVED, reserved);
}

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct tally *uses = state;
    bool pytorch = heap_is_pytorch(&trace->strings, event);
    if (event->phase == HEAP_OUTSIDE)
        return pytorch && event->start < trace->window.first ? add_levels(uses, trace, event) : 0;
    if (event->phase == 'C') {
        if (event->name == EVENT_NO_TEXT || event->bytes == FIELD_ABSENT)
            return 0;
        if (!counted_kind(interned(&trace->strings, event->name)))
            return 0;
        struct memory_key key = {MEMORY_COUNTER, event->name, FIELD_ABSENT, event->process};
        struct memory_use *use = tally_item(uses, &key, struct memory_use);
        if (!use)
            return -1;
        make_levels(use, trace, uses->count);
        set_level(use, event->bytes, event->start);
        return 0;
    }
    if (event->phase != 'i' && event->phase != 'I')
        return 0;
    if (event->category == CATEGORY_MEMORY)
        return add_instant(uses, trace, event);
    if (!pytorch)
        return 0;
    struct memory_key key = {MEMORY_PYTORCH, (uint64_t)event_memory(event)->device_type, event->device, event->process};
    struct memory_use *use = tally_item(uses, &key, struct memory_use);
    if (!use)
        return -1;
    bool failed = strcmp(trace_text(trace, event->name), HEAP_PYTORCH_FAILURE) == 0;
    count_step(use, failed || event->bytes >= 0, failed); /* releases have negative bytes */
    return add_levels(uses, trace, event);
}

/* --- the table --- */

static const char *kind_of(const struct trace *trace, const struct memory_key *key)
{
    if (key->source == MEMORY_PYTORCH_RESERVED)
        return "PyTorch's allocator, reserved";
    if (key->source == MEMORY_PYTORCH)
        return heap_pytorch_name(key->text);
    if (key->text == EVENT_NO_TEXT)
        return "not known";
    const char *text = interned(&trace->strings, (uint32_t)key->text);
    return key->source == MEMORY_COUNTER ? counted_kind(text) : text;
}

/* The owner and the device of memory, which distinguish the rows of one kind. */
struct place {
    int64_t device; /* FIELD_ABSENT: host memory, or not known */
    bool owned;     /* the process is known */
    event_id process;
};

/* Returns the place of KEY. A counter is in the row of a GPU, or, for host memory, in the row of its process. */
static struct place place_of(const struct trace *trace, const struct memory_key *key)
{
    if (key->source != MEMORY_COUNTER)
        return (struct place){key->device < 0 ? FIELD_ABSENT : key->device, true, key->process};
    const struct trace_gpu_row *row = trace_gpu_row(trace, key->process);
    if (row)
        return (struct place){row->device, true, row->process};
    const struct trace_process *process = trace_process(trace, key->process);
    if (process && process->host)
        return (struct place){FIELD_ABSENT, true, key->process};
    struct event_fields counter = {.device = FIELD_ABSENT, .process = key->process};
    return (struct place){trace_event_device(&counter), false, 0};
}

/* Adds the use at index INSTANTS to the use of a counter, so that both are one row, if exactly one counter is about the
 * same memory. */
static void unite(struct tally *memory, const struct trace *trace, size_t instants)
{
    const struct memory_key *key = dense_map_row(&memory->keys, instants);
    struct memory_use *uses = memory->items, *use = &uses[instants], *partner = NULL;
    struct place place = place_of(trace, key);
    for (size_t i = 0; i < memory->count; i++) {
        const struct memory_key *other = dense_map_row(&memory->keys, i);
        struct place beside = place_of(trace, other);
        if (other->source != MEMORY_COUNTER || place.device != beside.device ||
            (place.owned && beside.owned && place.process != beside.process) ||
            strcmp(kind_of(trace, other), kind_of(trace, key)) != 0)
            continue;
        if (partner)
            return;
        partner = &uses[i];
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

struct memory_row {
    struct cell peak, peak_at, end;              /* empty if not known */
    struct cell allocations, releases, failures; /* empty if not known */
    int64_t doubles, unknown;
    struct cell device, process, kind;
};

static const struct column columns[] = {
    {"peak", "Peak", TYPE_BYTES, 0, fill_cell, FROM_ITEM(memory_row, peak)},
    {"peak_at", "Peak at", TYPE_NS, COLUMN_MOMENT, fill_cell, FROM_ITEM(memory_row, peak_at)},
    {"end", "At the end", TYPE_BYTES, 0, fill_cell, FROM_ITEM(memory_row, end)},
    {"allocations", "Allocations", TYPE_COUNT, 0, fill_cell, FROM_ITEM(memory_row, allocations)},
    {"releases", "Releases", TYPE_COUNT, 0, fill_cell, FROM_ITEM(memory_row, releases)},
    {"failures", "Failures", TYPE_COUNT, COLUMN_BAD, fill_cell, FROM_ITEM(memory_row, failures)},
    {"double", "Double frees", TYPE_COUNT, COLUMN_OPTIONAL | COLUMN_BAD, fill_some, FROM_ITEM(memory_row, doubles)},
    {"unknown", "Unknown frees", TYPE_COUNT, COLUMN_OPTIONAL | COLUMN_BAD, fill_some, FROM_ITEM(memory_row, unknown)},
    {"device", "GPU", TYPE_NUMBER, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(memory_row, device)},
    {"process", "Process", TYPE_TEXT, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(memory_row, process)},
    {"kind", "Kind", TYPE_TEXT, 0, fill_cell, FROM_ITEM(memory_row, kind)},
};

static void finish(struct report_row *row)
{
    struct tally *memory = row->state;
    struct memory_use *uses = memory->items;
    for (size_t i = 0; i < memory->count; i++)
        if (((const struct memory_key *)dense_map_row(&memory->keys, i))->source == MEMORY_INSTANT)
            unite(memory, row->trace, i);
    for (size_t i = 0; i < memory->count; i++)
        if (uses[i].earlier)
            set_level(&uses[i], uses[i].earlier_level, row->trace->start);
    for (size_t i = 0; i < memory->count && !row->trace->window.any; i++) {
        struct memory_use *use = &uses[i];
        const struct trace *trace = row->trace;
        const struct memory_key *key = dense_map_row(&memory->keys, i);
        bool reserved = strcmp(kind_of(trace, key), "Pool reserved") == 0;
        struct place place = place_of(trace, key);
        if (key->source != MEMORY_COUNTER || (!reserved && strcmp(kind_of(trace, key), "Pool used") != 0))
            continue;
        int64_t most = 0;
        for (size_t k = 0; k < trace->pools.count; k++) {
            const struct trace_pool *pool = &trace->pools.items[k];
            int64_t peak = reserved ? pool->reserved_peak : pool->used_peak;
            if (pool->device == place.device && (!place.owned || pool->process == place.process) && peak > most)
                most = peak;
        }
        if (most <= use->peak)
            continue;
        use->peak = most;
        use->peak_at = FIELD_ABSENT;
    }
    for (size_t i = 0; i < memory->count; i++)
        if (!uses[i].shown) {
            const struct memory_key *key = dense_map_row(&memory->keys, i);
            const struct memory_use *use = &uses[i];
            const struct place place = place_of(row->trace, key);
            struct memory_row item = {
                .doubles = use->doubles,
                .unknown = use->unknown,
                .device = cell_integer(place.device),
                .kind = table_text(row->table, kind_of(row->trace, key)),
            };
            if (use->counted) {
                item.peak = cell_integer(use->peak);
                item.peak_at =
                    cell_integer(use->peak_at == FIELD_ABSENT ? FIELD_ABSENT : use->peak_at - row->trace->start);
                item.end = cell_integer(use->end);
            }
            if (use->stepped) {
                item.allocations = cell_integer(use->allocations);
                item.releases = cell_integer(use->releases);
                item.failures = cell_integer(use->failures);
            }
            if (place.owned && row->trace->host_processes > 1)
                item.process = trace_process_cell(row->trace, row->table, place.process);
            section_row(row, NULL, &item);
        }
}

const struct levels *memory_levels(const struct trace *trace, size_t number, struct buffer *name, int64_t *peak)
{
    /* With --snapshot, another section replaces section_memory. */
    const struct tally *memory = trace->options->has_snapshot ? NULL : section_state(trace, REPORT_MEMORY);
    const struct memory_use *uses = memory ? memory->items : NULL;
    for (size_t i = 0; memory && i < memory->count; i++) {
        const struct memory_key *key = dense_map_row(&memory->keys, i);
        struct place place = place_of(trace, key);
        if (!uses[i].levels || number-- > 0)
            continue;
        buffer_text(name, kind_of(trace, key));
        if (place.device == FIELD_ABSENT)
            buffer_text(name, ", host");
        else
            buffer_format(name, ", GPU %lld", (long long)place.device);
        if (place.owned && trace->host_processes > 1 && !event_id_is_text(place.process))
            buffer_format(name, ", process %lld", (long long)event_id_value(place.process));
        *peak = uses[i].peak;
        return uses[i].levels;
    }
    return NULL;
}

static void release(void *state)
{
    const struct tally *memory = state;
    for (size_t i = 0; i < memory->count; i++)
        free(TALLY_AT(memory, struct memory_use, i)->levels);
}

const struct section section_memory = {
    SECTION_COLUMNS(columns),
    SECTION_PLAIN_TALLY(struct memory_use),
    .sources = {TRACE_MEMORY},
    .comparable = {.noun = "memory", .keys = {"kind", "device"}, .total = "peak", .floor = FLOOR_SIZE},
    .sort = "peak",
    .categories = CATEGORY_BIT(CATEGORY_MEMORY) | CATEGORY_BIT(CATEGORY_CPU_INSTANT_EVENT) | CATEGORIES_OTHER,
    .event = event,
    .finish = finish,
    .release = release,
};
