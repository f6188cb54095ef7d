/*
 * Finds the stages of a pipeline: ranks that send to one another in a chain, each to the next. Several chains, as with
 * data or tensor parallelism, have the same stages. A ring, as with context parallelism or interleaved stages, does not
 * count as a pipeline, and neither do chains of different lengths.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_STAGES_H
#define GPUTRACE_ANALYSIS_RANKS_STAGES_H

#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "analysis/engine/findings.h"
#include "analysis/ranks/ranks.h"

/* A stage. Times are ns in one step, averaged over the ranks of the stage. */
struct stage {
    int64_t number;     /* number of the stage, from 0 */
    int64_t ranks;      /* number of ranks */
    char list[80];      /* the ranks: "0, 1", "0 to 7", "0, 8, 16, 24 and 4 more" */
    int64_t step;       /* length of a step */
    int64_t compute;    /* time of GPU operations that do not communicate */
    int64_t neighbours; /* waiting for the stages before and after: the bubble */
    int64_t gain;       /* gain of a step if all stages compute equally long; FIELD_ABSENT: not the slowest stage */
};

/* Initialise with zeros. */
struct stages {
    ARRAY(struct stage) items; /* empty: the ranks form no pipeline, or have no steps */
    uint32_t *of_rank;         /* by index in ranks.items: index in items, or STAGE_NONE */
    size_t slowest;            /* index of the stage that computes longest */
    int64_t mean;              /* mean of `compute` over the stages, ns */
    int64_t steps;             /* largest number of steps of a rank */
    int64_t microbatches;      /* sends to the next stage in a step */
};

#define STAGE_NONE UINT32_MAX

void stages_release(struct stages *stages);

/* Finds the stages of RANKS. Returns 0, or -1: no memory. */
int stages_find(struct stages *stages, const struct ranks *ranks);

#define STAGES_COLUMNS 8
extern const struct column stages_columns[STAGES_COLUMNS];
/* Adds a row for each stage to ROW's table, which has stages_columns. Returns 0, or -1: no memory. */
int stages_fill(struct report_row *row, const struct ranks *ranks);

/* A pipeline whose slowest stage computes longer than the others. */
struct imbalance {
    int64_t cost;   /* ns by which all steps together would be shorter; 0: balanced stages, or no pipeline */
    int64_t ranks;  /* number of ranks of the slowest stage */
    uint32_t index; /* index in ranks.items of the first rank of this stage */
    int64_t steps;
    char text[FINDING_TEXT]; /* a sentence */
};

extern const char imbalance_advice[];

/* Finds the imbalance of the pipeline. Returns 0, or -1: no memory. */
int stages_find_imbalance(struct imbalance *imbalance, const struct ranks *ranks);

#endif
