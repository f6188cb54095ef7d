/*
 * Commands and options as rows of tables. Parsing, `--help` and completion read the same rows, and a test compares
 * them with the man pages.
 */
#ifndef GPUTRACE_CLI_OPTIONS_H
#define GPUTRACE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/log.h"

/* The exit status for a command line that is wrong, or an output that cannot be written. */
#define EXIT_USAGE 2
#define error_usage(...) (error(__VA_ARGS__), EXIT_USAGE)
#define EXIT_FAILED_ON 3 /* the condition that --fail-on names holds */

/* The type of the value that an option stores at `offset` of the command's settings. */
enum option_type {
    OPTION_FLAG,   /* true (bool); the option has no argument */
    OPTION_TEXT,   /* the argument (const char *, not copied) */
    OPTION_WORDS,  /* the argument, which may not be empty (const char *, not copied) */
    OPTION_TIME,   /* nanoseconds (uint64_t), see duration_parse() */
    OPTION_MS,     /* milliseconds (int64_t) from `least` to `most`, as a plain number or a time with a unit */
    OPTION_BOUND,  /* a time since the start of a trace, or "40%" of it (struct time_bound) */
    OPTION_NUMBER, /* a number (int64_t) from `least` to `most` */
    OPTION_SELECT, /* a number from `least` to `most` (struct selected_number) */
    OPTION_CHOICE, /* the value (int or enum) of one of `choices` */
    OPTION_CALL,   /* stored by `take` */
};

/* A word of an argument and its value. A list of them ends with a NULL word. */
struct option_choice {
    const char *word;
    int value;
};

struct option_row {
    const char *word;     /* "output" for --output */
    char letter;          /* 'o' for -o, or 0 */
    const char *argument; /* name of the argument in help, "FILE"; NULL if the option has none */
    const char *help;     /* one sentence, lower case, no full stop; a newline starts a further line */
    enum option_type type;
    size_t offset;
    int64_t least, most;
    bool once;        /* the option may be given once only; otherwise its last value counts */
    const char *unit; /* what a number counts or OPTION_WORDS lists, for messages: "rows (0 for all)" */
    const struct option_choice *choices; /* the words of OPTION_CHOICE; for other types, words that completion offers */
    /* Writes the words that completion offers, "a, b", into the SIZE bytes of TEXT, where they are not in `choices`. */
    void (*list)(char *text, size_t size);
    /* Checks VALUE and stores it in FIELD, at `offset` of the settings. Returns 0, OPTIONS_ERROR after error(), or
     * OPTIONS_HELP after printing to stdout. options_parse() then stops and returns that value. */
    int (*take)(void *field, const char *value);
};

/* The rows --quiet and --verbose of several commands, whose settings have these two fields. */
#define OPTION_ROWS_VERBOSITY(settings)                                                                        \
    {.word = "quiet", .letter = 'q', .offset = offsetof(struct settings, quiet), .help = "print errors only"}, \
        {.word = "verbose", .letter = 'v', .offset = offsetof(struct settings, verbose), .help = "print each step"}

/* The `take` of --verbose for commands without settings for it: sets the log level. */
int options_take_verbose(void *settings, const char *value);
#define OPTION_ROW_VERBOSE         \
    {.word = "verbose",            \
     .letter = 'v',                \
     .type = OPTION_CALL,          \
     .take = options_take_verbose, \
     .help = "print each step and what it took"}

/* A row that selects a part of a trace. FIELDS: the path of a struct filter_options in the settings. */
#define OPTION_ROW_FILTER(settings, fields, name, kind, value, text) \
    {.word = #name,                                                  \
     .argument = value,                                              \
     .help = text,                                                   \
     .type = kind,                                                   \
     .most = INT64_MAX / 4,                                          \
     .once = true,                                                   \
     .unit = "a " #name ": --" #name "=1",                           \
     .offset = offsetof(struct settings, fields.name)}
