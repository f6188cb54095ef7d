/*
 * The function that CUPTI calls back. It finds the row of the driver's function (driver_calls.h), remembers the call
 * until it returns, and lets the row publish what the call did. Changes of contexts, streams, modules and graph nodes
 * come here as resources. It runs at every launch while a subscriber wants launches, so its common path is short.
 */

#include <errno.h>
#include <stdio.h>

#include "agent/cupti/activity_buffers.h"
#include "agent/cupti/activity_kinds.h"
#include "agent/cupti/calls_code.h"
#include "agent/cupti/calls_memory.h"
#include "agent/cupti/cupti_library.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/graphs.h"
#include "agent/cupti/kernel_names.h"
#include "agent/dispatch/registry.h"
#include "common/clock.h"

/* --- the calls that a thread is in --- */

/* Maximum depth of nested calls with callbacks, which are rare. A call whose callback was switched off meanwhile never
 * returns here: its entry is overwritten in the end. */
#define OPEN_CALLS_DEPTH 4u

/* The open calls of one thread; all zero if there are none. */
struct open_calls {
    unsigned next;
    struct open_call calls[OPEN_CALLS_DEPTH];
};

static inline struct open_call *open_call_back(struct open_calls *open, unsigned back)
{
    return &open->calls[(open->next - back) % OPEN_CALLS_DEPTH];
}

/* Pops the open call of this function and id, which stays readable until the next call begins. Returns NULL if its
 * callback was switched on after the call had begun. */
static inline struct open_call *open_call_pop(struct open_calls *open, const struct driver_call *row,
                                              uint32_t correlation)
{
    for (unsigned back = 1; back <= OPEN_CALLS_DEPTH; back++) {
        struct open_call *call = open_call_back(open, back);
        if (call->row != row || call->correlation != correlation)
            continue;
        call->row = NULL;
        open->next -= back;
        return call;
    }
    return NULL;
}

/* --- resources --- */

/* Returns the struct gputrace_call for a change of or in CONTEXT, within the call OPEN (may be NULL). */
static struct gputrace_call call_within(const struct open_call *open, CUcontext context)
{
    uint64_t now = clock_now();
    struct gputrace_call call = {
        .start = open ? open->start : now,
        .end = now,
        .function = open ? open->row->name : NULL,
        .correlation = open ? open->correlation : 0,
        .thread = thread_id(),
    };
    cupti_ids_of_context(context, &call);
    return call;
}

static void stream_goes(const CUpti_ResourceData *data, struct open_call *open)
{
    CUstream stream = data->resourceHandle.stream;
    bool by_call = open && (open->row->kinds & REGISTRY_BIT(stream_deletion)) != 0; /* not its context */
    bool destroyed = by_call && ((const cuStreamDestroy_v2_params *)open->params)->hStream == stream;
    struct gputrace_call call = call_within(destroyed ? open : NULL, data->context);
    bool programs_own = own_streams_remove(stream) || destroyed;
    if (destroyed)
        open->published = true;
    if (programs_own)
        registry_stream_deletion_publish(&(struct gputrace_stream_deletion){
            .call = call,
            .stream = stream,
            .stream_id = cupti_stream_id(driver_call_integer(data->context), driver_call_integer(stream)),
        });
    phases_end(stream, NULL, &call, GPUTRACE_ENDING_STREAM_DESTROYED);
    cupti_ids_forget_streams(); /* comes last, because the stream's number was needed above */
}

/* --- threads --- */

/* A thread's data for callbacks, in one variable because finding a thread-local variable takes a call. */
struct callback_thread {
    struct epoch_reader **reader; /* where the registry keeps this thread's reader; NULL: not looked up yet */
    uint32_t id;
    struct cupti_ids ids;
    struct open_calls open;
};
static __thread struct callback_thread this_thread;

static inline struct callback_thread *callback_thread(void)
{
    struct callback_thread *mine = &this_thread;
    __asm__("" : "+r"(mine)); /* without this, compilers find the variable again at every use */
    if (!mine->reader) {
        mine->reader = &epoch_reader_known;
        mine->id = thread_id();
    }
    return mine;
}

