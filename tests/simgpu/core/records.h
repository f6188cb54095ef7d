/*
 * The activity records of things and work: filled in from what the simulator knows, written when their kind is enabled.
 * None of these functions may be called with the simulator's lock held, unless it says so.
 */
#ifndef SIMGPU_CORE_RECORDS_H
#define SIMGPU_CORE_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/activity.h"
#include "core/op.h"
#include "core/work.h"

struct jit_step;
struct memory_range;

/* Where work comes from. */
struct record_origin {
    CUstream stream;
    uint32_t stream_id; /* 0: the stream's */
    uint32_t correlation;
    uint32_t graph_id;      /* 0 outside of graphs */
    uint64_t graph_node_id; /* likewise */
};

/* The incomplete record of OP, for its work. An empty slot when it has none or nobody wants it. */
struct activity_slot records_begin(const struct op *op, const struct record_origin *origin);
/* The one of a whole graph launch. Empty unless GRAPH_TRACE is enabled. */
struct activity_slot records_begin_graph(const struct record_origin *origin);
/* Are graphs recorded as a whole, and so not by their nodes? */
bool records_graphs_whole(CUcontext context);
/* Counts kernels, and makes this one fail in the ways that the environment asks for. With the lock held. */
void records_fail(struct work *work);

/* Records at once what exists already when its kind is enabled. */
void records_enabled(CUpti_ActivityKind kind);
void records_context(CUcontext context);
void records_stream(CUstream stream);
/* STREAM may be NULL, when the operation is not one of a stream. */
void records_memory(CUpti_ActivityMemoryOperationType operation, const struct memory_range *range, CUstream stream);
void records_pool(CUpti_ActivityMemoryPoolOperationType operation, CUmemoryPool pool, size_t bytes_kept);
/* A synchronisation that began at START ns and has ended now. STREAM and EVENT may be NULL. */
void records_synchronization(CUpti_ActivitySynchronizationType type, uint64_t start, CUcontext context, CUstream stream,
                             CUevent event, CUresult result);
/* BYTES at ADDRESS were moved to the device, or to the host (-1), at once. */
void records_migration(uint64_t address, uint64_t bytes, int device);
void records_overhead(CUpti_ActivityOverheadKind kind, uint64_t start);
/* Only when the tool watches the driver call in which it happened: as the real one. */
void records_jit(CUpti_ActivityJitOperationType operation, const struct jit_step *step);

/* CUPTI's own switches. */
void records_set_event_timestamps(bool enable);
void records_set_latency_timestamps(bool enable);
void records_set_all_sync(bool enable);

#endif
