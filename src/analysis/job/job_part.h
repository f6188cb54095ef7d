/*
 * A part of a job: what the report of a job needs of one trace, as a file (.gpr). It has the trace's ranks, its
 * findings, the rows of its sections that have a `comparable`, and all of its collective operations, which may be many
 * and stay in the file.
 *
 * The file is a row of blocks, each with a head: its kind, the bytes of a record, and their number. Records are the
 * structs below as this program has them in memory, so that a part is read by the version that wrote it. A file of
 * another version, or one that is damaged, is an error that names it.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_JOB_PART_H
#define GPUTRACE_ANALYSIS_JOB_JOB_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/hang/hang_fronts.h"
#include "analysis/ranks/ranks.h"

/* Texts are numbers of ranks.texts, times ns. */

struct part_info {
    uint32_t path;       /* of the trace */
    uint32_t with_span;  /* 1: `start` and `end` are known */
    uint32_t filter;     /* what was selected, as it is typed; "": all */
    uint32_t missing;    /* why nothing of that is in the trace; "": something is */
    int64_t start, end;  /* of the trace */
    int64_t base;        /* of all times: ns since 1970; 0: not known */
    int64_t world_size;  /* ranks of the job; FIELD_ABSENT: not known */
    uint64_t sections;   /* REPORT_BIT() of those whose rows it has */
    uint64_t unrecorded; /* REPORT_BIT() of those that --trace left out */
    int64_t run;         /* ns that costs of findings are shares of */
};

/* A row of a section, of all ranks of the trace. */
struct part_row {
    uint32_t section; /* enum report_section */
    uint32_t name;
    double total, count; /* total: ns or bytes; 0 where the section has none */
};

struct part_finding {
    uint32_t rule; /* in FINDING_RULES */
    uint32_t text, advice, where;
    uint32_t rank;      /* index of ranks.items; RANK_NONE: not known */
    int64_t cost, gain; /* ns */
};

struct job_part {
    struct ranks ranks; /* without who waited for whom */
    struct part_info info;
    ARRAY(struct part_row) rows;
    ARRAY(struct part_finding) findings;
    ARRAY(struct hang_member) members; /* what each rank did at the end */
    int file;                          /* the caller's */
    uint64_t collectives_offset;       /* in it: struct collective, whose `process` is an index of ranks.items */
    uint64_t collectives_count;
};

/* Whether the file at PATH is a part. */
bool job_part_is(const char *path);

struct report_options;
/* Sections that a part holds the rows of: those with a `comparable`. */
uint64_t job_part_sections(void);

/*
 * Reads the trace at PATH and writes its part to the file FILE, which is empty. SECTIONS: REPORT_BIT() of those whose
 * rows it gets, of job_part_sections(). SEVERAL: there are others, so that filters may select nothing of this one.
 * Returns 0; JOB_PART_NONE: the trace has no ranks, nothing was written; or -1 after error().
 */
#define JOB_PART_NONE 1
int job_part_make(const struct report_options *options, uint64_t sections, const char *path, int file, bool several);

/* Opens the part at PATH, or makes that of the trace there, one of several, in a temporary file. Sets *FILE, which the
 * caller closes unless it is -1. Returns as job_part_make(). */
int job_part_open(const struct report_options *options, uint64_t sections, const char *path, int *file);

/* Reads the part in FILE, which is called NAME in messages and stays open as long as PART. Returns 0, or -1 after
 * error(). PART is to be released in either case. */
int job_part_read(struct job_part *part, int file, const char *name);
void job_part_release(struct job_part *part);

/* Calls EACH for all collective operations, which are checked, until it returns non-zero. Returns that, or 0, or -1
 * after error(). */
int job_part_collectives(const struct job_part *part, const char *name,
                         int (*each)(void *context, struct collective *one), void *context);

#endif