static inline struct epoch_reader *reader_of(const struct callback_thread *mine)
{
    return *mine->reader ? *mine->reader : epoch_reader_make();
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

/* Returns what the thread waits for in a call, with its handle in *OBJECT. */
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

/* Whether the call is published as open, so that a crash shows where threads were. Launches are not, because their
 * callbacks are switched meanwhile. */
static inline bool is_reported_open(const struct driver_call *row)
{
    return registry_open_call_wanted() && !(row->kinds & REGISTRY_BIT(kernel_launch));
}

static void call_begins(struct callback_thread *mine, const struct driver_call *row, const CUpti_CallbackData *data)
{
    struct open_call *open = open_call_back(&mine->open, 0);
    mine->open.next++;
    *open = (struct open_call){
        .row = row, .params = data->functionParams, .start = clock_now(), .correlation = data->correlationId};
    if (is_reported_open(row)) {
        struct gputrace_open_call call = {
            .start = open->start, .cbid = row->cbid, .correlation = data->correlationId, .thread = mine->id};
        if (row->kinds & WAITS)
            call.what = waits_for(row, data->functionParams, &call.object);
        registry_open_call_publish_by(reader_of(mine), &call);
    }
    if (row->begins)
        row->begins(data->functionParams);
    if (row->launched) {
        if (captures_go_on()) /* CUDA's runtime may launch a kernel by a handle that it did not look up */
            function_name_publish(row->launched(data->functionParams), data->symbolName);
        first_launches_begins(data->symbolName, data->correlationId);
    }
    if (!(row->trigger || row->phase) || !(callback_switches_wanted() & PHASE_KINDS))
        return;
    uint32_t trigger =
        row->trigger ? row->trigger(data->functionParams, data->context, data->correlationId) : row->phase;
    if (trigger == 0)
        return;
    struct gputrace_call call = call_of(mine, row, data, open->start, open->start);
    open->in_phase = true;
    phase_begins((enum gputrace_trigger)trigger, NULL, true, &call);
}

static int32_t result_of(const CUpti_CallbackData *data)
{
    return data->functionReturnValue ? (int32_t)*(const CUresult *)data->functionReturnValue : 0;
}

/* Whether a graph launch, which began at START and has returned, is its executable graph's first. */
static inline bool is_new_graph(const struct driver_call *row, const CUpti_CallbackData *data, uint64_t start)
{
    return row->kinds == REGISTRY_BIT(graph_launch) &&
           graph_launches_returned(((const cuGraphLaunch_params *)data->functionParams)->hGraph,
                                   result_of(data) == CUDA_SUCCESS ? data->correlationId : 0, start);
}

static void call_returns(struct callback_thread *mine, const struct driver_call *row, const CUpti_CallbackData *data)
{
    const struct open_call *open = open_call_pop(&mine->open, row, data->correlationId);
    /* Reading a clock takes as long as writing a record. So the end time is only read if clients need it (for every
     * call) or the recorder does (for phases, and for calls that are not brief). */
    bool in_phase = open && open->in_phase, brief = row->brief && open && !in_phase && !registry_had_clients();
    uint64_t now = brief ? open->start : clock_now(), start = open ? open->start : now;
    bool published = open && open->published; /* read before another call can reuse the entry */
    if (is_reported_open(row)) {
        struct gputrace_open_call call = {
            .returned = true, .cbid = row->cbid, .correlation = data->correlationId, .thread = mine->id};
        registry_open_call_publish_by(reader_of(mine), &call);
    }
    if (row->launched ? first_launches_returned() : is_new_graph(row, data, start))
        activity_buffers_gather_names(); /* the name of a first launch is in its record, or soon will be */
    bool wanted = row->publish && (row->kinds & callback_switches_wanted()) != 0;
    if (!wanted && !in_phase)
        return;
    struct driver_return returned = {
        .row = row,
        .call = call_of(mine, row, data, start, now),
        .params = data->functionParams,
        .symbol = data->symbolName,
        .published = published,
        .reader = reader_of(mine),
        .ids = &mine->ids,
    };
    returned.call.result = result_of(data);
    if (in_phase) {
        phase_call_returns(&returned.call);
        lazy_loading_ends();
        if (row->kinds & REGISTRY_BIT(kernel_launch))
            activity_buffers_gather_names();
        name_capture_request();
    }
    if (wanted)
        row->publish(&returned);
}

static void driver_call(CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    const struct driver_call *row = driver_call_find(cbid);
    if (!row)
        return;
    if (cbid == CUPTI_DRIVER_TRACE_CBID_cuEventRecord && event_watch_claims(data->correlationId))
        return;
    struct callback_thread *mine = callback_thread();
    if (data->callbackSite == CUPTI_API_ENTER)
        call_begins(mine, row, data);
    else
        call_returns(mine, row, data);
}

/* --- the subscription --- */

/* Handles the resource callback CBID, a CUpti_CallbackIdResource, with its DATA. It comes on the thread that changed
 * the resource. The innermost driver call with a callback, if any, is marked if the change was published. Separate from
 * the path of calls, which are frequent: that keeps few registers to save there. */
static __attribute__((noinline)) void resource_changed(CUpti_CallbackId cbid, const CUpti_ResourceData *data)
{
    struct open_call *innermost = open_call_back(&callback_thread()->open, 1);
    struct open_call *open = innermost->row ? innermost : NULL;
    struct gputrace_call call;
    const CUpti_ModuleResourceData *module = data->resourceDescriptor;
    const CUpti_GraphData *graph = data->resourceDescriptor;
    switch (cbid) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
        registry_context_creation_publish(&(struct gputrace_context_creation){call_within(NULL, data->context)});
        break;
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
        call = call_within(NULL, data->context);
        activity_buffers_unloading();
        lazy_loading_unloaded();
        registry_context_deletion_publish(&(struct gputrace_context_deletion){call});
        phases_end(NULL, data->context, &call, GPUTRACE_ENDING_CONTEXT_DESTROYED);
        break;
    case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING: stream_goes(data, open); break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
        if (module)
            registry_code_load_publish(&(struct gputrace_code_load){
                .call = call_within(open, data->context),
                .code = module->pCubin,
                .bytes = module->cubinSize,
                .module_id = module->moduleId,
            });
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING:
        if (graph)
            graph_node_starts(graph->nodeType, open);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
        if (graph)
            graph_node_made(graph->node, graph->nodeType, open);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS:
        if (graph)
            graph_node_copied(graph->node, graph->originalNode, open);
        break;
    default: break;
    }
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

/* Follows a change of the set of wanted kinds. The registry calls this under its lock. */
static void wanted_changed(uint64_t wanted)
{
    if (!(wanted & PHASE_KINDS)) {
        lazy_loading_cancel();
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
    graphs_init(cupti);
    driver_functions(); /* resolved here, so that callbacks need not take the dynamic loader's lock */
    callback_switches_init(cupti, subscriber);
    registry_watch(wanted_changed);
    return 0;
}

void cupti_callbacks_atfork_child(void)
{
    this_thread = (struct callback_thread){0};
    callback_switches_atfork_child();
    cupti_ids_atfork_child();
    graphs_atfork_child();
    kernel_names_atfork_child();
    lazy_loading_atfork_child();
    memory_pools_atfork_child();
}
