#include "trace/json/source_index.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "trace/sink.h"

/* For what is no number, such as the "Spans" of Kineto. */
#define WORD_ROWS UINT32_C(0x60000000)

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
    while (digits < text.length && text.at[digits] >= '0' && text.at[digits] <= '9' && number <= INT32_MAX)
        number = number * 10 + (uint64_t)(text.at[digits++] - '0');
    if (digits == text.length && number <= INT32_MAX)
        return (uint32_t)number;
    return WORD_ROWS + (intern(&rows->words, text.at, text.length) & 0xfffffff);
}

struct row json_row_of(struct json_rows *rows, const struct json_event *event)
{
    return (struct row){json_row_number(rows, event->pid), json_row_number(rows, event->tid)};
}

static struct json_row *find(struct json_rows *rows, struct row row, bool is_process)
{
    struct {
        struct row row;
        uint32_t is_process;
    } key = {is_process ? (struct row){row.pid, 0} : row, is_process};
    uint64_t *index = map_put(&rows->by_row, hash_bytes(&key, sizeof(key)), NULL);
    struct json_row *found = index && *index == 0 ? array_push(&rows->items) : NULL;
    if (!index || (*index == 0 && !found))
        return NULL;
    if (found) {
        *found = (struct json_row){.row = is_process ? (struct row){row.pid, row.pid} : row, .is_process = is_process};
        *index = rows->items.count;
    }
    return &rows->items.items[*index - 1];
}

static int set_text(char **place, struct json_text value)
{
    free(*place);
    *place = json_unescaped(value);
    return *place ? 0 : error_no_memory("names of rows");
}

static bool is_named(const struct json_event *event, const char *word)
{
    return event->name.length == strlen(word) && memcmp(event->name.at, word, event->name.length) == 0;
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
        if (!is_named(event, sorts[i].event) || !json_event_arg(event, sorts[i].key, &value))
            continue;
        struct json_row *row = find(rows, json_row_of(rows, event), sorts[i].is_process);
        if (!row)
            return error_no_memory("names of rows");
        if (strcmp(sorts[i].key, "sort_index") == 0)
            row->sort_index = strtoll(value.at, NULL, 10);
        else
            return set_text(strcmp(sorts[i].key, "name") == 0 ? &row->name : &row->label, value);
    }
    return 0;
}

/* A row that only its order was told of: by its word, if it has one. */
static void name_nameless(const struct json_rows *rows, struct json_row *row)
{
    uint32_t number = row->is_process ? row->row.pid : row->row.tid;
    if (row->name)
        return;
    if (number >= WORD_ROWS && number - WORD_ROWS < rows->words.count) {
        const char *word = interned(&rows->words, number - WORD_ROWS);
        row->name = json_unescaped((struct json_text){word, strlen(word)});
    } else {
        row->name = strdup("");
    }
}

static bool is_gpu(const struct json_row *row)
{
    return row->is_process && row->label && strncmp(row->label, "GPU ", 4) == 0;
}

/* Whose work GPUs did is not told; as a rule there is one process. */
static uint32_t find_owner(const struct json_rows *rows)
{
    for (size_t i = 0; i < rows->items.count; i++) {
        const struct json_row *row = &rows->items.items[i];
        if (row->is_process && row->label && strcmp(row->label, "CPU") == 0)
            return row->row.pid;
    }
    return ROW_OWNER_UNKNOWN;
}

void json_rows_write(struct json_rows *rows, struct sink *sink)
{
    uint32_t owner = find_owner(rows);
    for (size_t i = 0; i < rows->items.count; i++)
        name_nameless(rows, &rows->items.items[i]);
    for (int threads = 0; threads < 2; threads++) {
        for (size_t i = 0; i < rows->items.count; i++) {
            const struct json_row *row = &rows->items.items[i];
            struct row_name name = {.row = row->row,
                                    .name = row->name ? row->name : "",
                                    .label = row->label,
                                    .owner = is_gpu(row) ? owner : 0,
                                    .sort_index = row->sort_index};
            if (row->is_process && !threads)
                sink->format->process(sink, &name);
            else if (!row->is_process && threads)
                sink->format->thread(sink, &name);
        }
    }
}

static void tell_word(struct json_rows *rows, struct row row, bool is_process, struct json_text word, struct sink *sink)
{
    struct json_row *told = find(rows, row, is_process);
    if (!told || told->name || !(told->name = json_unescaped(word)))
        return;
    struct row_name name = {.row = told->row, .name = told->name, .sort_index = told->sort_index};
    if (is_process)
        sink->format->process(sink, &name);
    else
        sink->format->thread(sink, &name);
}

struct row json_rows_tell(struct json_rows *rows, const struct json_event *event, struct sink *sink)
{
    struct row row = json_row_of(rows, event);
    if (json_is_string(event->pid))
        tell_word(rows, row, true, event->pid, sink);
    if (json_is_string(event->tid))
        tell_word(rows, row, false, event->tid, sink);
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
