/*
 * Reads the metadata of a trace: the GPUs, and facts about the run that gputrace wrote under its own key. The metadata
 * may be damaged or foreign: values that are not as expected are skipped.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/settings.h"
#include "common/text.h"
#include "analysis/base/table.h"
#include "analysis/engine/trace.h"
#include "analysis/engine/trace_known.h"
#include "analysis/engine/trace_stacks.h"

static const cJSON *member_of(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* Returns the first member of an array, or NULL if ARRAY is empty or not an array. */
static const cJSON *first_of(const cJSON *array)
{
    return cJSON_IsArray(array) ? array->child : NULL;
}

/* Returns a number, or the number in a text, because some programs write all values as texts. Returns NAN if VALUE is
 * neither, or NULL. */
static double real_of(const cJSON *value)
{
    const char *text = cJSON_GetStringValue(value);
    char *end = NULL;
    double number = text && strspn(text, "+-.0123456789eE") == strlen(text) ? strtod(text, &end) : NAN;
    return cJSON_IsNumber(value) ? value->valuedouble : end && end > text && *end == '\0' ? number : NAN;
}

/* Returns the number of KEY times BY, or FIELD_ABSENT if there is none between -LIMIT and LIMIT. */
static int64_t number_of(const cJSON *object, const char *key, double limit, double by)
{
    double value = real_of(member_of(object, key));
    if (!(value > -limit && value < limit))
        return FIELD_ABSENT;
    return (int64_t)(by == 1 ? value : value * by + (value < 0 ? -0.5 : 0.5));
}

static int read_text(struct trace *trace, const char *text, uint32_t *number)
{
    *number = intern(&trace->strings, text, strlen(text));
    return *number == INTERN_NO_MEMORY ? -1 : 0;
}

#define COUNT_LIMIT (1 << 24) /* of ranks and of resources of a GPU, so that products do not overflow */

/* A member of a JSON object, and the field of a struct that it is stored in. */
struct member {
    const char *key;
    enum {
        NUMBER,
        AMOUNT,
        COUNT,
        TIME,
        TEXT
    } kind; /* any number; from 0 on; 0 to COUNT_LIMIT; µs, stored as ns; a text, stored in trace.strings */
    size_t at;
};

/* Sets the fields of all MEMBERS, to FIELD_ABSENT or EVENT_NO_TEXT if OBJECT lacks the member. Returns 0, or -1: no
 * memory. */
#define read_members(trace, object, to, members) \
    read_members_of(trace, object, to, members, sizeof(members) / sizeof(*(members)))
static int read_members_of(struct trace *trace, const cJSON *object, void *to, const struct member *members,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = cJSON_GetStringValue(member_of(object, members[i].key));
        void *field = (char *)to + members[i].at;
        if (members[i].kind == TEXT) {
            *(uint32_t *)field = EVENT_NO_TEXT;
            if (text && read_text(trace, text, field) < 0)
                return -1;
            continue;
        }
        static const double limits[] = {EVENT_NUMBER_LIMIT, EVENT_NUMBER_LIMIT, COUNT_LIMIT, EVENT_TIME_LIMIT / 1000};
        int64_t number = number_of(object, members[i].key, limits[members[i].kind], members[i].kind == TIME ? 1000 : 1);
        *(int64_t *)field = members[i].kind <= COUNT && members[i].kind != NUMBER && number < 0 ? FIELD_ABSENT : number;
    }
    return 0;
}

static const char *text_of(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(member_of(object, key));
}

/* --- plugins: summary/section_overview.c shows them --- */

