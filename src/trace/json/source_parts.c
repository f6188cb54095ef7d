/*
 * Members of events without a tree of them, the table of rows (pid and tid may be words), and ids of flows, which
 * become numbers of ours. Rows of GPUs are recognised by the names that other profilers give to processes and threads.
 */
#include "trace/json/source_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/log.h"
#include "trace/event_fields.h"
#include "trace/sink.h"

/* Whether a row is a GPU's, by REST, what its name has behind the number of the GPU. JAX has nothing there. The row
 * "stream:all" of TensorFlow 1 has all operations, which its other rows repeat. */
static bool is_gpu(const char *rest, const char *thread)
{
    if (strcmp(rest, "/stream:all Compute") == 0)
        return true;
    return *rest == '\0' && (*thread == '\0' || strncmp(thread, "Stream", strlen("Stream")) == 0);
}

/* "/device:GPU:1", "/gpu:1" before TensorFlow 1.4, and "GPU1" of rocprof. -1: it is not the process of a GPU. */
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

/* Old PyTorch has the word itself as the process's number. */
static bool is_word(const char *process, const char *word)
{
    process += *process == '"';
    return strncmp(process, word, strlen(word)) == 0 &&
           strspn(process + strlen(word), "\"") == strlen(process + strlen(word));
}

/* Whether an operation of Ascend only makes its stream wait. */
static bool is_wait(const char *name)
{
    static const char *const starts[] = {"EVENT_", "CAPTURE_", "STREAM_WAIT_EVENT", "MEM_WAIT_VALUE",
                                         "MEM_WRITE_VALUE"};
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static bool has(const char *name, const char *word)
{
    return strcasestr(name, word);
}

/* What a slice NAME is, in thread TID of this name, which may be empty, of a process. A category of CATEGORY_OTHER:
 * the names do not say it. */
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
    bool waits = is_wait(name) || has(name, "notify_");
    if (row.category == CATEGORY_KERNEL)
        row.category = waits                 ? CATEGORY_OTHER
                       : has(name, "memcpy") ? CATEGORY_GPU_MEMCPY
                       : has(name, "memset") ? CATEGORY_GPU_MEMSET
                                             : CATEGORY_KERNEL;
    if (!category_in(row.category, CATEGORIES_GPU_OPS))
        return (struct gpu_row){row.category, -1, -1};
    if (is_word(process, "CUDA functions")) /* a thread for each GPU */
        row.device = tid;
    row.device = row.device < 0 ? 0 : row.device;
    const char *digits = strpbrk(thread, "0123456789");
    row.stream = digits && strncmp(thread, "Stream", strlen("Stream")) == 0 ? strtoll(digits, NULL, 10) : tid;
    return row;
}

static struct json_text inside(struct json_text text)
{
    return json_is_string(text) ? (struct json_text){text.at + 1, text.length - 2} : (struct json_text){0};
}

uint64_t json_id(struct json_text text)
{
    char digits[24] = "";
    event_id number;
    if (text.length == 0)
        return 0;
    if (json_is_string(text) && !event_id_of_digits(text.at + 1, text.length - 2, &number))
        return hash_bytes(text.at, text.length) >> 2;
    text = json_is_string(text) ? inside(text) : text;
    memcpy(digits, text.at, text.length < sizeof(digits) ? text.length : sizeof(digits) - 1);
    return strtoull(digits, NULL, 10);
}

uint64_t json_range_id(const struct json_event *event)
{
    struct json_text id = event->id, scope = event->scope,
                     pid = event->id_is_local ? event->pid : (struct json_text){0};
    const uint64_t parts[] = {json_id(id), hash_bytes(scope.at, scope.length), hash_bytes(pid.at, pid.length)};
    return scope.length + pid.length > 0 ? hash_bytes(parts, sizeof(parts)) >> 2 : parts[0];
}

int64_t json_ns(struct json_text text)
{
    int64_t ns;
    char digits[64];
    text = json_is_string(text) ? inside(text) : text;
    if (json_exact_ns(text, &ns))
        return ns;
    size_t length = text.length < sizeof(digits) - 1 ? text.length : sizeof(digits) - 1;
    memcpy(digits, text.at, length);
    digits[length] = '\0';
    double value = strtod(digits, NULL) * 1e3;
    return value > -9e18 && value < 9e18 ? llround(value) : 0;
}

