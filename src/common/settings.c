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
    .seccomp_filters = -1,
    .verbose = LOG_NORMAL,
};

static int64_t number(const char *variable, int64_t otherwise)
{
    const char *text = getenv(variable);
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
#define READ(field, variable) settings->field = number(variable, defaults.field);
    SETTINGS_NUMBERS(READ)
#undef READ
}

static int export_text(const char *variable, const char *text)
{
    return text ? setenv(variable, text, 1) : unsetenv(variable);
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
#define WRITE(field, variable) failed |= export_text(variable, settings->field);
    SETTINGS_TEXTS(WRITE)
#undef WRITE
#define WRITE(field, variable) failed |= export_number(variable, settings->field);
    SETTINGS_NUMBERS(WRITE)
#undef WRITE
    return failed ? -1 : 0;
}

static const struct {
    const char *rank, *world_size, *local;
} variables[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

/* The number in VARIABLE, or -1: it is absent or not a rank. */
static int64_t rank_number(const char *variable)
{
    int64_t value = number(variable, -1);
    return value < 0 || value >= INT32_MAX ? -1 : value;
}

void rank_read(struct job_rank *rank)
{
    *rank = (struct job_rank){-1, -1, -1};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]) && rank->rank < 0; i++) {
        rank->rank = rank_number(variables[i].rank);
        if (rank->rank < 0)
            continue;
        rank->world_size = rank_number(variables[i].world_size);
        rank->local = rank_number(variables[i].local);
    }
}
