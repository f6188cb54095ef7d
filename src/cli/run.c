/*
 * gputrace run: prepares a run directory and the agent's settings, starts the program, and writes the trace when it has
 * ended. If anything fails before the start, the program still runs; if anything fails after it, the records stay where
 * they are.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/report.h"
#include "cli/report_output.h"
#include "cli/diagnosis.h"
#include "cli/progress.h"
#include "cli/trace_files.h"
#include "cli/run_options.h"
#include "cli/session.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/settings.h"
#include "common/text.h"
#include "launch/drain.h"
#include "launch/launch.h"
#include "launch/program.h"
#include "launch/run_directory.h"
#include "symbols/elf_file.h"
#include "symbols/symbols.h"
#include "trace/meaning/passes/passes.h"

/* Environment variables with the library that the CUDA driver and NVTX's header load. */
enum { FOR_CUDA, FOR_NVTX };
static const char *const injections[] = {[FOR_CUDA] = "CUDA_INJECTION64_PATH", [FOR_NVTX] = "NVTX_INJECTION64_PATH"};
#define INJECTION_COUNT (sizeof(injections) / sizeof(*injections))

struct run {
    struct run_options options;
    struct job_rank rank; /* rank of this launcher */
    bool starts_ranks;    /* the program is torchrun, mpirun or similar: each of its processes has a rank */
    struct launch launch;
    struct run_directory directory;
    bool traced;                 /* the program is traced; false if preparations failed */
    struct drain *drain;         /* NULL if spools are not drained */
    struct cpu_recorder *cpu;    /* NULL if no CPU samples and switches are recorded */
    struct spool_server *server; /* NULL if there is none: sandboxed processes are not recorded */
    unsigned unrecorded;         /* processes that the server could not note in the directory */
    struct live_line live;
    char program[PATH_MAX];
    char library[PATH_MAX];
    char mpi_library[PATH_MAX];   /* "" if MPI calls are not recorded */
    char torch_library[PATH_MAX]; /* "" if operators of PyTorch are not recorded this way */
    struct output_place output;
    char killed[6 * PATH_MAX + 128]; /* for launch.killed */
    char standard_error[LOG_FILE_NAME_BYTES];
};

/* Time between two counts of running processes for --wait=all. */
#define LOOK_NS (50 * NS_PER_MS)

/* Prints a line about earlier runs whose launchers were killed, if there are any. */
static void note_leftovers(const char *parent)
{
    struct leftovers leftovers = run_directory_leftovers(parent, NULL, NULL);
    if (leftovers.count == 1)
        notice("an earlier run left '%s': 'gputrace recover %s' writes its trace", leftovers.first,
               shell_word(leftovers.first));
    else if (leftovers.count > 1)
        notice("%u earlier runs left records in '%s': 'gputrace recover' lists them", leftovers.count, parent);
}

/* Prepares everything for tracing that does not depend on the program's pid. Returns 0, or -1 after error(). */
static int prepare(struct run *run)
{
    if (library_find(run->library, sizeof(run->library)) < 0)
        return error("cannot find '" LIBRARY_FILE "': 'gputrace doctor' shows where it should be");
    if (library_check(run->library) < 0)
        return -1;
    if (run->options.mpi && (preload_find_mpi(run->library, run->mpi_library, sizeof(run->mpi_library)) < 0 ||
                             library_check(run->mpi_library) < 0))
        return -1;
    if (run->options.settings.trace & TRACE_OF_TORCH)
        preload_find_torch(run->library, run->torch_library, sizeof(run->torch_library));
    if (run_directory_make(&run->directory, run_directory_parent(run->options.spool_parent)) < 0)
        return -1;
    note_leftovers(run_directory_parent(run->options.spool_parent));
    verbose("library '%s', spool directory '%s'", run->library, run->directory.path);
    for (size_t i = 0; i < INJECTION_COUNT; i++) {
        const char *other = getenv(injections[i]);
        if (other && *other && strcmp(other, run->library) != 0)
            warning("%s was '%s' and is replaced for this run", injections[i], other);
    }
    struct settings *settings = &run->options.settings;
    settings->library = run->library;
    settings->spool_directory = run->directory.path;
    if ((run->server = spool_server_start(run->directory.path)))
        settings->spool_server = spool_server_address(run->server);
    else
        verbose("processes that cannot reach '%s' are not recorded: no socket to ask for a file (%m)",
                run->directory.path);
    settings->verbose = log_level();
    settings->seccomp_filters = seccomp_filters();
    settings->graph_nodes = run->options.graph_nodes;
    settings->stacks |= run->options.backtrace ? STACKS_ALLOC : 0;
    settings->trace |= run->options.nccl ? TRACE_NCCL : 0;
    log_name_file(run->standard_error);
    settings->standard_error = *run->standard_error ? run->standard_error : "none";
    return 0;
}

