/*
 * `gputrace ps`, `gputrace start` and `gputrace stop`: lists the processes that runs of this user record, and asks their
 * agents to start or stop. A request is written into the head of a process's spool, which only this user can open; the
 * agent's service thread waits there (agent/main/capture.c).
 */
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/options.h"
#include "common/array.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/spool.h"
#include "launch/run_directory.h"

#define ANSWER_NS (2 * NS_PER_S)      /* how long a process has to answer */
#define TOGETHER_NS (300 * NS_PER_MS) /* when several processes start: each has got ready by then */
#define DAY_S (24 * 60 * 60)

struct control_options {
    const char *spool_parent; /* NULL: $TMPDIR or /tmp */
    uint64_t at;              /* CLOCK_REALTIME, ns; 0: at once */
    uint64_t duration;        /* ns; 0: until it is asked to stop */
};

/* The head of a process's spool, mapped, and the file, open. */
struct process {
    struct spool_header *header;
    int fd;
    uint32_t request;
    bool named; /* on the command line */
};
struct processes {
    struct process *items;
    size_t count, capacity;
};

/* --- the processes --- */

static void find(void *context, int fd)
{
    struct processes *processes = context;
    struct stat status;
    if (fstat(fd, &status) != 0 || status.st_size < SPOOL_HEADER_BYTES)
        return; /* it was just made */
    struct spool_header *header = mmap(NULL, SPOOL_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (header == MAP_FAILED)
        return;
    bool ours = memcmp(header->magic, SPOOL_MAGIC, sizeof(header->magic)) == 0 && header->version == SPOOL_VERSION;
    struct process *process = ours ? array_push(processes) : NULL;
    if (process)
        *process = (struct process){.header = header, .fd = dup(fd)};
    else
        munmap(header, SPOOL_HEADER_BYTES);
}

static int by_pid(const void *a, const void *b)
{
    uint32_t one = ((const struct process *)a)->header->pid, other = ((const struct process *)b)->header->pid;
    return one < other ? -1 : one > other;
}

static void find_all(struct processes *processes, const struct control_options *options)
{
    *processes = (struct processes){0};
    run_directory_spools(run_directory_parent(options->spool_parent), find, processes);
    if (processes->count > 0)
        qsort(processes->items, processes->count, sizeof(*processes->items), by_pid);
}

static void release(struct processes *processes)
{
    for (size_t i = 0; i < processes->count; i++) {
        munmap(processes->items[i].header, SPOOL_HEADER_BYTES);
        close(processes->items[i].fd);
    }
    array_release(processes);
}

/* --- ps --- */

static void put_clock(struct buffer *out, uint64_t time)
{
    time_t seconds = (time_t)(time / NS_PER_S);
    char text[32] = "-";
    struct tm local;
    if (time > 0 && localtime_r(&seconds, &local))
        strftime(text, sizeof(text), llabs((long long)(clock_now() / NS_PER_S) - seconds) < DAY_S ? "%H:%M:%S" : "%F",
                 &local);
    buffer_format(out, "%-10s  ", text);
}

static void put_process(struct buffer *out, struct spool_header *header)
{
    const struct spool_control *control = spool_control(header);
    uint32_t recording = __atomic_load_n(&control->recording, __ATOMIC_ACQUIRE);
    uint64_t lost = 0;
#define LOST(field, words) lost += header->losses.field;
    SPOOL_LOSSES(LOST)
#undef LOST
    buffer_format(out, "%-9" PRIu32 " ", header->pid);
    if (header->rank > 0)
        buffer_format(out, "%-5" PRIu32 " ", header->rank - 1);
    else
        buffer_text(out, "-     ");
    buffer_format(out, "%-10s ", recording == SPOOL_RECORDING ? "recording" : recording ? "paused" : "starting");
    put_clock(out, control->switched ? control->switched : header->started);
    buffer_format(out, "%-6" PRIu64 " ", lost);
    for (size_t i = 0; i < sizeof(header->command) && header->command[i]; i++)
        buffer_char(out,
                    (unsigned char)header->command[i] < ' ' || header->command[i] == 127 ? '?' : header->command[i]);
    buffer_char(out, '\n');
}

static int list(const struct control_options *options)
{
    struct processes processes;
    struct buffer out;
    find_all(&processes, options);
    buffer_init(&out, buffer_drain_fd, BUFFER_FD(STDOUT_FILENO));
    if (processes.count > 0)
        buffer_text(&out, "PID       RANK  STATE      SINCE       LOST   COMMAND\n");
    else
        notice("no process is being recorded: 'gputrace run' starts one (--spool-dir tells of runs that have it "
               "elsewhere)");
    for (size_t i = 0; i < processes.count; i++)
        put_process(&out, processes.items[i].header);
    release(&processes);
    int failure = buffer_finish(&out);
    buffer_release(&out);
    return failure ? error("cannot write to standard output: %s", strerror(failure)) : 0;
}

/* --- start and stop --- */

/* Marks the processes that OPERANDS name: pids, or "all". */
static int choose(struct processes *processes, char **operands)
{
    for (; *operands; operands++) {
        char *end;
        bool all = strcmp(*operands, "all") == 0, found = false;
        unsigned long pid = strtoul(*operands, &end, 10);
        if (!all && (*end || end == *operands || **operands == '-'))
            return error_usage("'%s' is neither a pid nor 'all': 'gputrace ps' lists the processes", *operands);
        for (size_t i = 0; i < processes->count; i++)
            if (all || processes->items[i].header->pid == pid)
                processes->items[i].named = found = true;
        if (!found)
            return all ? error("no process is being recorded: 'gputrace run' starts one")
                       : error("no process %s is being recorded: 'gputrace ps' lists those that are", *operands);
    }
    return 0;
}

/* Writes the request, and wakes the agent. The lock keeps two requests apart. */
static void ask(struct process *process, uint64_t from, uint64_t to)
{
    struct spool_control *control = spool_control(process->header);
    flock(process->fd, LOCK_EX);
    control->record_from = from;
    control->record_to = to;
    process->request = __atomic_add_fetch(&control->asked, 1, __ATOMIC_RELEASE);
    __atomic_add_fetch(&control->woken, 1, __ATOMIC_RELEASE);
    flock(process->fd, LOCK_UN);
    syscall(SYS_futex, &control->woken, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Waits until the agent has taken the request, or a later one. */
static bool is_answered(const struct process *process, uint64_t until)
{
    struct spool_control *control = spool_control(process->header);
    for (;;) {
        uint32_t answered = __atomic_load_n(&control->answered, __ATOMIC_ACQUIRE);
        uint64_t now = clock_monotonic();
        if ((int32_t)(answered - process->request) >= 0)
            return true;
        if (now >= until)
            return false;
        struct timespec left = {.tv_sec = (time_t)((until - now) / NS_PER_S),
                                .tv_nsec = (long)((until - now) % NS_PER_S)};
        syscall(SYS_futex, &control->answered, FUTEX_WAIT, answered, &left, NULL, 0);
    }
}

static int ask_all(const struct control_options *options, char **operands, bool start)
{
    struct processes processes;
    size_t named = 0;
    find_all(&processes, options);
    int status = choose(&processes, operands);
    for (size_t i = 0; i < processes.count; i++)
        named += processes.items[i].named;
    uint64_t from = options->at ? options->at : named > 1 ? clock_now() + TOGETHER_NS : 0;
    uint64_t to = options->duration ? (from ? from : clock_now()) + options->duration : 0;
    for (size_t i = 0; i < processes.count && status == 0; i++)
        if (processes.items[i].named)
            ask(&processes.items[i], start ? from : SPOOL_NEVER, start ? to : 0);
    uint64_t until = clock_monotonic() + ANSWER_NS;
    for (size_t i = 0; i < processes.count && status == 0; i++)
        if (processes.items[i].named && !is_answered(&processes.items[i], until))
            status = error("process %" PRIu32 " does not answer: it may be stopped, or forbids what recording needs",
                           processes.items[i].header->pid);
    release(&processes);
    return status;
}

/* --- the commands --- */

/* "+2s" from now, or the next "12:30" or "12:30:00" of this host's clock. */
static int take_at(void *field, const char *value)
{
    uint64_t *at = field, after = 0;
    if (*value == '+') {
        if (duration_parse("at", value + 1, &after) < 0)
            return OPTIONS_ERROR;
        *at = clock_now() + after;
        return 0;
    }
    time_t now = time(NULL);
    struct tm when = *localtime(&now);
    when.tm_sec = 0;
    int length = 0;
    bool minutes = sscanf(value, "%2d:%2d%n", &when.tm_hour, &when.tm_min, &length) == 2 && !value[length];
    bool seconds = !minutes &&
                   sscanf(value, "%2d:%2d:%2d%n", &when.tm_hour, &when.tm_min, &when.tm_sec, &length) == 3 &&
                   !value[length];
    if ((!minutes && !seconds) || strchr(value, '-') || when.tm_hour > 23 || when.tm_min > 59 || when.tm_sec > 59)
        return error("--at: '%s' is not a time: use +2s, 12:30 or 12:30:00", value), OPTIONS_ERROR;
    when.tm_isdst = -1;
    time_t then = mktime(&when);
    *at = (uint64_t)(then < now ? then + DAY_S : then) * NS_PER_S;
    return 0;
}

#define ROW_SPOOL_DIR                                          \
    {.word = "spool-dir",                                      \
     .argument = "DIR",                                        \
     .type = OPTION_TEXT,                                      \
     .offset = offsetof(struct control_options, spool_parent), \
     .help = "look for runs in DIR instead of $TMPDIR or /tmp"}

static const struct option_row ps_and_stop_rows[] = {ROW_SPOOL_DIR, {.word = NULL}};
static const struct option_row start_rows[] = {
    {.word = "duration",
     .argument = "TIME",
     .type = OPTION_TIME,
     .offset = offsetof(struct control_options, duration),
     .help = "stop after so long, in seconds, or with a unit (200ms)"},
    {.word = "at",
     .argument = "TIME",
     .type = OPTION_CALL,
     .take = take_at,
     .offset = offsetof(struct control_options, at),
     .help = "start at this time of the host's clock (12:30:00), or so long\nfrom now (+2s); by default at once"},
    ROW_SPOOL_DIR,
    {.word = NULL},
};

static int ps_command(int argc, char **argv)
{
    struct control_options options = {0};
    int first = options_parse(&command_ps, &options, argc, argv, false);
    if (first < 0)
        return first == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    if (first < argc)
        return error_usage("'ps' takes no argument: '%s' is one too many", argv[first]);
    return list(&options) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int ask_command(const struct command *command, int argc, char **argv, bool start)
{
    struct control_options options = {0};
    int first = options_parse(command, &options, argc, argv, false);
    if (first < 0)
        return first == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    if (first == argc)
        return error_usage("'%s' needs a pid, or 'all': 'gputrace ps' lists the processes", command->name);
    int status = ask_all(&options, argv + first, start);
    return status < 0 ? EXIT_FAILURE : status;
}

static int start_command(int argc, char **argv)
{
    return ask_command(&command_start, argc, argv, true);
}

static int stop_command(int argc, char **argv)
{
    return ask_command(&command_stop, argc, argv, false);
}

const struct command command_ps = {
    .name = "ps",
    .operands = "",
    .summary = "Lists the processes that are recorded, or wait to be",
    .examples = "  gputrace ps\n"
                "  gputrace ps --spool-dir=/scratch\n"
                "  gputrace ps --spool-dir /dev/shm\n",
    .options = ps_and_stop_rows,
    .run = ps_command,
};
const struct command command_start = {
    .name = "start",
    .operands = "PID... | all",
    .summary = "Starts recording in processes that wait for it",
    .examples = "  gputrace start 4711\n"
                "  gputrace start all --duration=5s\n"
                "  gputrace start all --at=12:30:00 --duration=10s\n",
    .options = start_rows,
    .run = start_command,
};
const struct command command_stop = {
    .name = "stop",
    .operands = "PID... | all",
    .summary = "Stops recording in processes, which run on",
    .examples = "  gputrace stop all\n"
                "  gputrace stop 4711\n"
                "  gputrace stop --spool-dir=/scratch all\n",
    .options = ps_and_stop_rows,
    .run = stop_command,
};
