#include "trace/build/walks.h"

#include "trace/spool/cupti.h"
#include "trace/spool/own.h"

void part_walk_begin(struct part_walk *walk, struct process *process, const struct spool_part *part,
                     const uint8_t *data, bool all)
{
    walk->process = process;
    walk->part = part;
    walk->all = all;
    walk->unreadable = 0;
    clock_walk_begin(&walk->clocks, process, part);
    if (part->type == SPOOL_CUPTI)
        cupti_walk_begin(&walk->cupti, part, data, process->record_bytes);
    else
        own_walk_begin(&walk->own, part);
}

static bool next_cupti(struct part_walk *walk, struct event *event)
{
    while (cupti_walk_next(&walk->cupti)) {
        if (!cupti_kind_decoded(walk->cupti.kind))
            continue;
        cupti_decode(event, &walk->cupti);
        clock_walk_set(&walk->clocks, event);
        if (event->correlation == 0)
            event->correlation = conditional_launches_find(&walk->process->conditional, event);
        if (event->type == EVENT_NONE)
            walk->unreadable++;
        else if (walk->all || process_shows(walk->process, event))
            return true;
    }
    return false;
}

static bool next_own(struct part_walk *walk, struct event *event)
{
    if (!own_walk_next(&walk->own))
        return false;
    own_decode(event, &walk->own, walk->part->thread);
    clock_walk_set(&walk->clocks, event);
    return true;
}

bool part_walk_next(struct part_walk *walk, struct event *event)
{
    return walk->part->type == SPOOL_CUPTI ? next_cupti(walk, event) : next_own(walk, event);
}

uint64_t part_walk_end(const struct part_walk *walk)
{
    spool_part_rest(walk->part);
    return walk->unreadable + (walk->part->type == SPOOL_CUPTI ? walk->cupti.damaged : walk->own.damaged);
}

int process_walk_own(struct conversion *conversion, struct process *process, event_function see, uint64_t *undecoded)
{
    const struct spool_file *file = &process->file;
    uint64_t lost = 0, walked = 0;
    int result = 0;
    for (size_t i = 0; i < file->parts.count && result == 0; i++) {
        const struct spool_part *part = &file->parts.items[i];
        struct part_walk walk;
        struct event event;
        if (part->type != SPOOL_RECORDS)
            continue;
        part_walk_begin(&walk, process, part, part->data, false);
        while (result == 0 && part_walk_next(&walk, &event))
            result = see(conversion, process, &event);
        lost += part_walk_end(&walk);
        process_walked(process, part, &walked);
    }
    if (undecoded)
        *undecoded += lost;
    return result;
}