/* Stops CPU sampling and the packing of spools. This must happen before they are read. */
static void stop_recording(struct run *run)
{
    if (run->cpu) {
        struct cpu_figures figures = cpu_recorder_stop(run->cpu);
        verbose("%" PRIu64 " CPU samples and %" PRIu64 " times off the processor, read in %.3f s of a processor",
                figures.samples, figures.states, (double)figures.processor / (double)NS_PER_S);
    }
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

/* Prints a line about what this user or machine cannot record, if there is something. */
static void notice_lacks(const struct perf_wanted *wanted, const struct perf_able *able)
{
    const char *lacks[4];
    size_t count = 0;
    char text[256];
    if (wanted->hertz && !able->kernel)
        lacks[count++] = "samples of time in system calls";
    if (wanted->hertz && !able->stack_copy)
        lacks[count++] = "call stacks of code without frame pointers";
    if (wanted->switches && !able->leave_stack)
        lacks[count++] = "call stacks of switches";
    if (wanted->switches && !able->states)
        lacks[count++] = "wakers and disk waits";
    int length = 0;
    for (size_t i = 0; i < count; i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "%s%s",
                           i == 0          ? ""
                           : i + 1 < count ? ", "
                                           : " and ",
                           lacks[i]);
    if (count > 0)
        notice("--cpu: the trace will have no %s: this needs more rights (gputrace-run(1))", text);
}

/* Starts to record CPU samples and switches, if --cpu asks for them. */
static void start_cpu(struct run *run, pid_t pid)
{
    char reason[PERF_REASON_BYTES];
    struct perf_able able;
    const struct cpu_recording recording = {.wanted = run->options.cpu,
                                            .pid = pid,
                                            .directory = run->directory.path,
                                            .from = (uint64_t)run->options.settings.start_at,
                                            .to = (uint64_t)run->options.settings.stop_at,
                                            .ranks = run->options.settings.ranks,
                                            .first_alone = run->options.first_alone != 0};
    if (recording.wanted.hertz == 0 && !recording.wanted.switches)
        return;
    run->cpu = cpu_recorder_start(&recording, &able, reason);
    if (run->cpu)
        notice_lacks(&recording.wanted, &able);
    else
        warning("--cpu: the trace will have no CPU samples and switches: %s", reason);
}

static enum launch_way before(void *context, pid_t pid)
{
    struct run *run = context;
    struct output_facts facts = {.pid = pid, .program = program_name(run->program), .rank = &run->rank};
    if (!run->traced)
        return LAUNCH_PLAIN;
    run->output.force = run->options.force;
    if (output_name_expand(run->options.output, &facts, run->output.name, sizeof(run->output.name)) < 0 ||
        output_place_check(&run->output) < 0)
        return LAUNCH_CANCELLED;
    struct session session = {.command = run->launch.argv,
                              .output = run->output.name,
                              .settings = &run->options.settings,
                              .cpu = &run->options.cpu,
                              .rank = run->starts_ranks ? NULL : &run->rank,
                              .mpi = run->options.mpi,
                              .delay = run->options.delay,
                              .duration = run->options.duration};
    run->traced = session_write(run->directory.path, &session) == 0;
    if (!run->traced) {
        warning("the program runs without being traced");
        return LAUNCH_PLAIN;
    }
    struct drain_listener listener = live_line_begin(&run->live);
    run->drain = drain_start(run->directory.path, run->options.live ? &listener : NULL);
    if (!run->drain)
        verbose("records are not packed while the program runs: no thread (%m)");
    start_cpu(run, pid);
    return LAUNCH_PREPARED;
}

static int inside(void *context)
{
    const struct run *run = context;
    struct settings settings = run->options.settings;
    settings.only_process = run->options.first_alone ? getpid() : 0;
    int failed = settings_export(&settings);
    if (settings.trace & TRACE_NCCL)
        failed |= setenv("NCCL_PROFILER_PLUGIN", run->library, 0); /* does not replace another plugin */
    for (size_t i = 0; i < INJECTION_COUNT; i++)
        if (i != FOR_NVTX || !elf_facts_read(run->program).has_nvtx)
            failed |= setenv(injections[i], run->library, 1);
    if (*run->torch_library)
        failed |= preload_add(run->torch_library);
    if (*run->mpi_library)
        failed |= preload_add(run->mpi_library);
    return failed ? error_no_memory("the environment of the program") : 0;
}

/* Waits until the processes that outlive the first one have ended, or a signal asks this process to end. */
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

static void warn_of_running_processes(struct run *run)
{
    unsigned count = run_directory_writers(&run->directory);
    if (count > 0)
        warning("%u process%s of '%s' still run%s: what %s from now on is not in the trace ('gputrace run --wait=all' "
                "waits for %s)",
                count, count == 1 ? "" : "es", run->launch.argv[0], count == 1 ? "s" : "",
                count == 1 ? "it does" : "they do", count == 1 ? "it" : "them");
}

static int convert(struct run *run, struct symbols *symbols, struct convert_summary *summary)
{
    char exit_text[64];
    ending_describe(run->launch.status, exit_text, sizeof(exit_text));
    verbose("'%s' ended: %s", run->launch.argv[0], exit_text);
    struct frame_namer namer = symbols_namer(symbols);
    struct convert_options options = {.spool_directory = run->directory.path,
                                      .output = run->output.name,
                                      .place = output_place_take,
                                      .place_context = &run->output,
                                      .ran = run->launch.ended - run->launch.started,
                                      .exit_text = exit_text,
                                      .unrecorded = run->unrecorded,
                                      .namer = symbols ? &namer : NULL};
    uint64_t begun = clock_monotonic();
    struct progress progress;
    progress_begin(&progress, "writing '%s'", run->output.name);
    options.progress = &progress.made;
    int failed = convert_spool(&options, summary) < 0;
    progress_end(&progress);
    if (failed)
        return -1;
    verbose("%u process%s read, trace written in %.2f s", summary->processes, summary->processes == 1 ? "" : "es",
            (double)(clock_monotonic() - begun) / (double)NS_PER_S);
    return 0;
}

/* Prints the messages of plugins through one buffer, so that other output is not mixed into them. */
static void print_plugins(struct run *run, const struct convert_plugins *plugins)
{
    struct buffer out;
    if (log_level() <= LOG_QUIET)
        return;
    uint64_t run_ns = run->launch.ended - run->launch.started;
    buffer_init(&out, buffer_drain_fd, BUFFER_FD(STDERR_FILENO));
    run_plugins_write(&out, plugins, run_ns, log_level() >= LOG_VERBOSE);
    buffer_finish(&out); /* an error of stderr cannot be reported */
    buffer_release(&out);
}

/* Prints the report of --stats to stderr, because stdout belongs to the program. Returns 0, or -1 on failure. */
static int print_report(struct run *run)
{
    struct report_options options = {0};
    const char *output = run->output.name;
    struct buffer out;
    buffer_init(&out, buffer_drain_fd, BUFFER_FD(STDERR_FILENO));
    static const struct report_style style = REPORT_STYLE;
    report_style_set(&options, STDERR_FILENO, &style);
    int failed = report_files(&options, &output, 1, &out);
    if (buffer_finish(&out) != 0)
        failed = -1; /* an error of stderr cannot be reported */
    buffer_release(&out);
    return failed;
}

static void tidy(struct run *run, bool whole)
{
    launch_release(&run->launch);
    end_at_fault(NULL, NULL, EXIT_OURS);
    if (whole && !run->options.keep_spool) {
        run_directory_remove(&run->directory);
        return;
    }
    run_directory_release(&run->directory);
    if (!whole && access(run->directory.path, F_OK) != 0)
        error("the spool directory '%s' was removed, and the records with it: choose another place with --spool-dir",
              run->directory.path);
    else if (!whole)
        error(RECORDS_STAY, run->directory.path, shell_word(run->directory.path));
    else
        notice("the spool stays in '%s'", run->directory.path);
}

/* Writes the trace of a program that has ended. Returns 0, or after error() EXIT_OURS if the trace or the report could
 * not be written, or EXIT_LOSSES if the trace is incomplete and --strict was given. The spool stays without a trace. */
static int finish(struct run *run)
{
    int ended = run->launch.status, theirs = WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended);
    end_when_asked(&run->launch.signals, theirs ? theirs : EXIT_OURS, RECORDS_STAY, run->directory.path,
                   shell_word(run->directory.path));
    struct convert_summary summary = {0};
    struct symbols *symbols = symbols_new(run->launch.started); /* NULL: stacks stay addresses */
    bool whole = convert(run, symbols, &summary) == 0;
    const struct run_program program = {.path = run->launch.path,
                                        .argv = run->launch.argv,
                                        .ranks = run->options.settings.ranks,
                                        .directory = run->directory.path,
                                        .torch = (run->options.settings.trace & TRACE_OF_TORCH) != 0};
    if (whole) {
        warn_of_running_processes(run);
        run_empty_warn(&program, &summary);
    }
    tidy(run, whole);
    int failed = whole ? 0 : -1;
    if (whole) {
        print_plugins(run, &summary.plugins);
        failed = run->options.stats ? print_report(run) : 0;
        summary_print(run->output.name, &summary, &run->output);
    }
    convert_plugins_release(&summary.plugins);
    symbols_free(symbols);
    if (failed)
        return EXIT_OURS;
    if (!run->options.strict || !summary_is_incomplete(&summary))
        return 0;
    if (*summary.missed)
        error("'%s' is incomplete, and --strict was given: %s", run->output.name, summary.missed);
    else
        error("'%s' is incomplete, and --strict was given", run->output.name);
    return EXIT_LOSSES;
}

