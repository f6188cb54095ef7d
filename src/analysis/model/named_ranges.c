#include "analysis/model/named_ranges.h"

#include <string.h>

#include "analysis/model/trace.h"

/* What is counted on one thread after another. */
struct numbering {
    uint32_t thread;
    bool any;
    int64_t count;
};

static void begin_thread(struct numbering *counter, uint32_t thread)
{
    if (!counter->any || counter->thread != thread)
        *counter = (struct numbering){.thread = thread, .any = true};
}

int ranges_each_named(const struct trace *trace, const char *name, size_t length,
                      int (*each)(void *context, const struct named_range *step), void *context)
{
    struct numbering counter = {0};
    struct sorter_walk walk;
    const struct range *range;
    int status = 0;
    sorter_walk_begin(&walk, &trace->ranges.sorter);
    while (status == 0 && (range = sorter_next(&walk))) {
        const char *text = trace_text(trace, range->name);
        begin_thread(&counter, range->thread);
        if (strncmp(text, name, length) == 0 && text[length] == '\0')
            status = each(context, &(struct named_range){*range, ++counter.count});
    }
    int ended = sorter_walk_end(&walk);
    return status ? status : ended;
}