static int read_plugin(struct trace *trace, const cJSON *plugin)
{
    static const struct member members[] = {{"name", TEXT, offsetof(struct trace_plugin, name)},
                                            {"pid", AMOUNT, offsetof(struct trace_plugin, pid)},
                                            {"calls", AMOUNT, offsetof(struct trace_plugin, calls)},
                                            {"time_ns", AMOUNT, offsetof(struct trace_plugin, ns)}};
    struct trace_plugin *added = text_of(plugin, "name") ? array_push(&trace->plugins) : NULL;
    if (!added)
        return text_of(plugin, "name") ? -1 : 0;
    if (read_members(trace, plugin, added, members) < 0)
        return -1;
    for (const cJSON *line = first_of(member_of(plugin, "lines")); line; line = line->next) {
        static const struct member of_line[] = {{"text", TEXT, offsetof(struct trace_plugin_line, text)}};
        struct trace_plugin_line *one = array_push(&trace->plugin_lines);
        added->lines++;
        if (!one || read_members(trace, line, one, of_line) < 0)
            return -1;
        const cJSON *stack = member_of(line, "stack");
        one->stack = EVENT_NO_TEXT;
        if (first_of(stack) && trace_read_frame_list(trace, stack, &one->stack) < 0)
            return -1;
    }
    return 0;
}

/* --- processes --- */

/* {"rank": 3, "local_rank": 1, "world_size": 8, "host": "node7"} */
static int read_rank(struct trace *trace, event_id process, const cJSON *object)
{
    static const struct member members[] = {{"rank", COUNT, offsetof(struct trace_rank, rank)},
                                            {"local_rank", COUNT, offsetof(struct trace_rank, local_rank)},
                                            {"world_size", COUNT, offsetof(struct trace_rank, world_size)},
                                            {"host", TEXT, offsetof(struct trace_rank, host)}};
    double number = real_of(member_of(object, "rank"));
    bool other = trace->only_rank && trace->only_rank->given && number != (double)trace->only_rank->number;
    bool known = !isnan(number) && !other;
    struct trace_rank *rank = known ? trace_add_rank(trace, process) : NULL;
    if (!rank)
        return known ? -1 : 0;
    return read_members(trace, object, rank, members);
}

/* {"pid": 583, "gpu_pids": {"0": 1073742848, …}, …} */
static int read_process(struct trace *trace, const cJSON *process)
{
    const cJSON *pid = member_of(process, "pid"), *rows = member_of(process, "gpu_pids");
    if (!cJSON_IsNumber(pid))
        return 0;
    for (const cJSON *row = cJSON_IsObject(rows) ? rows->child : NULL; row; row = row->next) {
        if (!cJSON_IsNumber(row))
            return 0;
        const struct trace_gpu_row added = {.row = event_id_number(row->valueint),
                                            .process = event_id_number(pid->valueint),
                                            .device = strtoll(row->string, NULL, 10)};
        if (trace_add_gpu_row(trace, &added) < 0)
            return -1;
    }
    for (const cJSON *pool = first_of(member_of(process, "pools")); pool; pool = pool->next) {
        /* [{"pool": "0x7f…", "device": 0, "reserved_peak": 33554432, "used_peak": 4096}, …] */
        static const struct member members[] = {{"device", NUMBER, offsetof(struct trace_pool, device)},
                                                {"reserved_peak", AMOUNT, offsetof(struct trace_pool, reserved_peak)},
                                                {"used_peak", AMOUNT, offsetof(struct trace_pool, used_peak)}};
        if (!cJSON_IsNumber(member_of(pool, "device")))
            continue;
        struct trace_pool *added = array_push(&trace->pools);
        if (!added || read_members(trace, pool, added, members) < 0)
            return -1;
        added->process = event_id_number(pid->valueint);
    }
    return read_rank(trace, event_id_number(pid->valueint), process);
}

