#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/settings.h"
#include "analysis/metadata.h"
#include "analysis/trace.h"

/* What stands around the events: the GPUs, and what gputrace wrote about the run under its own key. */

static int read_text(struct trace *trace, const char *text, uint32_t *number)
{
    *number = intern(&trace->strings, text, strlen(text));
    return *number == INTERN_NO_MEMORY ? -1 : 0;
}

static int read_device(struct trace *trace, const cJSON *properties)
{
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(properties, "id");
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(properties, "name");
    if (!cJSON_IsNumber(id) || !cJSON_IsString(name))
        return 0;
    struct trace_device *device = trace_device(trace, id->valueint);
    return device ? read_text(trace, name->valuestring, &device->name) : -1;
}

static int read_loss(struct trace *trace, const cJSON *loss)
{
    if (!cJSON_IsNumber(loss) || !(loss->valuedouble >= 1 && loss->valuedouble < 9e18))
        return 0;
    struct trace_loss *added = array_push(&trace->losses);
    if (!added)
        return -1;
    added->count = (int64_t)loss->valuedouble;
    return read_text(trace, loss->string, &added->name);
}

/* A command line as it was typed, or as the program was given it. */
static int read_command(struct trace *trace, const cJSON *value)
{
    if (cJSON_IsString(value))
        return read_text(trace, value->valuestring, &trace->program);
    char line[4096] = "";
    size_t length = 0;
    const cJSON *word = cJSON_IsArray(value) ? value->child : NULL;
    for (; word && cJSON_IsString(word); word = word->next) {
        size_t size = strlen(word->valuestring);
        if (size + 2 > sizeof(line) - length)
            break;
        if (length > 0)
            line[length++] = ' ';
        memcpy(line + length, word->valuestring, size + 1);
        length += size;
    }
    return length ? read_text(trace, line, &trace->program) : 0;
}

/* 0: not known. */
static int64_t bytes_of(const cJSON *object, const char *key)
{
    int64_t number = metadata_number(object, key);
    return number == EVENT_NONE ? 0 : number;
}

/* [{"pool": "0x7f…", "device": 0, "reserved_peak": 33554432, "used_peak": 4096}, …] */
static int read_pools(struct trace *trace, const cJSON *pid, const cJSON *pools)
{
    for (const cJSON *pool = cJSON_IsArray(pools) ? pools->child : NULL; pool; pool = pool->next) {
        const cJSON *device = cJSON_GetObjectItemCaseSensitive(pool, "device");
        if (!cJSON_IsNumber(device))
            continue;
        struct trace_pool *added = array_push(&trace->pools);
        if (!added)
            return -1;
        *added = (struct trace_pool){.process = event_id_number(pid->valueint),
                                     .device = device->valueint,
                                     .reserved_peak = bytes_of(pool, "reserved_peak"),
                                     .used_peak = bytes_of(pool, "used_peak")};
    }
    return 0;
}

int64_t trace_pool_peak(const struct trace *trace, int64_t device, const event_id *process, bool reserved)
{
    int64_t most = 0;
    for (size_t i = 0; i < trace->pools.count; i++) {
        const struct trace_pool *pool = &trace->pools.items[i];
        int64_t peak = reserved ? pool->reserved_peak : pool->used_peak;
        if (pool->device == device && (!process || pool->process == *process) && peak > most)
            most = peak;
    }
    return most;
}

/* {"pid": 583, "gpu_pids": {"0": 1073742848, …}, …} */
static int read_process(struct trace *trace, const cJSON *process)
{
    const cJSON *pid = cJSON_GetObjectItemCaseSensitive(process, "pid");
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(process, "gpu_pids");
    if (!cJSON_IsNumber(pid) || !cJSON_IsObject(rows))
        return 0;
    for (const cJSON *row = rows->child; row; row = row->next) {
        struct trace_gpu_row *added = cJSON_IsNumber(row) ? array_push(&trace->gpu_rows) : NULL;
        if (!added)
            return cJSON_IsNumber(row) ? -1 : 0;
        added->row = event_id_number(row->valueint);
        added->process = event_id_number(pid->valueint);
        added->device = strtoll(row->string, NULL, 10);
    }
    return read_pools(trace, pid, cJSON_GetObjectItemCaseSensitive(process, "pools"));
}

/* {"void add<float>(int)": "_Z3addIfEvi", …}: the names that --names=mangled shows. */
static int read_symbol(struct trace *trace, const cJSON *symbol)
{
    uint32_t readable, mangled;
    if (!cJSON_IsString(symbol))
        return 0;
    if (read_text(trace, symbol->string, &readable) < 0 || read_text(trace, symbol->valuestring, &mangled) < 0)
        return -1;
    while (trace->shown_names.count <= readable)
        if (!array_push(&trace->shown_names))
            return -1;
    trace->shown_names.items[readable] = mangled + 1;
    return 0;
}

static const char *const trace_words[] = {
#define BIT(name, word, on, text) word,
    TRACE_BITS(BIT)
#undef BIT
};
#define TRACE_WORDS (sizeof(trace_words) / sizeof(*trace_words))

/* {"trace": ["kernel", "memcpy", …], …} */
static void read_options(struct trace *trace, const cJSON *options)
{
    const char *calls = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(options, "api_calls"));
    trace->without_queries = calls && strcmp(calls, "without queries") == 0;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(options, "trace");
    if (!cJSON_IsArray(list))
        return;
    trace->unrecorded = TRACE_DEFAULT;
    for (const cJSON *word = list->child; word; word = word->next)
        for (size_t i = 0; cJSON_IsString(word) && i < TRACE_WORDS; i++)
            if (strcmp(word->valuestring, trace_words[i]) == 0)
                trace->unrecorded &= ~(UINT64_C(1) << i);
}

