/*
 * The table of rows. Rows of GPUs are recognised by the names that other profilers give to processes and threads.
 */
#include "trace/json/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "trace/event_fields.h"
#include "trace/sink.h"

/* Whether a row is a GPU's. REST is the rest of the process's name after the GPU's number, which is empty in JAX's
 * traces. TensorFlow 1 has all operations in the row "stream:all", and repeats them in other rows. */
static bool is_gpu(const char *rest, const char *thread)
{
    if (strcmp(rest, "/stream:all Compute") == 0)
        return true;
    return *rest == '\0' && (*thread == '\0' || strncmp(thread, "Stream", strlen("Stream")) == 0);
}

/* Returns the device in a process's name: "/device:GPU:1", "/gpu:1" before TensorFlow 1.4, "GPU1" of rocprof;
 * else -1. */
static int64_t device_of(const char *process, const char *thread)
{
    const char *device = strstr(process, "GPU:"), *old = strstr(process, "/gpu:");
    device = device && device - process >= 8 && strncmp(device - 8, "/device:", 8) == 0 ? device : old ? old + 1 : NULL;
    char *rest;
    if (!device && strncmp(process, "GPU", strlen("GPU")) != 0)
        return -1;
    const char *digits = device ? device + strlen("GPU:") : process + strlen("GPU");
    long long number = strtoll(digits, &rest, 10);
    bool found = rest > digits && *digits >= '0' && *digits <= '9' && (device ? is_gpu(rest, thread) : *rest == '\0');
    return found && number <= UINT16_MAX ? number : -1;
}

/* Whether the process is called WORD, perhaps in quotes, as old PyTorch writes it as the pid. */
static bool is_word(const char *process, const char *word)
{
    process += *process == '"';
    return strncmp(process, word, strlen(word)) == 0 &&
           strspn(process + strlen(word), "\"") == strlen(process + strlen(word));
}