struct json_event json_event_read(struct json_text text)
{
    struct json_event event = {0};
    struct json_text key, value, phase = {0};
    bool has_duration = false;
    const char *at = text.at + 1, *end = text.at + text.length;
    if (text.length < 2 || text.at[0] != '{')
        return event;
    while (json_member(&at, end, &key, &value)) {
        if (json_is(key, "ph"))
            phase = inside(value);
        else if (json_is(key, "cat"))
            event.category = inside(value);
        else if (json_is(key, "name"))
            event.name = inside(value);
        else if (json_is(key, "pid"))
            event.pid = value;
        else if (json_is(key, "tid"))
            event.tid = value;
        else if (json_is(key, "id"))
            event.id = value;
        else if (json_is(key, "id2") && value.at[0] == '{' &&
                 json_member(&(const char *){value.at + 1}, end, &key, &event.id))
            event.id_is_local = json_is(key, "local");
        else if (json_is(key, "scope"))
            event.scope = value;
        else if (json_is(key, "bind_id"))
            event.bind_id = value;
        else if (json_is(key, "flow_out"))
            event.flow_out = value.at[0] == 't';
        else if (json_is(key, "flow_in"))
            event.flow_in = value.at[0] == 't';
        else if (json_is(key, "args") && value.at[0] == '{')
            event.args = value;
        else if (json_is(key, "ts"))
            event.time = json_ns(value);
        else if (json_is(key, "dur") && (has_duration = true))
            event.duration = json_ns(value) > 0 ? (uint64_t)json_ns(value) : 0;
    }
    event.phase = phase.length == 1 ? json_phase(phase.at[0]) : '\0';
    event.is_open = event.phase == 'X' && !has_duration;
    return event;
}

bool json_event_arg(const struct json_event *event, const char *word, struct json_text *value)
{
    struct json_text key;
    if (event->args.length == 0)
        return false;
    const char *at = event->args.at + 1, *end = event->args.at + event->args.length;
    while (json_member(&at, end, &key, value))
        if (json_is(key, word))
            return true;
    return false;
}

char *json_unescaped(struct json_text text)
{
    struct json_text plain = inside(text);
    if (!json_is_string(text) || !memchr(plain.at, '\\', plain.length))
        return json_is_string(text) ? strndup(plain.at, plain.length) : strndup(text.at, text.length);
    struct buffer out;
    buffer_init_memory(&out);
    json_unescape(&out, plain);
    buffer_char(&out, '\0');
    if (!out.failure)
        return out.data;
    buffer_release(&out);
    return NULL;
}

/* The value is followed by ',' or '}'. What no 64-bit integer holds is a double, and so is -0. */
static void read_number(struct counter_value *value, const char *at)
{
    char *after;
    errno = 0;
    if (*at == '-') {
        value->kind = COUNTER_SIGNED;
        value->i64 = strtoll(at, &after, 10);
    } else {
        value->kind = COUNTER_UNSIGNED;
        value->u64 = strtoull(at, &after, 10);
    }
    if (errno == 0 && (*after == '\0' || !strchr(".eE", *after)) && (*at != '-' || value->i64 != 0))
        return;
    value->kind = COUNTER_REAL;
    value->real = strtod(at, NULL);
    if (!isfinite(value->real))
        value->real = copysign(__DBL_MAX__, value->real);
}

/* Names without escapes are put into TEXTS, which has space for all. */
static int read_values(const struct json_event *event, struct counter_values *values, struct buffer *texts)
{
    values->count = texts->length = 0;
    if (event->args.length == 0)
        return 0;
    const char *at = event->args.at + 1, *end = event->args.at + event->args.length;
    struct json_text key, value;
    if (!buffer_reserve(texts, event->args.length))
        return error_no_memory("a counter's values");
    while (json_member(&at, end, &key, &value)) {
        struct counter_value *read = array_push(values);
        if (!read)
            return error_no_memory("a counter's values");
        size_t start = texts->length;
        if (memchr(key.at, '\\', key.length)) {
            json_unescape(texts, key);
            key = (struct json_text){texts->data + start, texts->length - start};
        }
        *read = (struct counter_value){.name = key.at, .length = key.length, .kind = COUNTER_UNSIGNED};
        value.at += json_is_string(value);
        if (*value.at == '-' || (*value.at >= '0' && *value.at <= '9')) /* else it is 0 */
            read_number(read, value.at);
    }
    return 0;
}

