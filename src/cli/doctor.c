/* `gputrace doctor`: its options; the checks are in doctor/. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/buffer.h"
#include "cli/options.h"
#include "doctor/doctor.h"
#include "launch/program.h"

/* A run goes on without a library that does not load, and reports it; here it is an error. */
static int take_cupti(void *settings, const char *value)
{
    struct doctor_options *options = settings;
    if (options_cupti(&options->cupti, value) != 0)
        return -1;
    return elf_is(options->cupti)
               ? 0
               : error("--cupti: '%s' is not a shared library: name the file libcupti.so itself", value);
}

static const struct option_row rows[] = {
    {.word = "cupti",
     .argument = "FILE",
     .type = OPTION_CALL,
     .take = take_cupti,
     .help = "check this libcupti instead of searching for one"},
    {.word = "spool-dir",
     .argument = "DIR",
     .type = OPTION_TEXT,
     .offset = offsetof(struct doctor_options, spool_parent),
     .help = "check DIR instead of $TMPDIR or /tmp"},
};

static int doctor_command(int argc, char **argv)
{
    struct doctor_options options = {.cupti = getenv("GPUTRACE_CUPTI")};
    int first = options_parse(&command_doctor, &options, argc, argv, false);
    if (first < 0)
        return first == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    if (first < argc)
        return error_usage("'doctor' takes no arguments: '%s' is one", argv[first]);
    struct buffer out;
    buffer_init(&out, buffer_drain_fd, BUFFER_FD(STDOUT_FILENO));
    int problems = doctor_examine(&options, &out);
    int failure = buffer_finish(&out);
    buffer_release(&out);
    if (failure)
        return error_usage("cannot write to standard output: %s", strerror(failure));
    return problems ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct command command_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "Checks what tracing needs, and explains how to fix what is missing",
    .examples = "  gputrace doctor\n"
                "  gputrace doctor --spool-dir=/scratch\n"
                "  gputrace doctor --cupti=/usr/local/cuda/lib64/libcupti.so\n",
    .options = rows,
    .option_count = sizeof(rows) / sizeof(*rows),
    .run = doctor_command,
};
