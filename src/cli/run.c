/*
 * gputrace run: prepares a run directory and the library's settings, starts the program, and when it has ended makes
 * the trace of what was recorded. Whatever fails before the start, the program still runs; whatever fails after, what
 * was recorded stays where it is.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "cli/live_line.h"
#include "cli/output_name.h"
#include "cli/run_finish.h"
#include "cli/run_options.h"
#include "cli/session.h"
#include "launch/drain.h"
#include "launch/launch.h"
#include "launch/library.h"
#include "launch/program.h"
#include "launch/run_directory.h"
#include "launch/spool_server.h"

/* Variables by which CUDA's driver and NVTX's header find the library. */
enum { FOR_CUDA, FOR_NVTX };
static const char *const injections[] = {[FOR_CUDA] = "CUDA_INJECTION64_PATH", [FOR_NVTX] = "NVTX_INJECTION64_PATH"};
#define INJECTION_COUNT (sizeof(injections) / sizeof(*injections))

struct run {
    struct run_options options;
    struct launch launch;
    struct run_directory directory;
    bool traced;                 /* all that tracing needs was made ready */
    struct drain *drain;         /* NULL: nothing is drained */
    struct spool_server *server; /* NULL: processes that cannot reach the directory are not recorded */
    unsigned unrecorded;         /* processes that it could only count */
    struct live_line live;
    char program[PATH_MAX];
    char library[PATH_MAX];
    char output[PATH_MAX];
    char standard_error[LOG_FILE_NAME_BYTES];
};

/* How often the processes that are waited for are looked for. */
#define LOOK_NS (50 * NS_PER_MS)

static void warn_of_replaced_injections(const char *library)
{
    for (size_t i = 0; i < INJECTION_COUNT; i++) {
        const char *other = getenv(injections[i]);
        if (other && *other && strcmp(other, library) != 0)
            warning("%s was '%s' and is replaced for this run", injections[i], other);
    }
}

struct leftovers {
    unsigned count;
    char first[PATH_MAX];
};

static void count_leftover(void *context, const char *path, uint64_t bytes)
{
    struct leftovers *leftovers = context;
    (void)bytes;
    if (leftovers->count++ == 0)
        snprintf(leftovers->first, sizeof(leftovers->first), "%s", path);
}

/* Of runs whose launcher did not come to make the trace. */
static void tell_leftovers(const char *parent)
{
    struct leftovers leftovers = {0};
    run_directory_leftovers(parent, count_leftover, &leftovers);
    if (leftovers.count == 1)
        notice("an earlier run left '%s': 'gputrace recover %s' makes its trace", leftovers.first, leftovers.first);
    else if (leftovers.count > 1)
        notice("%u earlier runs left records in '%s': 'gputrace recover' lists them", leftovers.count, parent);
}

/* What tracing needs that does not depend on the program's pid. */
static int prepare(struct run *run)
{
    if (library_find(run->library, sizeof(run->library)) < 0)
        return error("cannot find '" LIBRARY_FILE "': 'gputrace doctor' says where it should be");
    if (library_check(run->library) < 0)
        return -1;
    if (run_directory_make(&run->directory, run_directory_parent(run->options.spool_parent)) < 0)
        return -1;
    tell_leftovers(run_directory_parent(run->options.spool_parent));
    verbose("library '%s', spool directory '%s'", run->library, run->directory.path);
    warn_of_replaced_injections(run->library);
    struct settings *settings = &run->options.settings;
    settings->library = run->library;
    settings->spool_directory = run->directory.path;
    if ((run->server = spool_server_start(run->directory.path)))
        settings->spool_server = spool_server_address(run->server);
    else
        verbose("processes that cannot reach '%s' are not recorded: no socket to ask for a file (%m)",
                run->directory.path);
    settings->verbose = run_options_level(&run->options);
    log_name_file(run->standard_error);
    settings->standard_error = *run->standard_error ? run->standard_error : "none";
    return 0;
}

/* Before the fork: the child has a copy of the settings from then on. */
static void set_times(struct run *run)
{
    struct run_options *options = &run->options;
    uint64_t start = clock_now() + options->delay;
    options->settings.start_at = options->delay ? (int64_t)start : 0;
    options->settings.clock_offset = (int64_t)(clock_now() - clock_monotonic()) + time_namespace_offset();
    options->settings.stop_at = options->duration ? (int64_t)(start + options->duration) : 0;
}

static void start_draining(struct run *run)
{
    struct drain_listener listener = live_line_begin(&run->live);
    run->drain = drain_start(run->directory.path, run->options.live ? &listener : NULL);
    if (!run->drain)
        verbose("what is recorded stays as it is until the end: no thread to pack it (%m)");
}

