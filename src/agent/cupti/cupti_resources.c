#include "agent/cupti/cupti_resources.h"

#include "common/clock.h"
#include "agent/cupti/cupti_activity.h"
#include "agent/cupti/cupti_ids.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/graph_nodes.h"
#include "agent/cupti/lazy_loading.h"
#include "agent/cupti/open_calls.h"
#include "agent/cupti/own_streams.h"
#include "agent/dispatch/phases.h"
#include "agent/dispatch/registry.h"
#include "agent/dispatch/thread_id.h"

/* What happens within OPEN (may be NULL) to something of CONTEXT. */
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

static void context_created(const CUpti_ResourceData *data)
{
    registry_context_creation_publish(&(struct gputrace_context_creation){call_within(NULL, data->context)});
}

static void context_goes(const CUpti_ResourceData *data)
{
    struct gputrace_call call = call_within(NULL, data->context);
    cupti_activity_unloading();
    lazy_loading_unloaded();
    registry_context_deletion_publish(&(struct gputrace_context_deletion){call});
    phases_of_context_end(data->context, &call);
}

/* Whether the stream does not go with its context, but by the call. */
static bool destroys(const struct open_call *open, CUstream stream)
{
    bool destroys_one = open && (open->row->kinds & REGISTRY_BIT(stream_deletion)) != 0;
    return destroys_one && ((const cuStreamDestroy_v2_params *)open->params)->hStream == stream;
}

static void stream_goes(const CUpti_ResourceData *data, struct open_call *open)
{
    CUstream stream = data->resourceHandle.stream;
    bool destroyed = destroys(open, stream);
    struct gputrace_call call = call_within(destroyed ? open : NULL, data->context);
    bool programs_own = own_streams_remove(stream) || destroyed;
    if (destroyed)
        open->told = true;
    if (programs_own)
        registry_stream_deletion_publish(&(struct gputrace_stream_deletion){
            .call = call,
            .stream = stream,
            .stream_id = cupti_stream_id(driver_call_integer(data->context), driver_call_integer(stream)),
        });
    phases_of_stream_end(stream, &call);
    cupti_ids_forget_streams(); /* not before its number was asked for, the last time */
}

static void code_came(const CUpti_ResourceData *data, const struct open_call *open)
{
    const CUpti_ModuleResourceData *module = data->resourceDescriptor;
    if (!module)
        return;
    registry_code_load_publish(&(struct gputrace_code_load){
        .call = call_within(open, data->context),
        .code = module->pCubin,
        .bytes = module->cubinSize,
        .module_id = module->moduleId,
    });
}

static void graph_node_starts_here(const CUpti_ResourceData *data, const struct open_call *open)
{
    const CUpti_GraphData *graph = data->resourceDescriptor;
    if (graph)
        graph_node_starts(graph->nodeType, open);
}

static void graph_node_came(const CUpti_ResourceData *data, const struct open_call *open, bool copied)
{
    const CUpti_GraphData *graph = data->resourceDescriptor;
    if (graph && copied)
        graph_node_copied(graph->node, graph->originalNode, open);
    else if (graph)
        graph_node_made(graph->node, graph->nodeType, open);
}

void cupti_resource_changed(CUpti_CallbackId cbid, const CUpti_ResourceData *data, struct open_call *open)
{
    switch (cbid) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED: context_created(data); break;
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING: context_goes(data); break;
    case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING: stream_goes(data, open); break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED: code_came(data, open); break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING: graph_node_starts_here(data, open); break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED: graph_node_came(data, open, false); break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS: graph_node_came(data, open, true); break;
    default: break;
    }
}
