#include "agent/cupti/graph_nodes.h"

#include "agent/cupti/captures.h"
#include "agent/cupti/cupti_library.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/first_launches.h"
#include "agent/cupti/function_names.h"
#include "agent/cupti/open_calls.h"

/* The first CUPTI of which all that is relied on here was measured. */
#define NODES_SINCE 130000u

static const struct cupti *cupti_in_use;

static __thread uint32_t conditional_in; /* the last call in which a conditional node was made */

static __thread struct {
    uint64_t node; /* the last of which CUPTI told that it is a copy, in the call `correlation` */
    uint32_t correlation;
} copied;

void graph_nodes_init(const struct cupti *cupti)
{
    __atomic_store_n(&cupti_in_use, cupti, __ATOMIC_RELEASE);
}

/* 0: not known. An older CUPTI does not tell of all changes, so that what is known of a node could be wrong. */
static uint64_t number_of(CUgraphNode node)
{
    const struct cupti *cupti = __atomic_load_n(&cupti_in_use, __ATOMIC_ACQUIRE);
    uint64_t id = 0;
    if (!cupti || cupti->version < NODES_SINCE)
        return 0;
    bool known = node && cupti->cuptiGetGraphNodeId && cupti->cuptiGetGraphNodeId(node, &id) == CUPTI_SUCCESS;
    return known ? id : 0;
}

/* CUDA's runtime may launch a kernel by another handle than the one it got. */
void graph_nodes_launch_begins(const void *function, const char *name)
{
    if (captures_go_on())
        function_name_tell(function, name);
}

static void tell(uint64_t node, const void *function, uint64_t original, uint32_t correlation)
{
    if (node != 0)
        registry_graph_node_publish(&(struct gputrace_graph_node){
            .node = node, .function = function, .original = original, .correlation = correlation});
}

void graph_node_starts(CUgraphNodeType type, const struct open_call *open)
{
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL && open)
        conditional_in = open->correlation;
}

/* Nodes that the program adds itself are told by their calls, where the function is. */
void graph_node_made(CUgraphNode node, CUgraphNodeType type, const struct open_call *open)
{
    if (type != CU_GRAPH_NODE_TYPE_KERNEL || !open || !open->row->launched)
        return;
    graph_node_launches(node, open->row->launched(open->params), open->correlation);
    first_launches_captured();
}

void graph_node_copied(CUgraphNode node, CUgraphNode original, const struct open_call *open)
{
    uint64_t of = number_of(original);
    if (of == 0)
        return;
    copied.node = number_of(node);
    copied.correlation = open ? open->correlation : 0;
    tell(copied.node, NULL, of, copied.correlation);
}

bool graph_nodes_made_conditional(uint32_t correlation)
{
    return correlation != 0 && conditional_in == correlation;
}

void graph_node_launches(CUgraphNode node, const void *function, uint32_t correlation)
{
    tell(number_of(node), function, 0, correlation);
}

void graph_node_copy_launches(const void *function, uint32_t correlation)
{
    if (copied.node != 0 && copied.correlation == correlation)
        tell(copied.node, function, 0, correlation);
}

void graph_nodes_leave(void)
{
    graph_nodes_init(NULL);
    conditional_in = copied.correlation = 0; /* the child's calls have ids of their own */
}
