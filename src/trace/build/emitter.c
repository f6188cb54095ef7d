#include "trace/build/emitter.h"

#include <errno.h>

void emitter_begin(struct emitter *emitter, struct conversion *conversion, struct sink *sink)
{
    emitter->conversion = conversion;
    emitter->kernels = 0;
    emitter->part = 0;
    writer_piece(&emitter->writer, &conversion->writer, sink);
}

void emitter_end(struct emitter *emitter)
{
    writer_release(&emitter->writer);
    map_release(&emitter->works);
}

void emitter_release(struct emitter *emitter)
{
    spool_scratch_release(&emitter->scratch);
    map_release(&emitter->works);
    *emitter = (struct emitter){0};
}

void emitter_passed(struct emitter *emitter, const struct process *process)
{
    uint64_t written = emitter->writer.sink->total;
    if (++emitter->passed < EMITTER_REST_EVENTS && written - emitter->rested < EMITTER_REST_BYTES)
        return;
    process_rest(process);
    emitter->passed = 0;
    emitter->rested = written;
}

void emitter_enter_part(struct emitter *emitter, uint32_t part)
{
    emitter->part = part;
    if (emitter->works.count > 0)
        map_release(&emitter->works);
}

uint32_t emitter_meet_work(struct emitter *emitter, const struct process *process, uint32_t correlation)
{
    uint64_t *next = map_put(&emitter->works, correlation, NULL);
    if (!next) {
        emitter->writer.sink->failure = ENOMEM;
        return 0;
    }
    if (*next == 0)
        *next = (uint64_t)launches_met_before(&process->launches, correlation, emitter->part) + 1;
    return (uint32_t)((*next)++ - 1);
}
