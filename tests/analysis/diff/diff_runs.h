/* What runs of one program took on an H200: trimmed means of 300 launches of a run, in ns; and drawing runs of them. */
#ifndef TESTS_ANALYSIS_DIFF_RUNS_H
#define TESTS_ANALYSIS_DIFF_RUNS_H

#include <stddef.h>
#include <stdint.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* Two modes: from run to run memory lies elsewhere. */
static const double reduce[] = {24099, 24234, 24111, 23887, 23887, 24238, 24087, 25738, 24104, 24227,
                                24216, 24089, 23804, 24113, 25732, 23867, 24226, 25715, 24075, 23875,
                                23801, 25763, 23803, 23934, 24083, 24217, 24109, 26080, 23932, 25767,
                                24096, 23946, 23808, 25737, 24095, 24227, 24215, 25753, 24098, 23942};
static inline unsigned draw(unsigned below)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

/* Puts COUNT of the ALL numbers below ALL in front, in a random order. */
static inline void shuffle(size_t *order, size_t all, size_t count)
{
    for (size_t i = 0; i < all; i++)
        order[i] = i;
    for (size_t i = 0; i < count; i++) {
        size_t other = i + draw((unsigned)(all - i)), swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
}

#endif