/* Whether an operation of Ascend's profiler only makes its stream wait. */
static bool is_wait(const char *name)
{
    static const char *const starts[] = {"EVENT_", "CAPTURE_", "STREAM_WAIT_EVENT", "MEM_WAIT_VALUE",
                                         "MEM_WRITE_VALUE"};
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* Returns what a slice NAME is, by the names of its process and of its thread TID ("": unknown). The category is
 * CATEGORY_OTHER if the names do not tell. */
static struct gpu_row gpu_row_find(const char *process, const char *thread, int64_t tid, const char *name)
{
    static const struct {
        const char *process;
        enum category category;
    } others[] = {{"COPY", CATEGORY_GPU_MEMCPY},
                  {"CPU HIP API", CATEGORY_CUDA_RUNTIME},
                  {"Ascend Hardware", CATEGORY_KERNEL},
                  {"CUDA functions", CATEGORY_KERNEL},
                  {"CPU functions", CATEGORY_CPU_OP}};
    struct gpu_row row = {.device = device_of(process, thread), .stream = tid};
    row.category = row.device >= 0 ? CATEGORY_KERNEL : CATEGORY_OTHER;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (is_word(process, others[i].process))
            row.category = others[i].category;
    bool waits = is_wait(name) || strcasestr(name, "notify_");
    if (row.category == CATEGORY_KERNEL)
        row.category = waits                        ? CATEGORY_OTHER
                       : strcasestr(name, "memcpy") ? CATEGORY_GPU_MEMCPY
                       : strcasestr(name, "memset") ? CATEGORY_GPU_MEMSET
                                                    : CATEGORY_KERNEL;
    if (!category_in(row.category, CATEGORIES_GPU_OPS))
        return (struct gpu_row){row.category, -1, -1};
    if (is_word(process, "CUDA functions")) /* this process has a thread for each GPU */
        row.device = tid;
    row.device = row.device < 0 ? 0 : row.device;
    const char *digits = strpbrk(thread, "0123456789");
    row.stream = digits && strncmp(thread, "Stream", strlen("Stream")) == 0 ? strtoll(digits, NULL, 10) : tid;
    return row;
}

void json_rows_release(struct json_rows *rows)
{
    for (size_t i = 0; i < rows->items.count; i++) {
        free(rows->items.items[i].name);
        free(rows->items.items[i].label);
    }
    array_release(&rows->items);
    map_release(&rows->by_row);
    interner_release(&rows->words);
}

uint32_t json_row_number(struct json_rows *rows, struct json_text text)
{
    uint64_t number = 0;
    size_t digits = 0;
    struct json_text quoted = json_inside(text);
    event_id id;
    if (quoted.length > 0 && event_id_of_digits(quoted.at, quoted.length, &id))
        text = quoted;
    while (digits < text.length && text.at[digits] >= '0' && text.at[digits] <= '9' && number <= INT32_MAX)
        number = number * 10 + (uint64_t)(text.at[digits++] - '0');
    if (digits == text.length && number <= INT32_MAX)
        return (uint32_t)number;
    return JSON_WORD_ROWS + (intern(&rows->words, text.at, text.length) & 0xfffffff);
}

struct row json_row_of(struct json_rows *rows, const struct json_event *event)
{
    return (struct row){json_row_number(rows, event->pid), json_row_number(rows, event->tid)};
}

static uint64_t key_of(struct row row, bool is_process)
{
    const uint32_t key[] = {row.pid, is_process ? 0 : row.tid, is_process};
    return hash_bytes(key, sizeof(key));
}

static const char *word_of(const struct json_rows *rows, uint32_t number)
{
    bool is_word = number >= JSON_WORD_ROWS && number - JSON_WORD_ROWS < rows->words.count;
    return is_word ? interned(&rows->words, number - JSON_WORD_ROWS) : NULL;
}

/* Returns the name of a row, else the word that is its pid or tid, else "". */
static const char *row_text(const struct json_rows *rows, struct row row, bool is_process)
{
    const struct json_row *known = FIND_ITEM(&rows->items, &rows->by_row, key_of(row, is_process));
    return (known ? known->name : NULL) ?: word_of(rows, is_process ? row.pid : row.tid) ?: "";
}

struct gpu_row json_rows_gpu(const struct json_rows *rows, struct row row, const char *name)
{
    return gpu_row_find(row_text(rows, row, true), row_text(rows, row, false), row.tid, name);
}

static struct json_row *find(struct json_rows *rows, struct row row, bool is_process)
{
    size_t known = rows->items.count;
    struct json_row *found = PUT_ITEM(&rows->items, &rows->by_row, key_of(row, is_process));
    if (found && rows->items.count > known)
        *found = (struct json_row){.row = is_process ? (struct row){row.pid, row.pid} : row, .is_process = is_process};
    return found;
}

int json_rows_take(struct json_rows *rows, const struct json_event *event)
{
    static const struct {
        const char *event, *key;
        bool is_process;
    } sorts[] = {{"process_name", "name", true},
                 {"process_labels", "labels", true},
                 {"process_sort_index", "sort_index", true},
                 {"thread_name", "name", false},
                 {"thread_sort_index", "sort_index", false}};
    struct json_text value;
    for (size_t i = 0; i < sizeof(sorts) / sizeof(*sorts); i++) {
        if (!json_is(event->name, sorts[i].event) || !json_event_arg(event, sorts[i].key, &value))
            continue;
        struct json_row *row = find(rows, json_row_of(rows, event), sorts[i].is_process);
        if (!row)
            return error_no_memory("names of rows");
        if (strcmp(sorts[i].key, "sort_index") == 0) {
            row->sort_index = strtoll(value.at + json_is_string(value), NULL, 10);
            continue;
        }
        char **text = strcmp(sorts[i].key, "name") == 0 ? &row->name : &row->label;
        free(*text);
        *text = json_unescaped(value);
        return *text ? 0 : error_no_memory("names of rows");
    }
    return 0;
}

void json_rows_write(struct json_rows *rows, struct sink *sink)
{
    uint32_t owner = ROW_OWNER_UNKNOWN;
    for (size_t i = rows->items.count; i-- > 0;) {
        struct json_row *row = &rows->items.items[i];
        const char *word = word_of(rows, row->is_process ? row->row.pid : row->row.tid);
        /* The file does not say which process owns a GPU's row; usually there is only one process. */
        if (row->is_process && row->label && strcmp(row->label, "CPU") == 0)
            owner = row->row.pid;
        /* A row without a name is named by the word that is its pid or tid. */
        if (!row->name)
            row->name = word ? json_unescaped((struct json_text){word, strlen(word)}) : strdup("");
    }
    for (int threads = 0; threads < 2; threads++) {
        for (size_t i = 0; i < rows->items.count; i++) {
            const struct json_row *row = &rows->items.items[i];
            bool is_gpu = row->is_process && row->label && strncmp(row->label, "GPU ", 4) == 0;
            struct row_name name = {.row = row->row,
                                    .name = row->name ? row->name : "",
                                    .label = row->label,
                                    .owner = is_gpu ? owner : 0,
                                    .sort_index = row->sort_index};
            if (row->is_process != (bool)threads)
                sink_name_row(sink, row->is_process, &name);
        }
    }
}

void json_rows_write_further(const struct json_rows *rows, struct row row, uint32_t tid, unsigned number,
                             struct sink *sink)
{
    const struct json_row *known = FIND_ITEM(&rows->items, &rows->by_row, key_of(row, false));
    char name[256];
    if (known && known->name && *known->name)
        snprintf(name, sizeof(name), "%.200s (%u)", known->name, number + 1);
    else
        snprintf(name, sizeof(name), "%" PRIu32 " (%u)", row.tid, number + 1);
    sink->format->thread(
        sink,
        &(struct row_name){.row = {row.pid, tid}, .name = name, .sort_index = known ? known->sort_index : row.tid});
}

static void name_by_word(struct json_rows *rows, struct row row, bool is_process, struct json_text word,
                         struct sink *sink)
{
    struct json_row *named = find(rows, row, is_process);
    if (!named || named->name || !(named->name = json_unescaped(word)))
        return;
    struct row_name name = {.row = named->row, .name = named->name, .sort_index = named->sort_index};
    sink_name_row(sink, is_process, &name);
}

struct row json_rows_tell(struct json_rows *rows, const struct json_event *event, struct sink *sink)
{
    struct row row = json_row_of(rows, event);
    if (json_is_string(event->pid) && row.pid >= JSON_WORD_ROWS)
        name_by_word(rows, row, true, event->pid, sink);
    if (json_is_string(event->tid) && row.tid >= JSON_WORD_ROWS)
        name_by_word(rows, row, false, event->tid, sink);
    return row;
}

/* --- operations that overlap --- */

/* Tids of further rows, below those of words. */
#define FURTHER_TIDS UINT32_C(0x50000000)

void json_overlaps_release(struct json_overlaps *overlaps)
{
    array_release(&overlaps->rows);
    map_release(&overlaps->by_row);
    map_release(&overlaps->moved);
}

static uint64_t hash_of(struct row row, uint64_t value)
{
    uint64_t key[] = {(uint64_t)row.pid << 32 | row.tid, value};
    return hash_bytes(key, sizeof(key));
}

static struct json_overlap_row *find_row(struct json_overlaps *overlaps, struct row row, unsigned lane)
{
    size_t known = overlaps->rows.count;
    struct json_overlap_row *found = PUT_ITEM(&overlaps->rows, &overlaps->by_row, hash_of(row, lane));
    if (found && overlaps->rows.count > known) {
        found->tid = lane == 0 ? row.tid : FURTHER_TIDS + overlaps->further++;
        found->is_new = lane > 0;
    }
    return found;
}

int json_overlaps_place(struct json_overlaps *overlaps, const struct json_rows *rows, struct sink *sink,
                        struct slice *slice)
{
    struct row row = slice->row;
    struct json_overlap_row *place;
    unsigned lane = 0;
    /* The first row whose last slice nests with this one, or does not overlap it. */
    for (; (place = find_row(overlaps, row, lane)); lane++) {
        bool apart = slice->start >= place->end || slice->end <= place->start;
        bool within = slice->start >= place->start && slice->end <= place->end;
        if (apart || within || (slice->start <= place->start && slice->end >= place->end))
            break;
    }
    uint64_t *moved = place && lane > 0 ? map_put(&overlaps->moved, hash_of(row, slice->start), NULL) : NULL;
    if (!place || (lane > 0 && !moved))
        return error_no_memory("rows of operations that overlap");
    if (slice->end > place->end || slice->start < place->start) {
        place->start = slice->start;
        place->end = slice->end;
    }
    if (place->is_new)
        json_rows_write_further(rows, row, place->tid, lane, sink);
    place->is_new = false;
    slice->row.tid = place->tid;
    if (moved)
        *moved = place->tid;
    return 0;
}

struct row json_overlaps_row(const struct json_overlaps *overlaps, struct row row, uint64_t start)
{
    const uint64_t *moved = overlaps->further > 0 ? map_get(&overlaps->moved, hash_of(row, start)) : NULL;
    return moved ? (struct row){row.pid, (uint32_t)*moved} : row;
}

/* --- slices that begin and end with separate events --- */

#define HELD_MOST (PAIRS_OPEN_MOST + PAIRS_OPEN_MOST / 4)
#define NO_PARTNER UINT32_MAX
#define DEPTH_MOST 64 /* innermost slices that are searched for the name of an end */

void pairs_init(struct pairs *pairs, int (*pass)(void *, const char *, size_t, const char *, size_t), void *context)
{
    *pairs = (struct pairs){.pass = pass, .context = context};
    buffer_init_memory(&pairs->bytes);
}

void pairs_release(struct pairs *pairs)
{
    array_release(&pairs->events);
    array_release(&pairs->open);
    buffer_release(&pairs->bytes);
}

ORDER_BY(by_row_and_time, struct pairs_event, row, time, at)
ORDER_BY(by_place, struct pairs_event, at)

static bool is_end_of(const struct pairs_event *end, const struct pairs_event *begin)
{
    return end->row == begin->row && begin->kind == PAIRS_BEGIN && (end->name == 0 || end->name == begin->name);
}

/* Pairs END with the innermost open slice that it can end. */
static void end_slice(struct pairs *pairs, uint32_t end)
{
    struct pairs_event *events = pairs->events.items;
    size_t count = pairs->open.count, least = count > DEPTH_MOST ? count - DEPTH_MOST : 0;
    for (size_t i = count; i-- > least;) {
        uint32_t *open = &pairs->open.items[i];
        if (!is_end_of(&events[end], &events[*open]))
            continue;
        events[*open].partner = end;
        memmove(open, open + 1, (count - i - 1) * sizeof(*open));
        pairs->open.count--;
        return;
    }
    pairs->unmatched++;
}

static int find_partners(struct pairs *pairs)
{
    struct pairs_event *events = pairs->events.items;
    for (uint32_t i = 0; i < pairs->events.count; i++) {
        if (i == 0 || events[i].row != events[i - 1].row)
            pairs->open.count = 0;
        uint32_t *open = events[i].kind == PAIRS_BEGIN ? array_push(&pairs->open) : NULL;
        if (open)
            *open = i;
        else if (events[i].kind == PAIRS_BEGIN)
            return error_no_memory("slices that are begun and not ended");
        else if (events[i].kind == PAIRS_END)
            end_slice(pairs, i);
    }
    return 0;
}

static int pass(const struct pairs *pairs, const struct pairs_event *begin, const struct pairs_event *end)
{
    const char *bytes = pairs->bytes.data;
    return pairs->pass(pairs->context, bytes + begin->at, begin->size, end ? bytes + end->at : NULL,
                       end ? end->size : 0);
}

/* Keeps only the begins without an end, up to PAIRS_OPEN_MOST: the other events were passed on. */
static void keep_open(struct pairs *pairs)
{
    struct pairs_event *events = pairs->events.items;
    size_t kept = 0, bytes = 0;
    for (size_t i = 0; i < pairs->events.count; i++)
        if (events[i].kind != PAIRS_END && events[i].partner == NO_PARTNER)
            events[kept++] = events[i];
    pairs->events.count = kept;
    qsort(events, kept, sizeof(*events), by_place);
    for (kept = 0; kept < pairs->events.count; kept++) {
        if (bytes + events[kept].size + (kept + 1) * sizeof(*events) > PAIRS_OPEN_MOST)
            break;
        memmove(pairs->bytes.data + bytes, pairs->bytes.data + events[kept].at, events[kept].size);
        events[kept].at = bytes;
        bytes += events[kept].size;
    }
    pairs->too_many += pairs->events.count - kept;
    pairs->events.count = kept;
    pairs->bytes.length = bytes;
}

/* Passes on the slices with both events, enclosing slices first. LAST: also those without an end. */
static int flush(struct pairs *pairs, bool last)
{
    struct pairs_event *events = pairs->events.items;
    if (pairs->events.count > 0)
        qsort(events, pairs->events.count, sizeof(*events), by_row_and_time);
    int result = find_partners(pairs);
    for (size_t i = 0; i < pairs->events.count && result == 0; i++) {
        bool begins = events[i].kind != PAIRS_END, ended = events[i].partner != NO_PARTNER;
        if (begins && (ended || last))
            result = pass(pairs, &events[i], ended ? &events[events[i].partner] : NULL);
        pairs->unended += begins && !ended && last;
    }
    if (!last)
        keep_open(pairs);
    return result;
}

int pairs_add(struct pairs *pairs, struct pairs_event event, const char *bytes, size_t size, bool at_once)
{
    struct pairs_event *last = pairs->events.count > 0 ? &pairs->events.items[pairs->events.count - 1] : NULL;
    if (at_once && event.kind == PAIRS_END && last && is_end_of(&event, last)) {
        int result = pairs->pass(pairs->context, pairs->bytes.data + last->at, last->size, bytes, size);
        pairs->bytes.length = last->at;
        pairs->events.count--;
        return result;
    }
    if (pairs->bytes.length + size + pairs->events.count * sizeof(event) > HELD_MOST && flush(pairs, false) != 0)
        return -1;
    event.at = pairs->bytes.length;
    event.size = (uint32_t)size;
    event.partner = NO_PARTNER;
    buffer_bytes(&pairs->bytes, bytes, size);
    struct pairs_event *added = array_push(&pairs->events);
    if (!added || pairs->bytes.failure)
        return error_no_memory("slices that are begun and not ended");
    *added = event;
    return 0;
}

int pairs_finish(struct pairs *pairs, const char *path)
{
    int result = flush(pairs, true);
    if (result == 0 && pairs->unmatched > 0)
        warning("'%s': %" PRIu64 " %s no begin", path, pairs->unmatched,
                pairs->unmatched == 1 ? "end of a slice or range is left out, as it has"
                                      : "ends of slices or ranges are left out, as they have");
    if (result == 0 && pairs->unended > 0)
        warning("'%s': %" PRIu64 " %s to the end of the trace", path, pairs->unended,
                pairs->unended == 1 ? "slice or range has no end, and lasts"
                                    : "slices or ranges have no end, and last");
    if (result == 0 && pairs->too_many > 0)
        warning("'%s': %" PRIu64 " range%s left out, as more than %zu MiB of them are begun and not ended", path,
                pairs->too_many, pairs->too_many == 1 ? " is" : "s are", PAIRS_OPEN_MOST >> 20);
    return result;
}
