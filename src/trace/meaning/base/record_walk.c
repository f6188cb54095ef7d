/* Walks over the records chunk by chunk, with a clock for each chunk, and counts the records that cannot be read. */
#include "trace/meaning/base/record_walk.h"

#include "trace/meaning/base/clocks.h"
#include "trace/meaning/base/process.h"
#include "trace/spool/agent_records.h"

int process_walk_agent_records(struct process *process, event_function visit, uint64_t *undecoded)
{
    const struct spool_file *file = &process->file;
    uint64_t lost = 0, walked = 0;
    int result = 0;
    for (size_t i = 0; i < file->parts.count && result == 0; i++) {
        const struct spool_part *part = &file->parts.items[i];
        struct agent_walk walk;
        struct clock_walk clocks;
        if (part->type != SPOOL_RECORDS)
            continue;
        clock_walk_begin(&clocks, process, part);
        agent_walk_begin(&walk, part);
        while (result == 0 && agent_walk_next(&walk)) {
            struct event event;
            agent_decode(&event, &walk, part->thread);
            clock_walk_set(&clocks, &event);
            result = visit(process, &event);
        }
        lost += walk.damaged;
        spool_part_evict(part);
        process_walked(process, part, &walked);
    }
    if (undecoded)
        *undecoded += lost;
    return result;
}
