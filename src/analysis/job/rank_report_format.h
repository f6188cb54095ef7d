/*
 * The format of the file of a rank report, for its writer and its reader.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_RANK_REPORT_FORMAT_H
#define GPUTRACE_ANALYSIS_JOB_RANK_REPORT_FORMAT_H

#include <stdint.h>

#define RANK_REPORT_MAGIC "gputrace part 7\n" /* 16 bytes at the beginning; the number changes with the structs */
#define RANK_REPORT_MAGIC_BYTES 16

/* Blocks; texts come last, as all others add to them.
 *   constant     record */
#define RANK_REPORT_BLOCKS(X)               \
    X(INFO, struct rank_report_info)        \
    X(RANKS, struct rank)                   \
    X(NAMES, struct rank_name)              \
    X(STEPS, struct rank_step)              \
    X(ROWS, struct rank_report_row)         \
    X(FINDINGS, struct rank_report_finding) \
    X(MEMBERS, struct hang_member)          \
    X(COLLECTIVES, struct collective)       \
    X(TEXTS, char)

enum rank_report_block {
#define BLOCK(constant, type) RANK_REPORT_##constant,
    RANK_REPORT_BLOCKS(BLOCK)
#undef BLOCK
        RANK_REPORT_BLOCK_COUNT
};

struct rank_report_head {
    uint32_t block, record; /* enum rank_report_block; bytes */
    uint64_t count;
};

#endif