/* Runs the program and writes its trace. Returns the exit status. Does not return if a signal ended the program. */
static int carry_out(struct run *run)
{
    run->traced = prepare(run) == 0;
    if (run->traced)
        run_empty_note_nested();
    else
        warning("the program runs without being traced");
    program_warn_if_unmarked(run->program);
    if (program_gains_rights(run->program))
        warning("'%s' has more rights than you (set-user-ID) and is not recorded", run->program);
    struct settings *settings = &run->options.settings;
    uint64_t start = clock_now() + run->options.delay;
    settings->start_at = run->options.delay ? (int64_t)start : 0;
    settings->clock_offset = (int64_t)(clock_now() - clock_monotonic()) + time_namespace_offset();
    settings->stop_at = run->options.duration ? (int64_t)(start + run->options.duration) : 0;
    if (run->traced) {
        snprintf(run->killed, sizeof(run->killed), "gputrace: killed by SIGKILL: " RECORDS_STAY "\n",
                 run->directory.path, shell_word(run->directory.path));
        run->launch.killed = run->killed;
    }
    int ours = launch_run(&run->launch);
    bool ran = ours == 0;
    if (ran && run->launch.plain) {
        run->traced = false;
        warning("'%s' ran without being traced: arguments and environment leave no space for what tracing adds",
                run->launch.argv[0]);
    }
    if (ran && run->traced && run->options.wait_all)
        wait_for_all(run);
    stop_recording(run);
    run->unrecorded = spool_server_stop(run->server);
    run->server = NULL;
    if (ran && run->traced)
        ours = finish(run);
    else if (*run->directory.path)
        run_directory_remove(&run->directory);
    launch_release(&run->launch);
    if (!ran)
        return ours;
    if (!run->traced && run->options.strict)
        ours = EXIT_LOSSES;
    int theirs = ending_pass_on(run->launch.status);
    return theirs ? theirs : ours;
}

