#include "hazards_order.h"

#include <stddef.h>

/* --- shapes --- */

/*
 * Two rows of the same pitch, i and k of two boxes whose starts differ by D, share a byte when
 *
 *     -(width of the second)  <  D + (k - i) * pitch  <  width of the first
 *
 * so there is nothing to search: it is asked whether an integer k - i fits. The same holds for slices, with the extent
 * of a slice in place of the width. Boxes of one row take any pitch. Only where pitches differ are rows gone through
 * one by one.
 */

#define ARRAY_PITCH (UINT64_C(1) << 24) /* rows of arrays are shorter */
#define ARRAY_SLICE (UINT64_C(1) << 44) /* and they have fewer rows */

#define STEPS_MAX 65536 /* rows and slices gone through, after which nothing is said */

struct shape shape_run(uint64_t start, uint64_t bytes)
{
    return (struct shape){.start = start, .width = bytes, .height = 1, .pitch = bytes, .depth = 1, .slice = bytes};
}

/* Rows that touch are one row, slices that touch are one slice. */
static void merge(struct shape *shape)
{
    if (shape->slice == shape->height * shape->pitch && shape->depth > 1) {
        shape->height *= shape->depth;
        shape->depth = 1;
    }
    if (shape->pitch == shape->width && shape->height > 1) {
        shape->width *= shape->height;
        shape->height = 1;
    }
}

struct shape shape_box(uint64_t start, uint64_t width, uint64_t height, uint64_t pitch, uint64_t depth, uint64_t rows)
{
    struct shape shape = {.start = start, .width = width, .height = height, .depth = depth};
    shape.pitch = pitch ? pitch : width;
    shape.slice = (rows ? rows : height) * shape.pitch;
    merge(&shape);
    return shape.height == 1 && shape.depth == 1 ? shape_run(start, shape.width) : shape;
}

struct shape shape_array_box(uint64_t x, uint64_t y, uint64_t z, uint64_t width, uint64_t height, uint64_t depth)
{
    return (struct shape){
        .start = z * ARRAY_SLICE + y * ARRAY_PITCH + x,
        .width = width,
        .height = height,
        .pitch = ARRAY_PITCH,
        .depth = depth,
        .slice = ARRAY_SLICE,
    };
}

static uint64_t slice_extent(const struct shape *shape)
{
    return (shape->height - 1) * shape->pitch + shape->width;
}

uint64_t shape_end(const struct shape *shape)
{
    if (shape_is_empty(shape))
        return shape->start;
    return shape->start + (shape->depth - 1) * shape->slice + slice_extent(shape);
}

