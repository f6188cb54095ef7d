/*
 * Places in the ranges of threads, for searches that come one near another.
 */
#ifndef GPUTRACE_TRACE_MEANING_BASE_NVTX_PLACES_H
#define GPUTRACE_TRACE_MEANING_BASE_NVTX_PLACES_H

#include <stddef.h>
#include <stdint.h>

/* Where one thread's last searches ended, in some of the tracks: the next begin there. Starts as zeros. */
struct nvtx_places {
    struct nvtx_place {
        uint32_t track; /* index + 1 */
        uint32_t open;  /* the last that was found: index + 1 of the innermost range that had not ended … */
        size_t started; /* … of so many that had started … */
        uint64_t ended; /* … and when the last of those within it had ended; 0: there were none */
    } of_track[16];
};

#endif
