#include "analysis/range_forest.h"

#include "common/sink.h"
#include "analysis/table.h"
#include "analysis/trace.h"

#define PATH_NAMES 32u /* at most: recursion makes paths that nobody reads */

void range_forest_release(struct range_forest *forest)
{
    groups_release(&forest->ids);
    array_release(&forest->nodes);
}

static struct range_node *put_node(struct range_forest *forest, const struct range *range, uint32_t parent)
{
    struct {
        uint64_t parent, name, domain;
    } id = {parent, range->name, range->domain};
    size_t before = forest->nodes.count;
    struct range_node *node = groups_item(&forest->ids, &id, &forest->nodes);
    if (node && forest->nodes.count > before)
        *node = (struct range_node){.parent = parent,
                                    .depth = parent ? forest->nodes.items[parent - 1].depth + 1 : 0,
                                    .name = range->name,
                                    .domain = range->domain};
    return node;
}

/* Inner ones come by their start. */
static int64_t take_time(struct range_open *parent, const struct range *range)
{
    int64_t from = range->start > parent->covered ? range->start : parent->covered;
    if (range->end <= from)
        return 0;
    parent->covered = range->end;
    return range->end - from;
}

int range_forest_place(struct range_forest *forest, struct range_walk *walk, int64_t *taken)
{
    struct range_open *last = &walk->open.items[walk->open.count - 1];
    struct range_open *parent = last->outer ? &walk->open.items[last->outer - 1] : NULL;
    struct range_node *node = put_node(forest, &last->range, parent ? parent->node + 1 : 0);
    if (!node)
        return -1;
    last->node = (uint32_t)(node - forest->nodes.items);
    *taken = parent ? take_time(parent, &last->range) : 0;
    return 0;
}

static const char *name_of(const struct trace *trace, const struct range_node *node)
{
    return node->name == EVENT_NO_TEXT ? "" : interned(&trace->strings, node->name);
}

struct cell range_forest_path_cell(const struct range_forest *forest, const struct trace *trace, struct table *table,
                                   uint32_t node)
{
    const struct range_node *way[PATH_NAMES], *nodes = forest->nodes.items;
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