static int64_t floor_divide(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

struct range {
    int64_t first, last; /* empty: first > last */
};

/* The differences k - i of COUNT_A and COUNT_B things, STEP apart and WIDTH_A and WIDTH_B wide, that share a byte. */
static struct range meeting(int64_t distance, uint64_t step, uint64_t count_a, uint64_t width_a, uint64_t count_b,
                            uint64_t width_b)
{
    int64_t by = (int64_t)step;
    int64_t first = -floor_divide((int64_t)width_b - 1 + distance, by);
    int64_t last = floor_divide((int64_t)width_a - 1 - distance, by);
    int64_t least = -((int64_t)count_a - 1), most = (int64_t)count_b - 1;
    return (struct range){first > least ? first : least, last < most ? last : most};
}

/* One slice of each, the second DISTANCE behind the first. STEPS is what is left to be gone through. */
static enum shapes compare_slices(const struct shape *a, const struct shape *b, int64_t distance, uint64_t *steps)
{
    const struct shape *less = a->height <= b->height ? a : b, *more = less == a ? b : a;
    uint64_t pitch = more->pitch;
    if (a->pitch == b->pitch || less->height == 1) {
        struct range range = meeting(distance, pitch, a->height, a->width, b->height, b->width);
        return range.first <= range.last ? SHAPES_OVERLAP : SHAPES_APART;
    }
    if (less->height > *steps)
        return SHAPES_UNKNOWN;
    *steps -= less->height;
    if (less == b)
        distance = -distance; /* from here on: of the one with more rows behind the one with less */
    for (uint64_t row = 0; row < less->height; row++) {
        int64_t from_row = distance - (int64_t)(row * less->pitch);
        struct range range = meeting(from_row, pitch, 1, less->width, more->height, more->width);
        if (range.first <= range.last)
            return SHAPES_OVERLAP;
    }
    return SHAPES_APART;
}

/* With slices equally far apart, or only one of A. */
static enum shapes compare_steps(const struct shape *a, const struct shape *b, int64_t distance, uint64_t *steps)
{
    struct range range = meeting(distance, b->slice, a->depth, slice_extent(a), b->depth, slice_extent(b));
    for (int64_t k = range.first; k <= range.last; k++) {
        if (*steps == 0)
            return SHAPES_UNKNOWN;
        --*steps;
        enum shapes shapes = compare_slices(a, b, distance + k * (int64_t)b->slice, steps);
        if (shapes != SHAPES_APART)
            return shapes;
    }
    return SHAPES_APART;
}

/* Rows and slices that overlap themselves, or so large that sums would not fit. */
static bool is_odd(const struct shape *shape)
{
    const uint64_t limit = UINT64_C(1) << 61;
    bool steps = shape->pitch > 0 && shape->slice > 0;
    bool small = shape->start < limit && shape->width < limit && shape->pitch < limit && shape->slice < limit &&
                 shape->height <= limit / (shape->pitch + 1) && shape->depth <= limit / (shape->slice + 1);
    return !steps || !small || (shape->height > 1 && shape->width > shape->pitch);
}

enum shapes shapes_compare(const struct shape *a, const struct shape *b)
{
    if (shape_is_empty(a) || shape_is_empty(b))
        return SHAPES_APART;
    if (is_odd(a) || is_odd(b))
        return SHAPES_UNKNOWN;
    if (shape_end(a) <= b->start || shape_end(b) <= a->start)
        return SHAPES_APART;
    const struct shape *less = a->depth <= b->depth ? a : b, *more = less == a ? b : a;
    int64_t distance = (int64_t)(more->start - less->start);
    uint64_t steps = STEPS_MAX;
    if (less->slice == more->slice || less->depth == 1)
        return compare_steps(less, more, distance, &steps);
    struct shape one = *less;
    one.depth = 1;
    for (uint64_t slice = 0; slice < less->depth; slice++) {
        enum shapes shapes = compare_steps(&one, more, distance - (int64_t)(slice * less->slice), &steps);
        if (shapes != SHAPES_APART)
            return shapes;
    }
    return SHAPES_APART;
}

bool shape_covers(const struct shape *whole, const struct shape *part)
{
    bool equal = whole->start == part->start && whole->width == part->width && whole->height == part->height &&
                 whole->pitch == part->pitch && whole->depth == part->depth && whole->slice == part->slice;
    bool run = whole->height == 1 && whole->depth == 1;
    return equal || (run && !is_odd(part) && whole->start <= part->start && shape_end(part) <= shape_end(whole));
}

/* --- regions --- */

struct region *regions_from(const struct regions *regions, uint64_t address)
{
    struct region *best = NULL;
    for (struct region *region = regions->root; region;) {
        if (region_end(region) > address) {
            best = region;
            region = region->left;
        } else {
            region = region->right;
        }
    }
    return best;
}

struct region *regions_at(const struct regions *regions, uint64_t address)
{
    struct region *region = regions_from(regions, address);
    return region && region->address <= address ? region : NULL;
}

static uint32_t random_next(struct regions *regions)
{
    uint32_t x = regions->random ? regions->random : 2463534242u;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return regions->random = x;
}

/* What is below ADDRESS and what is not. */
static void split(struct region *tree, uint64_t address, struct region **below, struct region **rest)
{
    while (tree) {
        if (tree->address < address) {
            *below = tree;
            below = &tree->right;
            tree = tree->right;
        } else {
            *rest = tree;
            rest = &tree->left;
            tree = tree->left;
        }
    }
    *below = *rest = NULL;
}

void regions_add(struct regions *regions, struct region *region)
{
    struct region **place = &regions->root;
    region->weight = random_next(regions);
    while (*place && (*place)->weight >= region->weight)
        place = region->address < (*place)->address ? &(*place)->left : &(*place)->right;
    split(*place, region->address, &region->left, &region->right);
    *place = region;
    regions->count++;
}

void regions_remove(struct regions *regions, struct region *region)
{
    struct region **place = &regions->root;
    while (*place != region)
        place = region->address < (*place)->address ? &(*place)->left : &(*place)->right;
    struct region *left = region->left, *right = region->right;
    while (left && right) {
        if (left->weight >= right->weight) {
            *place = left;
            place = &left->right;
            left = left->right;
        } else {
            *place = right;
            place = &right->left;
            right = right->left;
        }
    }
    *place = left ? left : right;
    regions->count--;
}
