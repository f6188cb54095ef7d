#include "cli/run_finish.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/buffer.h"
#include "cli/output_name.h"
#include "cli/progress.h"
#include "cli/run_plugins.h"
#include "cli/summary.h"
#include "cli/writing.h"
#include "trace/build/passes.h"
#include "doctor/doctor.h"
#include "launch/launch.h"
#include "launch/program.h"
#include "analysis/report.h"
#include "symbols/symbols.h"

/* The library comes into a process with its first use of CUDA or NVTX, and then writes a spool file. */
static void warn_of_emptiness(const struct run_result *result, const struct convert_summary *summary)
{
    const char *program = result->launch->argv[0];
    bool empty = summary->processes == 0;
    char words[512];
    if (empty && program_is_static(result->launch->path))
        warning("'%s' is statically linked: nothing can be loaded into it, and nothing was recorded", program);
    else if (empty && program_is_for_musl(result->launch->path))
        warning("'%s' is for the C library musl: libgputrace.so, which is for glibc, cannot be loaded into it",
                program);
    else if (empty ? summary->losses.unrecorded > 0 : summary->cuda || !program_has_kernels(result->launch->path))
        return;
    else if (doctor_lacks_cuda(words, sizeof(words)))
        warning("%s, and '%s' %s: 'gputrace doctor' says what CUDA needs", words, program,
                empty ? "used no NVTX, so the trace is empty" : "was recorded without it");
    else if (empty)
        warning("'%s' used neither CUDA nor NVTX: the trace is empty", program);
}

static void warn_of_the_living(const struct run_result *result)
{
    unsigned count = run_directory_writers(result->directory);
    if (count > 0)
        warning("%u process%s of '%s' still run%s: what %s from now on is not in the trace ('gputrace run --wait=all' "
                "waits for %s)",
                count, count == 1 ? "" : "es", result->launch->argv[0], count == 1 ? "s" : "",
                count == 1 ? "it does" : "they do", count == 1 ? "it" : "them");
}

static int convert(const struct run_result *result, struct symbols *symbols, struct convert_summary *summary)
{
    char exit_text[64];
    ending_describe(result->launch->status, exit_text, sizeof(exit_text));
    verbose("'%s' ended: %s", result->launch->argv[0], exit_text);
    struct frame_namer namer = symbols_namer(symbols);
    struct convert_options options = {.spool_directory = result->directory->path,
                                      .output = result->output,
                                      .ran = result->launch->ended - result->launch->started,
                                      .exit_text = exit_text,
                                      .unrecorded = result->unrecorded,
                                      .namer = symbols ? &namer : NULL};
    uint64_t begun = clock_monotonic();
    struct progress progress;
    progress_begin(&progress, result->output);
    options.progress = &progress.made;
    int failed = output_name_keep_old(result->output) < 0 || convert_spool(&options, summary) < 0;
    progress_end(&progress);
    if (failed)
        return -1;
    verbose("%u process%s read, trace written in %.2f s", summary->processes, summary->processes == 1 ? "" : "es",
            (double)(clock_monotonic() - begun) / (double)NS_PER_S);
    return 0;
}

/* What plugins said, in one piece, so that nothing of others comes between. */
static void print_plugins(const struct run_result *result, const struct convert_plugins *plugins)
{
    struct buffer out;
    if (log_level() <= LOG_QUIET)
        return;
    uint64_t run_ns = result->launch->ended - result->launch->started;
    buffer_init(&out, buffer_drain_fd, BUFFER_FD(STDERR_FILENO));
    run_plugins_write(&out, plugins, run_ns, log_level() >= LOG_VERBOSE);
    buffer_finish(&out); /* nowhere left to complain */
    buffer_release(&out);
}

/* The program's stdout is its own, so the report goes to stderr. */
static int print_report(const struct run_result *result)
{
    struct report_options options = {.top = REPORT_TOP_FOR_PEOPLE};
    struct buffer out;
    buffer_init(&out, buffer_drain_fd, BUFFER_FD(STDERR_FILENO));
    int failed = report_files(&options, &result->output, 1, &out);
    if (buffer_finish(&out) != 0)
        failed = -1; /* nowhere left to complain */
    buffer_release(&out);
    return failed;
}

static void tidy(const struct run_result *result, bool whole)
{
    if (whole && !result->options->keep_spool) {
        run_directory_remove(result->directory);
        return;
    }
    run_directory_release(result->directory);
    if (!whole && access(result->directory->path, F_OK) != 0)
        error("the spool directory '%s' is gone, and what was recorded with it: --spool-dir chooses a place that lasts",
              result->directory->path);
    else if (!whole)
        error("what was recorded stays in '%s': 'gputrace recover %s -o FILE' makes the trace of it",
              result->directory->path, result->directory->path);
    else
        notice("the spool stays in '%s'", result->directory->path);
}

/* What there is to say of a trace that was made. Gives 0, or -1 after error(). */
static int tell(const struct run_result *result, const struct convert_summary *summary)
{
    warn_of_emptiness(result, summary);
    print_plugins(result, &summary->plugins);
    int failed = result->options->stats ? print_report(result) : 0;
    summary_print(result->output, summary);
    return failed;
}

int run_finish(const struct run_result *result)
{
    writing_ends_with(&result->launch->signals, result->directory->path);

    struct convert_summary summary = {0};
    struct symbols *symbols = symbols_new(result->launch->started); /* NULL: stacks stay addresses */
    bool whole = convert(result, symbols, &summary) == 0;
    if (whole)
        warn_of_the_living(result);
    tidy(result, whole);
    int failed = whole ? tell(result, &summary) : -1;
    convert_plugins_release(&summary.plugins);
    symbols_free(symbols);
    if (failed)
        return EXIT_OURS;
    if (!result->options->strict || !summary_is_incomplete(&summary))
        return 0;
    if (*summary.missed)
        error("'%s' is not what --strict asks for: %s", result->output, summary.missed);
    else
        error("'%s' is not whole, which --strict asks for", result->output);
    return EXIT_LOSSES;
}