/* Reads a process that did not end by exit(), for section_crashes.c. */
static int read_crash(struct trace *trace, const cJSON *process)
{
    static const struct member members[] = {{"pid", NUMBER, offsetof(struct trace_crash, pid)},
                                            {"state", TEXT, offsetof(struct trace_crash, state)}};
    static const struct member of_life[] = {{"ts", TIME, offsetof(struct trace_crash, alive)}};
    static const struct member of_signal[] = {{"signal", NUMBER, offsetof(struct trace_crash, signal)},
                                              {"thread", NUMBER, offsetof(struct trace_crash, thread)},
                                              {"sender", NUMBER, offsetof(struct trace_crash, sender)},
                                              {"ts", TIME, offsetof(struct trace_crash, time)},
                                              {"stack", AMOUNT, offsetof(struct trace_crash, stack)},
                                              {"words", TEXT, offsetof(struct trace_crash, words)},
                                              {"called at", TEXT, offsetof(struct trace_crash, place)},
                                              {"address", TEXT, offsetof(struct trace_crash, address)}};
    static const struct member of_call[] = {{"thread", NUMBER, offsetof(struct trace_open_call, thread)},
                                            {"stream", NUMBER, offsetof(struct trace_open_call, stream)},
                                            {"ts", TIME, offsetof(struct trace_open_call, time)},
                                            {"function", TEXT, offsetof(struct trace_open_call, function)},
                                            {"handle", TEXT, offsetof(struct trace_open_call, handle)},
                                            {"waits_for", TEXT, offsetof(struct trace_open_call, waits_for)}};
    const char *state = text_of(process, "state");
    bool known = state && number_of(process, "pid", EVENT_NUMBER_LIMIT, 1) != FIELD_ABSENT;
    /* A process that called _exit(), as the processes of Python's multiprocessing do, with nothing in flight and in a
     * program that succeeded, is not a crash. */
    const cJSON *in_flight = member_of(member_of(process, "losses"), "in_flight");
    bool quiet = known && strcmp(state, "ended without its exit handlers") == 0 &&
                 strcmp(trace_text(trace, trace->ending), "exit 0") == 0 && !member_of(process, "death") &&
                 !first_of(member_of(process, "open_calls")) && cJSON_IsNumber(in_flight) && in_flight->valueint == 0;
    if (!known || strcmp(state, "finished") == 0 || quiet)
        return 0;
    struct trace_crash *added = array_push(&trace->crashes);
    if (!added || read_members(trace, process, added, members) < 0 ||
        read_members(trace, member_of(process, "alive"), added, of_life) < 0 ||
        read_members(trace, member_of(process, "death"), added, of_signal) < 0)
        return -1;
    for (const cJSON *call = first_of(member_of(process, "open_calls")); call; call = call->next) {
        struct trace_open_call *open = array_push(&trace->open_calls);
        if (!open || read_members(trace, call, open, of_call) < 0)
            return -1;
        open->pid = added->pid;
    }
    return 0;
}

/* --- the run --- */

static int read_device(struct trace *trace, const cJSON *properties)
{
    int64_t id = number_of(properties, "id", INT32_MAX, 1);
    const char *name = text_of(properties, "name");
    if (id == FIELD_ABSENT || !name)
        return 0;
    static const struct member members[] = {
        {"numSms", COUNT, offsetof(struct trace_device, multiprocessors)},
        {"maxThreadsPerMultiprocessor", COUNT, offsetof(struct trace_device, threads)},
        {"regsPerMultiprocessor", COUNT, offsetof(struct trace_device, registers)},
        {"sharedMemPerMultiprocessor", COUNT, offsetof(struct trace_device, shared_bytes)},
        {"computeMajor", COUNT, offsetof(struct trace_device, major)},
        {"computeMinor", COUNT, offsetof(struct trace_device, minor)},
    };
    struct trace_device *device = trace_device(trace, id);
    if (!device)
        return -1;
    read_members(trace, properties, device, members);
    return read_text(trace, name, &device->name);
}

static int read_loss(struct trace *trace, const cJSON *loss)
{
    if (!cJSON_IsNumber(loss) || !(loss->valuedouble >= 1 && loss->valuedouble < EVENT_NUMBER_LIMIT))
        return 0;
    struct trace_loss *added = array_push(&trace->losses);
    if (!added)
        return -1;
    added->count = (int64_t)loss->valuedouble;
    return read_text(trace, loss->string, &added->name);
}

