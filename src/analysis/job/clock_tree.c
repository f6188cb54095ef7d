#include "analysis/job/clock_tree.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/array.h"

/* A way to HOST from THROUGH, which is reached. */
struct step {
    double distance; /* of HOST from host 0 */
    uint32_t host, through, pair;
};

/* Dijkstra's algorithm. */
struct tree {
    const struct clock_edge *edges;
    uint32_t *first;   /* of each host: where its edges begin in `of_host`; and where the last host's end */
    uint32_t *of_host; /* edges of each host */
    bool *reached;
    ARRAY(struct step) heap;
};

static bool is_before(const struct step *left, const struct step *right)
{
    if (left->distance != right->distance)
        return left->distance < right->distance;
    return left->host != right->host ? left->host < right->host : left->through < right->through;
}

static int heap_add(struct tree *tree, struct step step)
{
    if (!array_push(&tree->heap))
        return -1;
    size_t place = tree->heap.count - 1;
    for (; place > 0 && is_before(&step, &tree->heap.items[(place - 1) / 2]); place = (place - 1) / 2)
        tree->heap.items[place] = tree->heap.items[(place - 1) / 2];
    tree->heap.items[place] = step;
    return 0;
}

static struct step heap_take(struct tree *tree)
{
    struct step *items = tree->heap.items, first = items[0];
    size_t count = --tree->heap.count, place = 0;
    struct step last = items[count];
    for (size_t child = 1; child < count; child = 2 * place + 1) {
        if (child + 1 < count && is_before(&items[child + 1], &items[child]))
            child++;
        if (!is_before(&items[child], &last))
            break;
        items[place] = items[child];
        place = child;
    }
    items[place] = last;
    return first;
}

static void list_edges(struct tree *tree, size_t count, uint32_t hosts)
{
    for (size_t i = 0; i < count; i++) {
        tree->first[tree->edges[i].a]++;
        tree->first[tree->edges[i].b]++;
    }
    for (uint32_t host = 0; host < hosts; host++) /* now the end of each list ... */
        tree->first[host + 1] += tree->first[host];
    for (size_t i = count; i-- > 0;) { /* ... and when it is filled its beginning */
        tree->of_host[--tree->first[tree->edges[i].a]] = (uint32_t)i;
        tree->of_host[--tree->first[tree->edges[i].b]] = (uint32_t)i;
    }
}

int clock_tree_make(const struct clock_edge *edges, size_t count, uint32_t hosts, struct clock_join *joins,
                    size_t *joined)
{
    struct tree tree = {.edges = edges};
    *joined = 0;
    tree.first = calloc((size_t)hosts + 1, sizeof(*tree.first));
    tree.of_host = calloc(2 * count + 1, sizeof(*tree.of_host));
    tree.reached = calloc((size_t)hosts + 1, sizeof(*tree.reached));
    int status = tree.first && tree.of_host && tree.reached ? 0 : -1;
    if (status == 0) {
        list_edges(&tree, count, hosts);
        status = heap_add(&tree, (struct step){0, 0, 0, 0});
        while (status == 0 && tree.heap.count > 0) {
            struct step step = heap_take(&tree);
            if (tree.reached[step.host])
                continue;
            tree.reached[step.host] = true;
            if (step.host != 0)
                joins[(*joined)++] = (struct clock_join){step.host, step.through, step.pair};
            for (uint32_t i = tree.first[step.host]; i < tree.first[step.host + 1] && status == 0; i++) {
                const struct clock_edge *edge = &tree.edges[tree.of_host[i]];
                uint32_t other = edge->a == step.host ? edge->b : edge->a;
                if (!tree.reached[other])
                    status = heap_add(&tree, (struct step){step.distance + edge->length, other, step.host, edge->pair});
            }
        }
    }
    free(tree.first);
    free(tree.of_host);
    free(tree.reached);
    array_release(&tree.heap);
    return status;
}