static int run_command(int argc, char **argv)
{
    static struct run run; /* static: three paths are much for a stack */
    run_options_init(&run.options);
    int first = options_parse(&command_run, &run.options, argc, argv, true);
    if (first < 0)
        return first == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_OURS;
    if (first == argc) {
        error("no program given: gputrace run [options] PROGRAM [ARG...]");
        return EXIT_OURS;
    }
    if (run.options.mpi && !(run.options.settings.trace & TRACE_NVTX)) {
        error("--mpi: MPI calls are recorded as NVTX ranges, which --trace leaves out: add nvtx to its list");
        return EXIT_OURS;
    }
    options_set_log_level(run.options.quiet, run.options.verbose);
    int missing = program_find(argv[first], run.program, sizeof(run.program));
    if (missing)
        return missing;
    rank_read(&run.rank);
    run.starts_ranks = job_program_starts_ranks(argv + first);
    const char *ranks = run.options.settings.ranks;
    bool is_rank = !run.starts_ranks && run.rank.rank >= 0;
    if (ranks && is_rank && !rank_list_has(ranks, run.rank.rank)) { /* becomes the program, without recording */
        execvp(run.program, argv + first); /* the path has a slash: no search, but scripts without #! work */
        error("cannot run '%s': %s", run.program, strerror(errno));
        return EXIT_NOT_RUN;
    }
    run.launch = (struct launch){.path = run.program,
                                 .argv = argv + first,
                                 .context = &run,
                                 .before = before,
                                 .inside = inside,
                                 .group.keep = run.options.keep_running};
    return carry_out(&run);
}

const struct command command_run = {
    .name = "run",
    .operands = "[--] PROGRAM [ARG...]",
    .summary = "Runs a program and writes a trace of its GPU work",
    .examples = "  gputrace run python train.py\n"
                "  gputrace run -o node.pftrace torchrun --nproc-per-node 8 train.py\n"
                "  gputrace run --delay=30 --duration=5 -t all,torch python train.py\n",
    .options = run_option_rows,
    .run = run_command,
};
