/*
 * Metadata of a cut: reads which rows belong to GPUs and ranks, and writes what concerns the processes in the part.
 */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/json_out.h"
#include "trace/cut_metadata.h"
#include "trace/json/text.h"

#define RANKS_KEY "distributedInfo"

/* --- the first reading --- */

/* Records the rank in the object TOLD as that of PROCESS, or of the whole trace if PROCESS is EVENT_NO_ID. */
static void scan_rank_of(struct cut *cut, event_id process, const cJSON *told)
{
    const cJSON *rank = cJSON_GetObjectItemCaseSensitive(told, "rank");
    if (cJSON_IsNumber(rank))
        selection_add_rank(&cut->selection, process, rank->valueint);
}

/* Reads distributedInfo and {"processes": [{"pid": 583, "rank": 3, "gpu_pids": {"0": 1073742848, …}}, …], …}. */
void cut_scan_metadata(struct sink *sink, const char *key, const char *value, size_t size)
{
    struct cut *cut = cut_of(sink);
    bool own = strcmp(key, "gputrace") == 0, ranks = strcmp(key, RANKS_KEY) == 0;
    cJSON *told = own || ranks ? cJSON_ParseWithLength(value, size) : NULL;
    const cJSON *processes = own ? cJSON_GetObjectItemCaseSensitive(told, "processes") : NULL, *process;
    cut->has_rank |= ranks;
    if (ranks)
        scan_rank_of(cut, EVENT_NO_ID, told);
    cJSON_ArrayForEach(process, processes)
    {
        const cJSON *pid = cJSON_GetObjectItemCaseSensitive(process, "pid");
        if (!cJSON_IsNumber(pid))
            continue;

        const cJSON *gpus = cJSON_GetObjectItemCaseSensitive(process, "gpu_pids"), *gpu;
        cJSON_ArrayForEach(gpu, gpus)
        {
            bool known = cJSON_IsNumber(gpu) && gpu->string && gpu->valueint >= 0;
            if (!known)
                continue;
            selection_add_row(&cut->selection, &(struct trace_gpu_row){.row = event_id_number(gpu->valueint),
                                                                       .process = event_id_number(pid->valueint),
                                                                       .device = strtoll(gpu->string, NULL, 10)});
        }
        scan_rank_of(cut, event_id_number(pid->valueint), process);
    }
    cJSON_Delete(told);
}

/* --- the second reading --- */

/* The rank of the processes in the part. */
struct only_rank {
    bool several;
    uint64_t rank, world_size;
    struct json_text process; /* a process with the rank, preferably one with distributedInfo; NULL: none */
    struct json_text told;    /* distributedInfo of `process`; NULL: none */
};

static void scan_rank(struct only_rank *only, struct json_text process)
{
    uint64_t rank;
    const struct json_text told = json_find(process, RANKS_KEY);
    if (!json_integer(json_find(process, "rank"), &rank))
        return;
    only->several |= only->process.at && rank != only->rank;
    only->rank = rank;
    if (only->process.at && (only->told.at || !told.at))
        return;
    only->process = process;
    only->told = told;
    if (!json_integer(json_find(process, "world_size"), &only->world_size))
        only->world_size = 0;
}

/* Writes the value of the key "gputrace" without the processes that are not in the part. */
static void put_own(const struct cut *cut, struct json_text own, struct only_rank *only, struct json_out *json)
{
    struct json_text key, value, item;
    uint64_t pid;
    json_begin_object(json);
    for (const char *at = own.at + 1, *end = own.at + own.length; json_member(&at, end, &key, &value);) {
        json_key_raw(json, key.at, key.length);
        if (!json_is(key, "processes") || *value.at != '[') {
            json_raw(json, value.at, value.length);
            continue;
        }
        json_begin_array(json);
        for (const char *next = value.at + 1; json_element(&next, value.at + value.length, &item);) {
            bool known = *item.at == '{' && json_integer(json_find(item, "pid"), &pid);
            if (!known || !selection_has_process(&cut->selection, event_id_number((int64_t)pid)))
                continue;
            scan_rank(only, item);
            json_raw(json, item.at, item.length);
        }
        json_end(json);
    }
    json_end(json);
}

/* HTA finds the rank only if a blank precedes it. */
static void put_rank_member(struct buffer *out, const char *key, uint64_t value)
{
    buffer_text(out, out->length > 1 ? ", \"" : "\"");
    buffer_text(out, key);
    buffer_text(out, "\": ");
    buffer_u64(out, value);
}

static void write_value(struct cut *cut, const char *key, struct buffer *text)
{
    cut->selection.no_memory |= text->failure != 0;
    if (!text->failure)
        cut->whole->format->metadata(cut->whole, key, text->data, text->length);
    buffer_release(text);
}

static void write_own(struct cut *cut, struct json_text own)
{
    struct only_rank only = {.several = false};
    struct json_out json;
    struct buffer text;
    buffer_init_memory(&text);
    json_out_init(&json, &text, false);
    put_own(cut, own, &only, &json);
    write_value(cut, "gputrace", &text);
    if (!only.process.at || only.several || cut->has_rank)
        return;
    buffer_init_memory(&text);
    buffer_char(&text, '{');
    put_rank_member(&text, "rank", only.rank);
    if (only.world_size > 0)
        put_rank_member(&text, "world_size", only.world_size);
    if (only.told.at) { /* the other members of distributedInfo */
        struct json_text key, value;
        for (const char *at = only.told.at + 1, *end = only.told.at + only.told.length;
             json_member(&at, end, &key, &value);) {
            if (json_is(key, "rank") || json_is(key, "world_size"))
                continue;
            buffer_text(&text, ", \"");
            buffer_bytes(&text, key.at, key.length);
            buffer_text(&text, "\": ");
            buffer_bytes(&text, value.at, value.length);
        }
    }
    buffer_char(&text, '}');
    write_value(cut, RANKS_KEY, &text);
}

void cut_write_metadata(struct sink *sink, const char *key, const char *value, size_t size)
{
    struct cut *cut = cut_of(sink);
    bool fewer = cut->options->process.given || cut->options->rank.given;
    if (fewer && strcmp(key, "gputrace") == 0 && size > 0 && *value == '{')
        write_own(cut, (struct json_text){value, size});
    else if (strcmp(key, CUT_KEY) != 0) /* of an earlier cut, which write_begin() replaces */
        cut->whole->format->metadata(cut->whole, key, value, size);
}
