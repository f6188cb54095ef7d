/* What gputrace's metadata tells of processes that did not end by exit: see section_death.c. */
#include <string.h>

#include <cjson/cJSON.h>

#include "analysis/trace.h"

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

static int take_text(struct trace *trace, const cJSON *object, const char *key, uint32_t *number)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    *number = EVENT_NO_TEXT;
    if (!cJSON_IsString(value))
        return 0;
    *number = intern(&trace->strings, value->valuestring, strlen(value->valuestring));
    return *number == INTERN_NO_MEMORY ? -1 : 0;
}

static int take_open_call(struct trace *trace, int64_t pid, const cJSON *call)
{
    struct trace_open_call *added = array_push(&trace->open_calls);
    if (!added)
        return -1;
    *added = (struct trace_open_call){
        .pid = pid, .thread = number_of(call, "thread"), .stream = number_of(call, "stream"), .time = time_of(call)};
    if (take_text(trace, call, "function", &added->function) < 0 ||
        take_text(trace, call, "handle", &added->handle) < 0)
        return -1;
    return take_text(trace, call, "waits_for", &added->waits_for);
}

int trace_death(struct trace *trace, const cJSON *process)
{
    const cJSON *state = cJSON_GetObjectItemCaseSensitive(process, "state");
    const cJSON *signal = cJSON_GetObjectItemCaseSensitive(process, "death");
    const cJSON *calls = cJSON_GetObjectItemCaseSensitive(process, "open_calls");
    if (!cJSON_IsString(state) || strcmp(state->valuestring, "finished") == 0)
        return 0;
    struct trace_death *added = array_push(&trace->deaths);
    if (!added)
        return -1;
    *added = (struct trace_death){.pid = number_of(process, "pid"),
                                  .signal = number_of(signal, "signal"),
                                  .thread = number_of(signal, "thread"),
                                  .sender = number_of(signal, "sender"),
                                  .time = time_of(signal)};
    if (take_text(trace, process, "state", &added->state) < 0 || take_text(trace, signal, "words", &added->words) < 0 ||
        take_text(trace, signal, "address", &added->address) < 0)
        return -1;
    for (const cJSON *call = cJSON_IsArray(calls) ? calls->child : NULL; call; call = call->next)
        if (take_open_call(trace, added->pid, call) < 0)
            return -1;
    return 0;
}
