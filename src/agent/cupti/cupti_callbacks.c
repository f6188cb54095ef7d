#include "agent/cupti/cupti_callbacks.h"

#include <errno.h>
#include <stdio.h>

#include "common/clock.h"
#include "agent/cupti/activity_kinds.h"
#include "agent/cupti/callback_switches.h"
#include "agent/cupti/captures.h"
#include "agent/cupti/cupti_activity.h"
#include "agent/cupti/cupti_ids.h"
#include "agent/cupti/cupti_library.h"
#include "agent/cupti/cupti_resources.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/event_watch.h"
#include "agent/cupti/first_launches.h"
#include "agent/cupti/function_names.h"
#include "agent/cupti/graph_launches.h"
#include "agent/cupti/graph_nodes.h"
#include "agent/cupti/lazy_loading.h"
#include "agent/cupti/memory_pools.h"
#include "agent/cupti/names_due.h"
#include "agent/cupti/open_calls.h"
#include "agent/cupti/own_streams.h"
#include "agent/dispatch/fork_watch.h"
#include "agent/dispatch/phases.h"
#include "agent/dispatch/registry.h"
#include "agent/dispatch/thread_id.h"

/* --- threads --- */

/* What a thread's callbacks keep from one to the next, in one variable: to find a thread's own takes a call. */
struct callback_thread {
    struct reader **reader; /* where the registry keeps this thread's; NULL: nothing was looked for yet */
    uint32_t id;
    struct cupti_ids ids;
    struct open_calls open;
};
static __thread struct callback_thread this_thread;

static inline struct callback_thread *callback_thread(void)
{
    struct callback_thread *mine = &this_thread;
    __asm__("" : "+r"(mine)); /* or compilers find it again for every use */
    if (!mine->reader) {
        mine->reader = &reader_mine;
        mine->id = thread_id();
    }
    return mine;
}

static inline struct reader *reader_of(const struct callback_thread *mine)
{
    return *mine->reader ? *mine->reader : reader_make();
}

/* --- driver calls --- */

static inline struct gputrace_call call_of(struct callback_thread *mine, const struct driver_call *row,
                                           const CUpti_CallbackData *data, uint64_t start, uint64_t end)
{
    struct gputrace_call call = {
        .start = start,
        .end = end,
        .function = row->name,
        .correlation = data->correlationId,
        .thread = mine->id,
    };
    cupti_ids_of_call(&mine->ids, data->context, data->contextUid, &call);
    return call;
}

#define WAITS \
    (REGISTRY_BIT(stream_synchronization) | REGISTRY_BIT(event_synchronization) | REGISTRY_BIT(device_synchronization))

/* What the thread waits for in a call. */
static enum spool_call_object waits_for(const struct driver_call *row, const void *params, uint64_t *object)
{
    *object = 0;
    if (row->kinds & REGISTRY_BIT(stream_synchronization)) {
        CUstream stream = ((const cuStreamSynchronize_params *)params)->hStream;
        *object = driver_call_integer(stream ? stream : row->per_thread ? CU_STREAM_PER_THREAD : NULL);
        return SPOOL_CALL_OF_STREAM;
    }
    if (row->kinds & REGISTRY_BIT(event_synchronization)) {
        *object = driver_call_integer(((const cuEventSynchronize_params *)params)->hEvent);
        return SPOOL_CALL_OF_EVENT;
    }
    return row->kinds & REGISTRY_BIT(device_synchronization) ? SPOOL_CALL_OF_CONTEXT : SPOOL_CALL_OF_NOTHING;
}

/* Every call that has a callback is told, so that a death finds out where threads were; but for launches, whose
 * callbacks come and go. */
static inline bool is_told_open(const struct driver_call *row)
{
    return registry_open_call_wanted() && !(row->kinds & REGISTRY_BIT(kernel_launch));
}

static inline void tell_begin(const struct callback_thread *mine, const struct driver_call *row,
                              const CUpti_CallbackData *data, uint64_t start)
{
    struct gputrace_open_call call = {
        .start = start, .cbid = row->cbid, .correlation = data->correlationId, .thread = mine->id};
    if (row->kinds & WAITS)
        call.what = waits_for(row, data->functionParams, &call.object);
    registry_open_call_publish_by(reader_of(mine), &call);
}

static inline void tell_return(const struct callback_thread *mine, const struct driver_call *row,
                               const CUpti_CallbackData *data)
{
    struct gputrace_open_call call = {
        .returned = true, .cbid = row->cbid, .correlation = data->correlationId, .thread = mine->id};
    registry_open_call_publish_by(reader_of(mine), &call);
}

static void launch_begins(CUfunction function, const CUpti_CallbackData *data)
{
    graph_nodes_launch_begins(function, data->symbolName);
    first_launches_begins(data->symbolName, data->correlationId);
}

static void call_begins(struct callback_thread *mine, const struct driver_call *row, const CUpti_CallbackData *data)
{
    struct open_call *open = open_call_push(&mine->open, row, data->functionParams, data->correlationId, clock_now());
    if (is_told_open(row))
        tell_begin(mine, row, data, open->start);
    if (row->begins)
        row->begins(data->functionParams);
    if (row->launched)
        launch_begins(row->launched(data->functionParams), data);
    if (!row->trigger || !(callback_switches_wanted() & PHASE_KINDS))
        return;
    uint32_t trigger = row->trigger(data->functionParams, data->context, data->correlationId);
    if (trigger == 0)
        return;
    struct gputrace_call call = call_of(mine, row, data, open->start, open->start);
    open->in_phase = true;
    phase_call_begins((enum gputrace_trigger)trigger, &call);
}

