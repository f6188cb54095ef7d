/*
 * Reads and exports the settings by the lists of common/settings.h, and finds this process's rank in the variables that
 * job starters set. Lists of ranks are walked anew for each question, because they are short. How many filters of
 * system calls (seccomp) a process has is in /proc/thread-self/status, the offset of its time namespace in
 * /proc/self/timens_offsets.
 */
#include "common/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
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

/* The variables that job starters set: of the rank, the number of ranks, the rank on its node, and the node; NULL:
 * none. A starter stands after those that its processes may be: Slurm also numbers the nodes that run torchrun or Open
 * MPI's daemon. */
#define RANK_VARIABLES 4
static const char *const starters[][RANK_VARIABLES] = {
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

void rank_read_from(struct job_rank *rank, const char *(*value)(void *context, const char *variable), void *context)
{
    int64_t *const numbers[RANK_VARIABLES] = {&rank->rank, &rank->world_size, &rank->local, &rank->node};
    *rank = (struct job_rank){-1, -1, -1, -1};
    for (size_t i = 0; i < sizeof(starters) / sizeof(starters[0]); i++) {
        for (size_t k = 0; k < RANK_VARIABLES; k++) {
            int64_t number = starters[i][k] ? number_in(value(context, starters[i][k]), -1) : -1;
            if (number < 0 || number >= INT32_MAX)
                number = -1;
            if (*numbers[k] < 0)
                *numbers[k] = number;
            if (k == 0 && (number < 0 || number != rank->rank))
                break; /* this starter set no rank, or numbers something else */
        }
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

/* --- lists of ranks --- */

/* Reads the digits at *AT and moves *AT behind them. Returns -1 if there are none, or more than a rank has. */
static int64_t read_number(const char **at)
{
    int64_t number = 0;
    size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > 9)
        return -1;
    for (size_t i = 0; i < digits; i++)
        number = 10 * number + (*at)[i] - '0';
    *at += digits;
    return number;
}

/* An item of a list: every STEP-th of the ranks from FIRST to LAST. */
struct item {
    int64_t first, last, step;
};

/* Reads the item at *AT and moves *AT behind it and its comma. Returns false if it is not valid. */
static bool read_item(const char **at, struct item *item)
{
    static const char every[] = "every:";
    *item = (struct item){.last = INT64_MAX, .step = 1};
    if (strncmp(*at, every, sizeof(every) - 1) == 0) {
        *at += sizeof(every) - 1;
        item->step = read_number(at);
    } else {
        item->first = item->last = read_number(at);
        if (item->first >= 0 && **at == '-') {
            ++*at;
            item->last = read_number(at);
        }
    }
    if (item->first < 0 || item->last < item->first || item->step < 1 || (**at != ',' && **at != '\0'))
        return false;
    bool more = **at == ',';
    *at += more;
    return !more || **at != '\0';
}

bool rank_list_is_valid(const char *list)
{
    struct item item;
    bool valid = *list != '\0';
    while (valid && *list)
        valid = read_item(&list, &item);
    return valid;
}

bool rank_list_has(const char *list, int64_t rank)
{
    struct item item;
    bool found = false;
    if (rank < 0 || !rank_list_is_valid(list))
        return false;
    while (!found && *list && read_item(&list, &item))
        found = rank >= item.first && rank <= item.last && (rank - item.first) % item.step == 0;
    return found;
}

/* --- filters of system calls --- */

/* Returns the number after NAME in TEXT, or OTHERWISE if NAME does not occur. */
static int64_t number_after(const char *text, const char *name, int64_t otherwise)
{
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : otherwise;
}

int64_t seccomp_filters(void)
{
    char text[8192]; /* of the lines before ours, only the list of groups may be long */
    int saved = errno;
    int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    bool is_whole = got > 0 && got < (ssize_t)sizeof(text) - 1; /* a kernel without filters has no line */
    int64_t mode = number_after(text, "\nSeccomp:", is_whole ? 0 : -1);
    errno = saved;
    return mode == 0 ? 0 : number_after(text, "\nSeccomp_filters:", -1);
}

/* --- time namespaces --- */

int64_t time_namespace_offset(void)
{
    char text[256];
    int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    char *at = strstr(text, "monotonic"); /* then seconds, which may be negative, and nanoseconds */
    /* /proc shows the offsets of children. They are ours too, unless we made a namespace only for children. */
    struct stat ours, children;
    if (!at || stat("/proc/self/ns/time", &ours) != 0 || stat("/proc/self/ns/time_for_children", &children) != 0 ||
        ours.st_dev != children.st_dev || ours.st_ino != children.st_ino)
        return 0;
    long long seconds = strtoll(at + strlen("monotonic"), &at, 10);
    return (int64_t)(seconds * (long long)NS_PER_S + strtoll(at, NULL, 10));
}
