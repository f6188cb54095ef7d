/*
 * Commands and options as rows of tables. Parsing and `--help` both read the rows, so they cannot drift apart; a test
 * compares them with the man pages.
 */
#ifndef GPUTRACE_CLI_OPTIONS_H
#define GPUTRACE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum option_type {
    OPTION_FLAG, /* no argument; sets the bool at `offset` */
    OPTION_TEXT, /* stores the argument (const char *, not copied) at `offset` */
    OPTION_CALL, /* calls `take` with the settings and the argument (NULL when `argument` is NULL) */
};

struct option_row {
    const char *word;     /* "output" for --output */
    char letter;          /* 'o' for -o, or 0 */
    const char *argument; /* what the argument is called in help, "FILE"; NULL: it takes none */
    const char *help;     /* one sentence, lower case, no full stop; a newline starts a further line */
    enum option_type type;
    size_t offset; /* of the field in the command's settings */
    /* Checks VALUE and stores it in SETTINGS. Gives 0, or -1 after error(). */
    int (*take)(void *settings, const char *value);
};

struct command {
    const char *name;     /* "run" */
    const char *operands; /* "[--] PROGRAM [ARG...]" */
    const char *summary;  /* one line for `gputrace --help` */
    const struct option_row *options;
    size_t option_count;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; gives the exit status */
};

enum { OPTIONS_ERROR = -1, OPTIONS_HELP = -2 };

/*
 * Parses ARGV (argv[0] is the command's name) into SETTINGS by the rows of COMMAND, and stops at `--` or, as the
 * command runs a program with options of its own, at the first operand when STOP_AT_OPERAND. Without it, options and
 * operands may be mixed, and ARGV is reordered so that the operands come last.
 * `-h` and `--help` are known to every command. `--word=value`, `--word value`, `-ovalue` and `-o value` are accepted.
 * Gives the index of the first operand; OPTIONS_ERROR after error(); OPTIONS_HELP after the help was printed to stdout.
 */
int options_parse(const struct command *command, void *settings, int argc, char **argv, int stop_at_operand);

/* Prints usage and every option of COMMAND. */
void options_help(const struct command *command, FILE *out);

/* For `take` of the option WORD: one of two words, of which the second sets FIELD. Gives 0, or -1 after error(). */
int options_choice(bool *field, const char *word, const char *first, const char *second, const char *value);

/* For `take` of --cupti: stores the absolute path of VALUE, as the program may change its directory; it is never freed.
 * Gives 0, or -1 after error(): there is no such file, or it must not be loaded. */
int options_cupti(const char **field, const char *value);

/* The commands of gputrace, each defined in its own file of this room. */
extern const struct command command_run, command_report, command_recover, command_convert, command_doctor;

#endif
