/*
 * Reads and exports the settings by the lists of common/settings.h, and finds this process's rank in the variables
 * that job starters set.
 */
#include "common/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"

static const struct settings defaults = {
    .trace = TRACE_DEFAULT,
    .graph_nodes = 1,
    .flush_interval_ms = 200,
    .stacks = STACKS_DEFAULT,
    .seccomp_filters = -1,
    .verbose = LOG_NORMAL,
};

static int64_t number_in(const char *text, int64_t otherwise)
{
    if (!text || !*text)
        return otherwise;
    char *end;
    int saved = errno;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    int failure = errno;
    errno = saved;
    return failure || *end ? otherwise : value;
}

void settings_init(struct settings *settings)
{
    *settings = defaults;
}

void settings_read(struct settings *settings)
{
    *settings = defaults;
#define READ(field, variable) settings->field = getenv(variable);
    SETTINGS_TEXTS(READ)
#undef READ
#define READ(field, variable) settings->field = number_in(getenv(variable), defaults.field);
    SETTINGS_NUMBERS(READ)
#undef READ
}

static int export_number(const char *variable, int64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, value);
    return setenv(variable, text, 1);
}

int settings_export(const struct settings *settings)
{
    int failed = 0;
#define WRITE(field, variable) failed |= settings->field ? setenv(variable, settings->field, 1) : unsetenv(variable);
    SETTINGS_TEXTS(WRITE)
#undef WRITE
#define WRITE(field, variable) failed |= export_number(variable, settings->field);
    SETTINGS_NUMBERS(WRITE)
#undef WRITE
    return failed ? -1 : 0;
}

/* --- ranks --- */

/* What starts jobs, and the variables that it sets. One whose processes start further jobs comes after what starts
 * these: Slurm has numbers for each node that runs a torchrun or Open MPI's daemon, too. */
static const struct {
    const char *rank, *world_size, *local, *node; /* NULL: there is none */
} starters[] = {
    /* torchrun */
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK"},
    /* Open MPI */
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", NULL},
    /* MVAPICH2 */
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", NULL},
    /* MPICH, Intel MPI */
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", NULL},
    /* jsrun */
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK", NULL},
    /* Flux */
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", NULL},
    /* Slurm */
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NODEID"},
    /* anything with PMIx */
    {"PMIX_RANK", NULL, NULL, NULL},
};

struct variables {
    const char *(*value)(void *context, const char *variable);
    void *context;
};

/* The number in VARIABLE, or -1: it is absent or not a rank. */
static int64_t rank_number(const struct variables *variables, const char *variable)
{
    int64_t value = variable ? number_in(variables->value(variables->context, variable), -1) : -1;
    return value < 0 || value >= INT32_MAX ? -1 : value;
}

static void add_missing(int64_t *known, const struct variables *variables, const char *variable)
{
    if (*known < 0)
        *known = rank_number(variables, variable);
}

void rank_read_from(struct job_rank *rank, const char *(*value)(void *context, const char *variable), void *context)
{
    const struct variables variables = {value, context};
    *rank = (struct job_rank){-1, -1, -1, -1};
    for (size_t i = 0; i < sizeof(starters) / sizeof(starters[0]); i++) {
        int64_t number = rank_number(&variables, starters[i].rank);
        if (rank->rank < 0)
            rank->rank = number;
        if (number < 0 || number != rank->rank)
            continue; /* it says nothing, or numbers something else */
        add_missing(&rank->world_size, &variables, starters[i].world_size);
        add_missing(&rank->local, &variables, starters[i].local);
        add_missing(&rank->node, &variables, starters[i].node);
    }
}

static const char *of_environment(void *context, const char *variable)
{
    (void)context;
    return getenv(variable);
}

void rank_read(struct job_rank *rank)
{
    rank_read_from(rank, of_environment, NULL);
}
