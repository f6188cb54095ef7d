/*
 * The file of a part (job_part.h), for who writes it and who reads it.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_PART_FORMAT_H
#define GPUTRACE_ANALYSIS_JOB_PART_FORMAT_H

#include <stdint.h>

#define PART_MAGIC "gputrace part 7\n" /* 16 bytes at the beginning; the number changes with the structs */
#define PART_MAGIC_BYTES 16

/* Blocks; texts come last, as all others add to them.
 *   constant     record */
#define PART_BLOCKS(X)                \
    X(INFO, struct part_info)         \
    X(RANKS, struct rank)             \
    X(NAMES, struct rank_name)        \
    X(STEPS, struct rank_step)        \
    X(ROWS, struct part_row)          \
    X(FINDINGS, struct part_finding)  \
    X(MEMBERS, struct hang_member)    \
    X(COLLECTIVES, struct collective) \
    X(TEXTS, char)

enum part_block {
#define BLOCK(constant, type) PART_##constant,
    PART_BLOCKS(BLOCK)
#undef BLOCK
        PART_BLOCK_COUNT
};

struct part_head {
    uint32_t block, record; /* enum part_block; bytes */
    uint64_t count;
};

#endif
