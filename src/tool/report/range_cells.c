#include "base/sink.h"
#include "tool/report/ranges.h"
#include "tool/report/table.h"
#include "tool/report/trace.h"

#define PATH_NAMES 32u /* at most: recursion makes paths that nobody reads */

static const char *name_of(const struct trace *trace, const struct range_node *node)
{
    return node->name == EVENT_NO_TEXT ? "" : interned(&trace->strings, node->name);
}

struct cell ranges_path_cell(const struct trace *trace, struct table *table, uint32_t node)
{
    const struct range_node *way[PATH_NAMES], *nodes = trace->ranges.nodes.items;
    unsigned count = 0;
    for (; node && count < PATH_NAMES; node = nodes[node - 1].parent)
        way[count++] = &nodes[node - 1];
    struct sink path;
    sink_init_memory(&path);
    if (node)
        sink_text(&path, "…/");
    for (unsigned i = count; i-- > 0;) {
        sink_text(&path, name_of(trace, way[i]));
        if (i > 0)
            sink_char(&path, '/');
    }
    sink_char(&path, '\0');
    bool failed = sink_finish(&path) != 0;
    struct cell cell = failed ? (struct cell){0} : table_text(table, path.data);
    table->no_memory |= failed;
    sink_release(&path);
    return cell;
}