int json_counter_read(struct counter *counter, const struct json_event *event, struct counter_values *values,
                      struct buffer *texts)
{
    if (read_values(event, values, texts) < 0)
        return -1;
    counter->values = values->items;
    counter->value_count = values->count;
    if (values->count != 1)
        return 0;
    const struct counter_value *only = &values->items[0];
    const struct json_text name = {only->name, only->length};
    const int64_t most = INT64_C(1) << 53; /* of the integers that a double holds */
    bool is_exact = only->kind == COUNTER_REAL || (only->kind == COUNTER_UNSIGNED && only->u64 <= (uint64_t)most) ||
                    (only->kind == COUNTER_SIGNED && only->i64 >= -most);
    if (json_is(name, "bytes") && only->kind == COUNTER_UNSIGNED) {
        counter->bytes = only->u64;
        counter->value_count = 0;
    } else if (json_is(name, "value") && is_exact) {
        counter->real = true;
        counter->value = only->kind == COUNTER_REAL ? only->real : (double)only->i64;
        counter->value_count = 0;
    }
    return 0;
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
    struct json_text quoted = inside(text);
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

/* "" for a row without a name and a word. */
static const char *row_text(const struct json_rows *rows, struct row row, bool is_process)
{
    const uint64_t *index = map_get(&rows->by_row, key_of(row, is_process));
    const char *name = index ? rows->items.items[*index - 1].name : NULL;
    return name ?: word_of(rows, is_process ? row.pid : row.tid) ?: "";
}

struct gpu_row json_rows_gpu(const struct json_rows *rows, struct row row, const char *name)
{
    return gpu_row_find(row_text(rows, row, true), row_text(rows, row, false), row.tid, name);
}

static struct json_row *find(struct json_rows *rows, struct row row, bool is_process)
{
    uint64_t *index = map_put(&rows->by_row, key_of(row, is_process), NULL);
    struct json_row *found = index && *index == 0 ? array_push(&rows->items) : NULL;
    if (!index || (*index == 0 && !found))
        return NULL;
    if (found) {
        *found = (struct json_row){.row = is_process ? (struct row){row.pid, row.pid} : row, .is_process = is_process};
        *index = rows->items.count;
    }
    return &rows->items.items[*index - 1];
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
        /* The file does not say whose work a GPU did; as a rule there is one process. */
        if (row->is_process && row->label && strcmp(row->label, "CPU") == 0)
            owner = row->row.pid;
        /* A row of which only the order is known has the name of its word. */
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
            if (row->is_process && !threads)
                sink->format->process(sink, &name);
            else if (!row->is_process && threads)
                sink->format->thread(sink, &name);
        }
    }
}

void json_rows_write_further(const struct json_rows *rows, struct row row, uint32_t tid, unsigned number,
                             struct sink *sink)
{
    const struct json_row *known = NULL;
    char name[256];
    for (size_t i = 0; i < rows->items.count && !known; i++)
        if (!rows->items.items[i].is_process && rows->items.items[i].row.pid == row.pid &&
            rows->items.items[i].row.tid == row.tid)
            known = &rows->items.items[i];
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
    if (is_process)
        sink->format->process(sink, &name);
    else
        sink->format->thread(sink, &name);
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

void flow_ids_release(struct flow_ids *ids)
{
    map_release(&ids->seen);
    map_release(&ids->several);
    array_release(&ids->fans);
}

static struct flow_fan *find_fan(const struct flow_ids *ids, uint32_t bind_id)
{
    uint64_t *index = ids->fans.count > 0 ? map_get(&ids->several, bind_id) : NULL;
    return index ? &ids->fans.items[*index - 1] : NULL;
}

static int note_further(struct flow_ids *ids, uint32_t bind_id)
{
    struct flow_fan *fan = find_fan(ids, bind_id);
    if (!fan) {
        fan = array_push(&ids->fans);
        uint64_t *index = fan ? map_put(&ids->several, bind_id, NULL) : NULL;
        if (!index)
            return error_no_memory("flows");
        *index = ids->fans.count;
    }
    fan->further++;
    return 0;
}

int flow_ids_note(struct flow_ids *ids, uint32_t bind_id, bool is_head)
{
    if (bind_id > ids->highest)
        ids->highest = bind_id;
    if (!is_head)
        return 0;
    uint64_t *bits = map_put(&ids->seen, bind_id / 64, NULL), bit = UINT64_C(1) << bind_id % 64;
    if (!bits)
        return error_no_memory("flows");
    if (*bits & bit)
        return note_further(ids, bind_id);
    *bits |= bit;
    return 0;
}

void flow_ids_number(struct flow_ids *ids)
{
    uint64_t next = (uint64_t)ids->highest + 1;
    for (size_t i = 0; i < ids->fans.count; i++) {
        struct flow_fan *fan = &ids->fans.items[i];
        fan->first = next + fan->further - 1 <= UINT32_MAX ? (uint32_t)next : 0;
        next += fan->further;
    }
}

uint32_t flow_ids_count(const struct flow_ids *ids, uint32_t bind_id)
{
    const struct flow_fan *fan = find_fan(ids, bind_id);
    return fan && fan->first != 0 ? 1 + fan->further : 1;
}

uint32_t flow_ids_tail(const struct flow_ids *ids, uint32_t bind_id, uint32_t i)
{
    return i == 0 ? bind_id : find_fan(ids, bind_id)->first + i - 1;
}

uint32_t flow_ids_head(struct flow_ids *ids, uint32_t bind_id)
{
    struct flow_fan *fan = find_fan(ids, bind_id);
    uint32_t before = fan ? fan->met++ : 0;
    return before == 0 ? bind_id : fan->first != 0 ? fan->first + before - 1 : 0;
}