/* {"void add<float>(int)": "_Z3addIfEvi", …}: --names=mangled shows the values in place of the keys. */
static int read_symbol(struct trace *trace, const cJSON *symbol)
{
    uint32_t readable, mangled;
    if (trace->options->names != REPORT_NAMES_MANGLED || !cJSON_IsString(symbol))
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

void trace_bit_words(uint64_t bits, char *text, size_t size)
{
    *text = '\0';
    for (size_t i = 0; i < TRACE_WORDS; i++)
        if (bits >> i & 1)
            text_list_add(text, size, trace_words[i]);
}

static int read_own(struct trace *trace, const cJSON *own)
{
    static const struct member members[] = {{"version", TEXT, offsetof(struct trace, version)},
                                            {"host", TEXT, offsetof(struct trace, host)},
                                            {"exit", TEXT, offsetof(struct trace, ending)},
                                            {"missed", TEXT, offsetof(struct trace, missed)}};
    static const struct {
        const char *key;
        int type;
        int (*read)(struct trace *trace, const cJSON *member);
    } lists[] = {
        {"losses", cJSON_Object, read_loss},      {"symbols", cJSON_Object, read_symbol},
        {"processes", cJSON_Array, read_process}, {"processes", cJSON_Array, read_crash},
        {"plugins", cJSON_Array, read_plugin},
    };
    if (read_members(trace, own, trace, members) < 0)
        return -1;
    /* {"trace": ["kernel", "memcpy", …], …} */
    const cJSON *options = member_of(own, "options"), *recorded = member_of(options, "trace");
    const char *calls = text_of(options, "api_calls");
    trace->without_queries = calls && strcmp(calls, "without queries") == 0;
    if (cJSON_IsArray(recorded))
        trace->unrecorded = TRACE_DEFAULT;
    for (const cJSON *word = first_of(recorded); word; word = word->next)
        for (size_t i = 0; cJSON_IsString(word) && i < TRACE_WORDS; i++)
            if (strcmp(word->valuestring, trace_words[i]) == 0)
                trace->unrecorded &= ~(UINT64_C(1) << i);
    /* {"synchronised": true, "error_us": 2100, …} */
    const cJSON *clock = member_of(own, "clock"), *synchronised = member_of(clock, "synchronised");
    if (cJSON_IsBool(synchronised)) {
        trace->clock.synchronised = cJSON_IsTrue(synchronised);
        trace->clock.error_us = number_of(clock, "error_us", 1e15, 1);
    }
    trace->losses_known = cJSON_IsObject(member_of(own, "losses"));
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        const cJSON *list = member_of(own, lists[i].key);
        bool known = list && (list->type & 0xff) == lists[i].type;
        for (const cJSON *member = known ? list->child : NULL; member; member = member->next)
            if (lists[i].read(trace, member) < 0)
                return -1;
    }
    if (trace_read_stacks(trace, member_of(own, "frames"), member_of(own, "stacks")) < 0)
        return -1;
    /* The command is one text, or a list of arguments. */
    const cJSON *value = member_of(own, "command");
    if (cJSON_IsString(value))
        return read_text(trace, value->valuestring, &trace->program);
    char line[4096] = "";
    size_t length = 0;
    for (const cJSON *word = first_of(value); word && cJSON_IsString(word); word = word->next) {
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

int trace_metadata(struct trace *trace, const char *key, const cJSON *value)
{
    trace->kineto |= strcmp(key, "schemaVersion") == 0;
    trace->is_cut |= strcmp(key, CUT_KEY) == 0;
    if (strcmp(key, "gputrace") == 0)
        return read_own(trace, value);
    if (strcmp(key, "distributedInfo") == 0)
        return read_rank(trace, EVENT_NO_ID, value);
    if (strcmp(key, "stackFrames") == 0)
        return trace_read_frames(trace, value);
    if (strcmp(key, "baseTimeNanoseconds") == 0 && real_of(value) > 0 && real_of(value) < (double)EVENT_TIME_LIMIT)
        trace->base = (int64_t)real_of(value);
    if (strcmp(key, "deviceProperties") != 0)
        return 0;
    for (const cJSON *device = first_of(value); device; device = device->next)
        if (read_device(trace, device) < 0)
            return -1;
    return 0;
}