#define OPTION_ROWS_FILTER(settings, fields)                                                                           \
    OPTION_ROW_FILTER(                                                                                                 \
        settings, fields, from, OPTION_BOUND, "TIME",                                                                  \
        "leave out what comes before this time of the trace (1.5s, 300ms),\nor before this share of it (40%)"),        \
        OPTION_ROW_FILTER(settings, fields, to, OPTION_BOUND, "TIME",                                                  \
                          "leave out what comes after this time, or share"),                                           \
        OPTION_ROW_FILTER(settings, fields, range, OPTION_TEXT, "NAME",                                                \
                          "only what belongs to this NVTX range or record_function;\nNAME/3: to its third occurrence " \
                          "on each thread"),                                                                           \
        OPTION_ROW_FILTER(settings, fields, step, OPTION_SELECT, "N",                                                  \
                          "only step N: ProfilerStep#N, or the Nth occurrence of the\noutermost range that repeats"),  \
        OPTION_ROW_FILTER(settings, fields, rank, OPTION_SELECT, "N", "only this rank of a job"),                      \
        OPTION_ROW_FILTER(settings, fields, process, OPTION_SELECT, "N", "only the process with this pid"),            \
        OPTION_ROW_FILTER(settings, fields, gpu, OPTION_SELECT, "N",                                                   \
                          "of GPU operations and memory only those of this GPU"),                                      \
        OPTION_ROW_FILTER(settings, fields, stream, OPTION_SELECT, "N",                                                \
                          "of GPU operations only those of this stream"),                                              \
        OPTION_ROW_FILTER(settings, fields, kernel, OPTION_TEXT, "REGEX",                                              \
                          "of GPU operations only kernels with a name that matches"),                                  \
        OPTION_ROW_FILTER(settings, fields, thread, OPTION_SELECT, "N", "only this thread, and what it launched")

/* Sets the log level by --quiet and --verbose. --quiet wins if both are given. */
void options_set_log_level(bool quiet, bool verbose);

struct command {
    const char *name;                  /* "run" */
    const char *operands;              /* "[--] PROGRAM [ARG...]" */
    const char *summary;               /* one line for `gputrace --help` */
    const char *examples;              /* lines of `--help`, or NULL */
    const struct option_row *options;  /* the last one has no word */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit status */
};

enum { OPTIONS_ERROR = -1, OPTIONS_HELP = -2 };

/*
 * Parses ARGV (argv[0] is the command's name) into SETTINGS by the rows of COMMAND. With STOP_AT_OPERAND, parsing stops
 * at `--` or the first operand, for a command that runs a program with options of its own. Otherwise options and
 * operands may be mixed, and ARGV is reordered so that the operands come last.
 * Every command has `-h` and `--help`. `--word=value`, `--word value`, `-ovalue` and `-o value` are accepted.
 * Returns the index of the first operand, OPTIONS_ERROR after error(), or OPTIONS_HELP after the help was printed to
 * stdout.
 */
int options_parse(const struct command *command, void *settings, int argc, char **argv, bool stop_at_operand);

/* Prints usage and every option of COMMAND. */
void options_help(const struct command *command, FILE *out);

/* Returns the choice whose word is the LENGTH bytes at WORD, or NULL after an error() that lists the words of --OPTION.
 */
const struct option_choice *options_choose(const struct option_choice *choices, const char *option, const char *word,
                                           size_t length);

/* Reads VALUE of --OPTION as a time in seconds, or in the unit behind it: "2", "0.5", "1.5s", "300 ms". Returns 0, or
 * -1 after error(). */
int duration_parse(const char *option, const char *value, uint64_t *ns);

/* The `take` of --cupti. Stores the absolute path of VALUE, because the program may change its directory; the path is
 * never freed. Returns 0, or -1 after error() if the file does not exist or must not be loaded. */
int options_cupti(void *field, const char *value);

/* The commands of gputrace, each in a file of its name; the last three are in control.c. */
extern const struct command command_run, command_report, command_diff, command_view, command_recover, command_convert,
    command_cut, command_merge, command_doctor, command_ps, command_start, command_stop;

#endif