static int32_t result_of(const CUpti_CallbackData *data)
{
    return data->functionReturnValue ? (int32_t) * (const CUresult *)data->functionReturnValue : 0;
}

/* The launch of one, which began at START and has returned. */
static inline bool is_new_graph(const struct driver_call *row, const CUpti_CallbackData *data, uint64_t start)
{
    return row->kinds == REGISTRY_BIT(graph_launch) &&
           graph_launches_returned(((const cuGraphLaunch_params *)data->functionParams)->hGraph,
                                   result_of(data) == CUDA_SUCCESS ? data->correlationId : 0, start);
}

static void end_phase(const struct driver_call *row, const struct gputrace_call *call)
{
    phase_call_returns(call);
    lazy_loading_ends();
    if (row->kinds & REGISTRY_BIT(kernel_launch))
        cupti_activity_gather_names();
    names_due();
}

/* A client is told the end of all; the recorder alone of what is not brief, and to read a clock takes as long as to
 * write a record. */
static inline uint64_t end_of(const struct driver_call *row, const struct open_call *open)
{
    return row->brief && open && !registry_had_clients() ? open->start : clock_now();
}

static void call_returns(struct callback_thread *mine, const struct driver_call *row, const CUpti_CallbackData *data)
{
    const struct open_call *open = open_call_pop(&mine->open, row, data->correlationId);
    uint64_t now = end_of(row, open), start = open ? open->start : now;
    bool in_phase = open && open->in_phase, told = open && open->told; /* read before another call may begin */
    if (is_told_open(row))
        tell_return(mine, row, data);
    if (row->launched ? first_launches_returned() : is_new_graph(row, data, start))
        cupti_activity_gather_names(); /* that of a first launch is in its record, or soon will be */
    bool wanted = row->tell && (row->kinds & callback_switches_wanted()) != 0;
    if (!wanted && !in_phase)
        return;
    struct driver_return returned = {
        .row = row,
        .call = call_of(mine, row, data, start, now),
        .params = data->functionParams,
        .symbol = data->symbolName,
        .told = told,
        .reader = reader_of(mine),
        .ids = &mine->ids,
    };
    returned.call.result = result_of(data);
    if (in_phase)
        end_phase(row, &returned.call);
    if (wanted)
        row->tell(&returned);
}

static void driver_call(CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    const struct driver_call *row = driver_call_find(cbid);
    if (!row)
        return;
    if (cbid == CUPTI_DRIVER_TRACE_CBID_cuEventRecord && event_watch_sees(data->correlationId))
        return;
    struct callback_thread *mine = callback_thread();
    if (data->callbackSite == CUPTI_API_ENTER)
        call_begins(mine, row, data);
    else
        call_returns(mine, row, data);
}

/* --- the subscription --- */

/* Apart from the calls, which are many and want few registers saved. */
static __attribute__((noinline)) void resource_changed(CUpti_CallbackId cbid, const CUpti_ResourceData *data)
{
    cupti_resource_changed(cbid, data, open_calls_innermost(&callback_thread()->open));
}

static void CUPTIAPI called_back(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    int saved = errno;
    (void)user;
    if (fork_generation() == 0 && fork_turned_away())
        return;
    if (data && domain == CUPTI_CB_DOMAIN_DRIVER_API)
        driver_call(cbid, data);
    else if (data && domain == CUPTI_CB_DOMAIN_RESOURCE)
        resource_changed(cbid, data);
    errno = saved;
}

/* Called by the registry, under its lock. */
static void wanted_changed(uint64_t wanted)
{
    if (!(wanted & PHASE_KINDS)) {
        lazy_loading_give_up();
        phases_forget();
    }
    if (!(wanted & REGISTRY_BIT(launch_name)))
        first_launches_forget();
    if (!(wanted & REGISTRY_BIT(function_name)))
        function_names_forget();
    if (!(wanted & REGISTRY_BIT(graph_node)))
        graph_launches_forget();
    if (!(wanted & CAPTURES_KINDS))
        captures_forget();
    callback_switches_follow(wanted);
    activity_kinds_want_jit((wanted & REGISTRY_BIT(jit)) != 0);
}

int cupti_callbacks_init(const struct cupti *cupti, char *why, size_t size)
{
    CUpti_SubscriberHandle subscriber;
    CUptiResult result = cupti->cuptiSubscribe(&subscriber, called_back, NULL);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        snprintf(why, size, "another profiler in this process has taken CUPTI; only one can use it");
        return -1;
    }
    if (result != CUPTI_SUCCESS) {
        snprintf(why, size, "CUPTI cannot be subscribed to: %s", cupti_words(cupti, result));
        return -1;
    }
    driver_calls_init();
    cupti_ids_init(cupti);
    graph_nodes_init(cupti);
    graph_launches_init(cupti);
    captures_init();
    function_names_init();
    callback_switches_init(cupti, subscriber);
    registry_watch(wanted_changed);
    return 0;
}

void cupti_callbacks_leave(void)
{
    this_thread = (struct callback_thread){0};
    callback_switches_leave();
    captures_leave();
    cupti_ids_leave();
    first_launches_leave();
    function_names_leave();
    graph_launches_leave();
    graph_nodes_leave();
    lazy_loading_leave();
    memory_pools_leave();
    names_due_leave();
    own_streams_leave();
    thread_id_leave();
}