void trace_bit_words(uint64_t bits, char *text, size_t size)
{
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < TRACE_WORDS; i++) {
        if (!(bits >> i & 1) || length >= size)
            continue;
        int added = snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "", trace_words[i]);
        length += added > 0 ? (size_t)added : 0;
    }
}

/* --- processes that did not end by exit, in gputrace's metadata: see section_crashes.c --- */

static int64_t number_of(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    bool fits = cJSON_IsNumber(value) && value->valuedouble > -9e18 && value->valuedouble < 9e18;
    return fits ? (int64_t)value->valuedouble : EVENT_NONE;
}

/* Microseconds of the trace, as ns. */
static int64_t time_of(const cJSON *object)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, "ts");
    bool fits = cJSON_IsNumber(value) && value->valuedouble > -9e15 && value->valuedouble < 9e15;
    return fits ? (int64_t)(value->valuedouble * 1000 + (value->valuedouble < 0 ? -0.5 : 0.5)) : EVENT_NONE;
}

static int read_text_of(struct trace *trace, const cJSON *object, const char *key, uint32_t *number)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    *number = EVENT_NO_TEXT;
    if (!cJSON_IsString(value))
        return 0;
    return read_text(trace, value->valuestring, number);
}

static int read_open_call(struct trace *trace, int64_t pid, const cJSON *call)
{
    struct trace_open_call *added = array_push(&trace->open_calls);
    if (!added)
        return -1;
    *added = (struct trace_open_call){
        .pid = pid, .thread = number_of(call, "thread"), .stream = number_of(call, "stream"), .time = time_of(call)};
    if (read_text_of(trace, call, "function", &added->function) < 0 ||
        read_text_of(trace, call, "handle", &added->handle) < 0)
        return -1;
    return read_text_of(trace, call, "waits_for", &added->waits_for);
}

static int read_crash(struct trace *trace, const cJSON *process)
{
    const cJSON *state = cJSON_GetObjectItemCaseSensitive(process, "state");
    const cJSON *signal = cJSON_GetObjectItemCaseSensitive(process, "death");
    const cJSON *calls = cJSON_GetObjectItemCaseSensitive(process, "open_calls");
    if (!cJSON_IsString(state) || strcmp(state->valuestring, "finished") == 0)
        return 0;
    struct trace_crash *added = array_push(&trace->crashes);
    if (!added)
        return -1;
    *added = (struct trace_crash){.pid = number_of(process, "pid"),
                                  .signal = number_of(signal, "signal"),
                                  .thread = number_of(signal, "thread"),
                                  .sender = number_of(signal, "sender"),
                                  .time = time_of(signal)};
    if (read_text_of(trace, process, "state", &added->state) < 0 ||
        read_text_of(trace, signal, "words", &added->words) < 0 ||
        read_text_of(trace, signal, "address", &added->address) < 0)
        return -1;
    for (const cJSON *call = cJSON_IsArray(calls) ? calls->child : NULL; call; call = call->next)
        if (read_open_call(trace, added->pid, call) < 0)
            return -1;
    return 0;
}

/* --- all of it --- */

static int read_own(struct trace *trace, const cJSON *own)
{
    const struct {
        const char *key;
        uint32_t *place;
    } texts[] = {
        {"version", &trace->version}, {"host", &trace->host}, {"exit", &trace->ending}, {"missed", &trace->missed}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(own, texts[i].key);
        if (cJSON_IsString(value) && read_text(trace, value->valuestring, texts[i].place) < 0)
            return -1;
    }
    read_options(trace, cJSON_GetObjectItemCaseSensitive(own, "options"));
    const cJSON *losses = cJSON_GetObjectItemCaseSensitive(own, "losses");
    trace->losses_known = cJSON_IsObject(losses);
    for (const cJSON *loss = trace->losses_known ? losses->child : NULL; loss; loss = loss->next)
        if (read_loss(trace, loss) < 0)
            return -1;
    const cJSON *symbols = cJSON_GetObjectItemCaseSensitive(own, "symbols");
    bool wanted = trace->options->names == REPORT_NAMES_MANGLED && cJSON_IsObject(symbols);
    for (const cJSON *symbol = wanted ? symbols->child : NULL; symbol; symbol = symbol->next)
        if (read_symbol(trace, symbol) < 0)
            return -1;
    const cJSON *processes = cJSON_GetObjectItemCaseSensitive(own, "processes");
    for (const cJSON *process = cJSON_IsArray(processes) ? processes->child : NULL; process; process = process->next)
        if (read_process(trace, process) < 0 || read_crash(trace, process) < 0)
            return -1;
    if (trace->heap && trace_stacks(trace, cJSON_GetObjectItemCaseSensitive(own, "frames"),
                                    cJSON_GetObjectItemCaseSensitive(own, "stacks")) < 0)
        return -1;
    if (trace_plugins(trace, cJSON_GetObjectItemCaseSensitive(own, "plugins")) < 0)
        return -1;
    return read_command(trace, cJSON_GetObjectItemCaseSensitive(own, "command"));
}

int trace_metadata(struct trace *trace, const char *key, const cJSON *value)
{
    if (strcmp(key, "gputrace") == 0)
        return read_own(trace, value);
    if (strcmp(key, "deviceProperties") != 0 || !cJSON_IsArray(value))
        return 0;
    for (const cJSON *device = value->child; device; device = device->next)
        if (read_device(trace, device) < 0)
            return -1;
    return 0;
}
