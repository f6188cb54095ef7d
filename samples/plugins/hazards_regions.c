#include "hazards_regions.h"

#include <stddef.h>

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
