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
#include "launch/elf_file.h"

#define EXIT_USAGE 2

/* A run goes on without a library that does not load, and says so; here that library is the question. */
static int take_cupti(void *settings, const char *value)
{
    struct doctor_options *options = settings;
    struct elf_file file;
    if (options_cupti(&options->cupti, value) != 0)
        return -1;
    bool is_library = elf_open(&file, options->cupti);
    elf_close(&file);
    return is_library ? 0 : error("'--cupti=%s' is not a shared library: name the file libcupti.so itself", value);
}

static const struct option_row rows[] = {
    {.word = "cupti",
     .argument = "FILE",
     .type = OPTION_CALL,
     .take = take_cupti,
     .help = "try this libcupti before any other"},
    {.word = "spool-dir",
     .argument = "DIR",
     .type = OPTION_TEXT,
     .offset = offsetof(struct doctor_options, spool_parent),
     .help = "look at DIR instead of $TMPDIR or /tmp"},
};

static int doctor_command(int argc, char **argv)
{
    struct doctor_options options = {.cupti = getenv("GPUTRACE_CUPTI")};
    int first = options_parse(&command_doctor, &options, argc, argv, 0);
    if (first == OPTIONS_HELP)
        return EXIT_SUCCESS;
    if (first == OPTIONS_ERROR)
        return EXIT_USAGE;
    if (first < argc) {
        error("'doctor' takes no '%s'", argv[first]);
        return EXIT_USAGE;
    }
    struct buffer out;
    buffer_init(&out, buffer_drain_fd, BUFFER_FD(STDOUT_FILENO));
    int problems = doctor_examine(&options, &out);
    int failure = buffer_finish(&out);
    buffer_release(&out);
    if (failure) {
        error("cannot write to standard output: %s", strerror(failure));
        return EXIT_USAGE;
    }
    return problems ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct command command_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "Says what tracing needs, what was found, and how to mend the rest",
    .options = rows,
    .option_count = sizeof(rows) / sizeof(*rows),
    .run = doctor_command,
};
