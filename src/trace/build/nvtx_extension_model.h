/*
 * All that is known of NVTX's extensions in one process.
 */
#ifndef GPUTRACE_TRACE_BUILD_NVTX_EXTENSION_MODEL_H
#define GPUTRACE_TRACE_BUILD_NVTX_EXTENSION_MODEL_H

#include "trace/build/nvtx_clocks.h"
#include "trace/build/nvtx_counters.h"
#include "trace/build/nvtx_deferred.h"
#include "trace/build/nvtx_heaps.h"
#include "trace/build/nvtx_scopes.h"
#include "trace/build/payload_pieces.h"
#include "trace/build/payload_schemas.h"

struct nvtx_extensions {
    struct payload_schemas schemas;
    struct payload_pieces pieces;
    struct nvtx_scopes scopes;
    struct nvtx_clocks clocks;
    struct nvtx_counters counters;
    struct nvtx_deferred deferred;
    struct nvtx_heaps heaps;
};

/* DIRECTORY is for what memory cannot hold. One that is all zero, too, can be used. */
static inline void nvtx_extensions_init(struct nvtx_extensions *extensions, const char *directory)
{
    *extensions = (struct nvtx_extensions){0};
    extensions->counters.samplings.memory.directory = extensions->counters.samples.memory.directory = directory;
    extensions->deferred.submissions.memory.directory = extensions->deferred.events.memory.directory = directory;
    extensions->heaps.steps.memory.directory = extensions->pieces.items.memory.directory = directory;
    extensions->clocks.directory = directory;
}

/* What is known need not stay in memory for now. */
static inline void nvtx_extensions_rest(const struct nvtx_extensions *extensions)
{
    big_array_rest(&extensions->counters.samplings);
    big_array_rest(&extensions->counters.samples);
    big_array_rest(&extensions->deferred.submissions);
    big_array_rest(&extensions->deferred.events);
    big_array_rest(&extensions->heaps.steps);
    big_array_rest(&extensions->pieces.items);
    nvtx_clocks_rest(&extensions->clocks);
}

/* An EVENT_NVTX_EXTENSION. Gives 0, or -1 after error(). */
static inline int nvtx_extensions_see(struct nvtx_extensions *extensions, const struct event *event)
{
    return payload_schemas_see(&extensions->schemas, event) | payload_pieces_see(&extensions->pieces, event) |
           nvtx_scopes_see(&extensions->scopes, event) | nvtx_clocks_see(&extensions->clocks, event) |
           nvtx_counters_see(&extensions->counters, event) | nvtx_deferred_see(&extensions->deferred, event) |
           nvtx_heaps_see(&extensions->heaps, event);
}

/* After the last. Gives 0, or -1 after error(). */
static inline int nvtx_extensions_close(struct nvtx_extensions *extensions)
{
    return nvtx_heaps_sort(&extensions->heaps) | payload_schemas_close(&extensions->schemas) |
           nvtx_clocks_close(&extensions->clocks) | nvtx_counters_close(&extensions->counters) |
           payload_pieces_close(&extensions->pieces);
}

static inline void nvtx_extensions_release(struct nvtx_extensions *extensions)
{
    payload_schemas_release(&extensions->schemas);
    payload_pieces_release(&extensions->pieces);
    nvtx_scopes_release(&extensions->scopes);
    nvtx_clocks_release(&extensions->clocks);
    nvtx_counters_release(&extensions->counters);
    nvtx_deferred_release(&extensions->deferred);
    nvtx_heaps_release(&extensions->heaps);
}

#endif
