/*
 * A rank report: what the report of a job needs of one trace, as a file (.gpr) that `report --partial` writes. It has
 * the trace's ranks, its findings, the rows of its sections that have a `comparable`, and all collective operations.
 * There may be many operations, so they are read from the file when they are needed.
 *
 * The file is a sequence of blocks, each after a struct rank_report_head. Records are the structs below as this program
 * has them in memory, so that only the version that wrote a file reads it. A file of another version, or one that is
 * damaged, is an error that names it.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_RANK_REPORT_H
#define GPUTRACE_ANALYSIS_JOB_RANK_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/hang/hang_fronts.h"
#include "analysis/ranks/ranks.h"

/* Texts are numbers of ranks.texts, times ns. */

struct rank_report_info {
    uint32_t path;       /* path of the trace */
    uint32_t with_span;  /* 1: `start` and `end` are known */
    uint32_t filter;     /* the filter options as text; "": none */
    uint32_t missing;    /* why the filter selects nothing of the trace; "": it selects something */
    int64_t start, end;  /* of the trace */
    int64_t base;        /* time 0: ns since 1970; 0: not known */
    int64_t world_size;  /* ranks of the job; FIELD_ABSENT: not known */
    uint64_t sections;   /* REPORT_BIT() of the sections whose rows the report has */
    uint64_t unrecorded; /* REPORT_BIT() of the sections that --trace left out */
    int64_t run;         /* ns that costs of findings are shares of */
};

/* A row of a section, for all ranks of the trace. */
struct rank_report_row {
    uint32_t section; /* enum report_section */
    uint32_t name;
    double total, count; /* total: ns or bytes; 0 if the section has no totals */
};

struct rank_report_finding {
    uint32_t rule; /* index in FINDING_RULES */
    uint32_t text, advice, where;
    uint32_t rank;      /* index in ranks.items; RANK_NONE: unknown */
    int64_t cost, gain; /* ns */
};

struct rank_report {
    struct ranks ranks; /* without who waited for whom, which needs all ranks */
    struct rank_report_info info;
    ARRAY(struct rank_report_row) rows;
    ARRAY(struct rank_report_finding) findings;
    ARRAY(struct hang_member) members; /* what each rank did when the trace ended */
    int file;                          /* owned by the caller */
    uint64_t collectives_offset;       /* place in FILE of struct collective; `process`: index in ranks.items */
    uint64_t collectives_count;
};

/* Returns whether the file at PATH is a rank report of this or another version. */
bool rank_report_is(const char *path);

/* Returns REPORT_BIT() of the sections whose rows rank reports have: those with a `comparable`. */
uint64_t rank_report_sections(void);

/* Reads the report in FILE, which messages call NAME. FILE must stay open as long as REPORT is used. Returns 0, or -1
 * after error(). REPORT must be released in both cases. */
int rank_report_read(struct rank_report *report, int file, const char *name);
void rank_report_release(struct rank_report *report);

/* Checks each collective operation and calls EACH for it, until EACH returns non-zero. Returns the last result of EACH,
 * or -1 after error(). */
int rank_report_collectives(const struct rank_report *report, const char *name,
                            int (*each)(void *context, struct collective *one), void *context);

#define RANK_REPORT_MAGIC "gputrace part 7\n" /* 16 bytes at the beginning; the number changes with the structs */
#define RANK_REPORT_MAGIC_BYTES 16

/* Blocks. Texts come last, because all other blocks add to them while the report is written.
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
    uint32_t block, record; /* an enum rank_report_block; bytes of a record */
    uint64_t count;
};

#endif