/* Before anybody reads the spools. */
static void stop_draining(struct run *run)
{
    if (!run->drain)
        return;
    struct drain_figures figures = drain_stop(run->drain);
    run->drain = NULL;
    if (run->options.live)
        live_line_end(&run->live);
    if (figures.chunks > 0)
        verbose("%.1f MB of records became %.1f MB, packed while the program ran, in %.2f s of a processor",
                (double)figures.bytes / 1e6, (double)figures.packed / 1e6,
                (double)figures.processor / (double)NS_PER_S);
}

static enum launch_way before(void *context, pid_t pid)
{
    struct run *run = context;
    struct output_facts facts = {.pid = pid, .program = program_name(run->program)};
    if (!run->traced)
        return LAUNCH_PLAIN;
    if (output_name_expand(run->options.output, &facts, run->output, sizeof(run->output)) < 0 ||
        output_name_writable(run->output) < 0 || output_name_old_writable(run->output) < 0)
        return LAUNCH_CANCELLED;
    struct session session = {.command = run->launch.argv,
                              .output = run->output,
                              .settings = &run->options.settings,
                              .delay = run->options.delay,
                              .duration = run->options.duration};
    run->traced = session_write(run->directory.path, &session) == 0;
    if (!run->traced)
        warning("the program runs without being traced");
    if (run->traced)
        start_draining(run);
    return run->traced ? LAUNCH_PREPARED : LAUNCH_PLAIN;
}

static int inside(void *context)
{
    const struct run *run = context;
    struct settings settings = run->options.settings;
    settings.only_process = run->options.first_alone ? getpid() : 0;
    int failed = settings_export(&settings);
    for (size_t i = 0; i < INJECTION_COUNT; i++)
        if (i != FOR_NVTX || !program_is_static_with_nvtx(run->program))
            failed |= setenv(injections[i], run->library, 1);
    return failed ? error_no_memory("the environment of the program") : 0;
}

/* What outlives the first process; whoever is asked to end waits no longer. */
static void wait_for_all(struct run *run)
{
    unsigned before = 0, count;
    while ((count = run_directory_writers(&run->directory)) > 0) {
        if (count != before)
            verbose("waiting for %u more process%s of '%s'", count, count == 1 ? "" : "es", run->launch.argv[0]);
        before = count;
        if (signals_pause(&run->launch.signals, LOOK_NS))
            return;
    }
}

static int finish(struct run *run)
{
    struct run_result result = {.options = &run->options,
                                .launch = &run->launch,
                                .directory = &run->directory,
                                .output = run->output,
                                .unrecorded = run->unrecorded};
    return run_finish(&result);
}

/* Runs the program and makes its trace. Gives the exit status, or does not return when a signal ended the program. */
static int carry_out(struct run *run)
{
    run->traced = prepare(run) == 0;
    if (!run->traced)
        warning("the program runs without being traced");
    if (program_gains_rights(run->program))
        warning("'%s' runs with more rights than you have (set-user-ID), and is not recorded", run->program);
    set_times(run);
    int ours = launch_run(&run->launch);
    bool ran = ours == 0;
    if (ran && run->launch.plain) {
        run->traced = false;
        warning("'%s' ran without being traced: arguments and environment leave no room for what tracing adds",
                run->launch.argv[0]);
    }
    if (ran && run->traced && run->options.wait_all)
        wait_for_all(run);
    stop_draining(run);
    run->unrecorded = spool_server_stop(run->server);
    run->server = NULL;
    if (ran && run->traced)
        ours = finish(run);
    else if (*run->directory.path)
        run_directory_remove(&run->directory);
    if (!ran)
        return ours;
    if (!run->traced && run->options.strict)
        ours = EXIT_LOSSES;
    int theirs = ending_pass_on(run->launch.status);
    return theirs ? theirs : ours;
}

int run_command(int argc, char **argv)
{
    static struct run run; /* static: three paths are much for a stack */
    run_options_init(&run.options);
    int first = options_parse(&command_run, &run.options, argc, argv, 1);
    if (first == OPTIONS_HELP)
        return EXIT_SUCCESS;
    if (first == OPTIONS_ERROR)
        return EXIT_OURS;
    if (first == argc) {
        error("no program given: gputrace run [options] PROGRAM [ARG...]");
        return EXIT_OURS;
    }
    log_set_level(run_options_level(&run.options));
    int missing = program_find(argv[first], run.program, sizeof(run.program));
    if (missing)
        return missing;
    run.launch =
        (struct launch){.path = run.program, .argv = argv + first, .context = &run, .before = before, .inside = inside};
    return carry_out(&run);
}
